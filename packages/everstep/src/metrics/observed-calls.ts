/** Observes the requests to apps and other destinations, at the ports that send them. */

import type { Message, MessageOutcome, MessageSender } from '../ports/message-sender.js';
import { type DeliveryKind, NO_OBSERVER, type Observer } from '../ports/observer.js';
import type { StepCall, StepCaller, StepOutcome } from '../ports/step-caller.js';

/** Returns the time of a monotonic clock in ms. */
type ElapsedMs = () => number;

const outcomeOfStep = (result: StepOutcome): number | string => {
  if (result.kind === 'failure') return result.failure.status ?? result.failure.cause;
  return result.status ?? 200;
};
const outcomeOfMessage = (response: MessageOutcome): number | string =>
  response.kind === 'failure' ? (response.failure.status ?? response.failure.cause) : response.status;

const isJournalNeeded = (result: StepOutcome): boolean => result.kind === 'reply' && result.reply.kind === 'journal-needed';

function kindOf({ signed, isNotice }: Message): DeliveryKind {
  if (isNotice) return 'notice';
  switch (signed?.kind) {
    case 'failure-function':
    case 'failure-callback':
      return 'failure-callback';
    case 'message':
      return 'message';
    case 'budget-alert':
    case 'audit-log':
      return 'notice';
    default:
      return 'call';
  }
}

/**
 * Returns whether the code executed the step of the message, or failed in it. A reply to a request without a target can only
 * plan steps.
 */
function isOfStep({ request: { target } }: StepCall, result: StepOutcome): boolean {
  if (target !== null) return true;
  if (result.kind !== 'reply') return false;
  const { reply } = result;
  return (
    (reply.kind === 'progress' || reply.kind === 'failed') &&
    (reply.done.length > 0 || (reply.kind === 'failed' && reply.step !== undefined))
  );
}

/** Returns a caller whose requests are observed. Only requests that were sent count: others never left the process. */
export function observeCaller(caller: StepCaller, observer: Observer, elapsedMs: ElapsedMs): StepCaller {
  if (observer === NO_OBSERVER) return caller;
  const observedCaller: StepCaller = {
    async call(call, signal, onSent) {
      let sentAt: number | null = null;
      const result = await caller.call(call, signal, () => {
        sentAt = elapsedMs();
        onSent?.();
      });
      const startedAt: number | null = sentAt;
      if (startedAt !== null)
        observer.delivered({
          kind: 'step',
          url: call.workflowUrl,
          durationMs: elapsedMs() - startedAt,
          outcome: outcomeOfStep(result),
          method: 'POST',
          isOfStep: !signal.aborted && isOfStep(call, result),
          // A worker that needs the journal gets it immediately, in the same attempt.
          ...(call.span && !isJournalNeeded(result) ? { span: call.span } : {}),
        });
      return result;
    },
    close: () => caller.close(),
  };
  return caller.check ? { ...observedCaller, check: caller.check.bind(caller) } : observedCaller;
}

export function observeSender(sender: MessageSender, observer: Observer, elapsedMs: ElapsedMs): MessageSender {
  if (observer === NO_OBSERVER) return sender;
  return {
    async send(message, signal, onSent) {
      const startedAt = elapsedMs();
      const result = await sender.send(message, signal, onSent);
      const outcome = outcomeOfMessage(result);
      const { url, method, trace } = message;
      const delivery = { kind: kindOf(message), url, method, durationMs: elapsedMs() - startedAt, outcome };
      observer.delivered({ ...delivery, isOfStep: !signal.aborted, ...(trace?.span ? { span: trace.span } : {}) });
      return result;
    },
  };
}
