/**
 * Responses to calls. A call is retried if a retry can help; its last response is the result of the step, whatever its status.
 */
import type { CallOutcome, EncodedBody } from '@everstep/sdk/protocol';
import { LIMITS } from '../../config/limits.js';
import type { Draft } from '../runs/decision.js';
import { type SentRequest, toStoredRequest } from '../runs/exchanges.js';
import { attemptOf, nextDelayMs } from '../runs/failure.js';
import type { DeliveryFailure, Task } from '../runs/run.js';

type CallTask = Extract<Task, { kind: 'call' }>;

/** The response to a call; null if none arrived. */
export interface CallResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, readonly string[]>>;
  readonly body: EncodedBody;
  /** The request that was sent, if it is known. */
  readonly sent?: SentRequest;
}

const NO_BODY: EncodedBody = { encoding: 'utf8', data: '' };

/** Applies the response to an attempt of a call. `failure` is null if the attempt succeeded. */
export function applyCallResponse(
  draft: Draft,
  task: CallTask,
  response: CallResponse | null,
  failure: DeliveryFailure | null,
): void {
  if (failure) {
    const rule = { maxRetries: task.call.retries ?? 0, retryDelay: task.call.retryDelay ?? null };
    const delayMs = nextDelayMs(rule, task.retried, failure);
    draft.recordAttempt(attemptOf(task, failure, draft.now, delayMs));
    if (delayMs !== null) {
      draft.putTask({ ...task, retried: task.retried + 1, dueAt: draft.now + delayMs });
      return;
    }
  }
  const outcome: CallOutcome = {
    status: response?.status ?? 0,
    headers: response?.headers ?? {},
    body: response?.body ?? NO_BODY,
    attempts: task.retried + 1,
    ...(response === null && failure ? { error: failure.message } : {}),
  };
  // Failed attempts have already stored the same request.
  const sent = task.retried === 0 && !failure && response?.sent ? toStoredRequest(response.sent) : undefined;
  draft.recordStep({ stepId: task.slot, name: task.name, type: 'Call', out: JSON.stringify(outcome) }, task, {
    startedAt: response?.sent?.startedAt,
    sent,
  });
  draft.scheduleAdvance(LIMITS.advanceCoalesceMs);
}
