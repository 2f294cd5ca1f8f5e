/** Sends steps and messages over shared connections, because one host may receive both. */
import type { MessageSender } from '../ports/message-sender.js';
import type { StepCaller } from '../ports/step-caller.js';
import { Destinations } from './exchanges/destinations.js';
import { HttpMessageSender } from './http-message-sender.js';
import { HttpStepCaller, type OutboundOptions } from './http-step-caller.js';

export interface Outbound {
  readonly stepCaller: StepCaller;
  readonly messageSender: MessageSender;
  /** Closes the connections of both. Closing the step caller has the same effect. */
  close(): Promise<void>;
}

/** Creates senders whose connections stay open until `close`. */
export function createOutbound(options: OutboundOptions): Outbound {
  const destinations = new Destinations(options);
  return {
    stepCaller: new HttpStepCaller(options, destinations),
    messageSender: new HttpMessageSender(options, destinations),
    close: () => destinations.close(),
  };
}
