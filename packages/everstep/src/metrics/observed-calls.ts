/** Observes the requests to apps and other destinations, at the ports that send them. */

import type { Message, MessageAnswer, MessageSender } from '../ports/message-sender.js';
import type { DeliveryKind, Observer } from '../ports/observer.js';
import type { StepAnswer, StepCaller } from '../ports/step-caller.js';

/** Returns a clock in milliseconds that is not set. */
type ElapsedMs = () => number;

const outcomeOfStep = (answer: StepAnswer): number | string => {
  if (answer.kind === 'failure') return answer.failure.status ?? answer.failure.cause;
  return answer.status ?? 200;
};
const outcomeOfMessage = (answer: MessageAnswer): number | string =>
  answer.kind === 'failure' ? (answer.failure.status ?? answer.failure.cause) : answer.status;

function kindOf({ signed }: Message): DeliveryKind {
  switch (signed?.kind) {
    case 'failure-function':
    case 'failure-callback':
      return 'failure-callback';
    case 'message':
      return 'message';
    default:
      return 'call';
  }
}

/** Only requests that were sent count: others never left the process. */
export function observedCaller(caller: StepCaller, observer: Observer, elapsedMs: ElapsedMs): StepCaller {
  const observed: StepCaller = {
    async call(call, signal, onSent) {
      let sentAt: number | null = null;
      const answer = await caller.call(call, signal, () => {
        sentAt = elapsedMs();
        onSent?.();
      });
      const startedAt: number | null = sentAt;
      if (startedAt !== null)
        observer.delivered({
          kind: 'step',
          url: call.workflowUrl,
          durationMs: elapsedMs() - startedAt,
          outcome: outcomeOfStep(answer),
        });
      return answer;
    },
    close: () => caller.close(),
  };
  return caller.check ? { ...observed, check: caller.check.bind(caller) } : observed;
}

export function observedSender(sender: MessageSender, observer: Observer, elapsedMs: ElapsedMs): MessageSender {
  return {
    async send(message, signal, onSent) {
      const startedAt = elapsedMs();
      const answer = await sender.send(message, signal, onSent);
      const outcome = outcomeOfMessage(answer);
      observer.delivered({ kind: kindOf(message), url: message.url, durationMs: elapsedMs() - startedAt, outcome });
      return answer;
    },
  };
}
