/** All that leaves the service over HTTP, on the same connections: one host may get steps and messages. */
import type { MessageSender } from '../ports/message-sender.js';
import type { StepCaller } from '../ports/step-caller.js';
import { Destinations } from './destinations.js';
import { HttpMessageSender } from './http-message-sender.js';
import { HttpStepCaller, type OutboundOptions } from './http-step-caller.js';

export interface Outbound {
  readonly stepCaller: StepCaller;
  readonly messageSender: MessageSender;
  /** Closes the connections of both, as closing the step caller does. */
  close(): Promise<void>;
}

/** Connections are kept open until `close`. */
export function createOutbound(options: OutboundOptions): Outbound {
  const destinations = new Destinations(options);
  return {
    stepCaller: new HttpStepCaller(options, destinations),
    messageSender: new HttpMessageSender(options, destinations),
    close: () => destinations.close(),
  };
}
