/** Carries one task to the endpoint and its answer to the engine. */
import type { RunEvent } from '../engine/decide.js';
import type { ReplyEnvelope } from '../engine/reply.js';
import type { Task } from '../engine/run.js';
import type { StepAnswer, StepCaller } from '../ports/step-caller.js';
import type { Store } from '../ports/store.js';
import type { CachedRun } from './run-cache.js';
import { buildStepRequest, journalStart } from './step-request.js';

type Callable = Extract<Task, { kind: 'advance' | 'step' }>;

/** Notes what the worker said it holds. Replies of parallel steps arrive in any order; the furthest counts. */
function noteHold(entry: CachedRun, answer: StepAnswer): void {
  if (answer.kind !== 'reply') {
    entry.hold = null;
    return;
  }
  const { reply } = answer;
  const hold = reply.kind === 'progress' || reply.kind === 'failed' ? (reply.hold ?? null) : null;
  if (hold && entry.hold?.worker === hold.worker) {
    entry.hold = { worker: hold.worker, through: Math.max(hold.through, entry.hold.through) };
  } else entry.hold = hold;
}

const envelopeOf = (answer: Exclude<StepAnswer, { readonly kind: 'failure' }>): ReplyEnvelope => ({
  status: answer.status,
  responseHeaders: answer.responseHeaders,
  responseBody: answer.responseBody,
  ...(answer.sent ? { sent: answer.sent } : {}),
});

/**
 * Delivers `task` of the run and returns what came of it as an event; null
 * when it was given up. A worker that does not hold what it said it holds
 * gets the whole journal, at once and without counting as an attempt.
 */
export async function deliver(
  store: Store,
  caller: StepCaller,
  entry: CachedRun,
  task: Callable,
  onLeave: () => void,
): Promise<RunEvent | null> {
  entry.control ??= new AbortController();
  const { signal } = entry.control;
  entry.deliveries++;
  try {
    let from = journalStart(entry, entry.durable);
    for (;;) {
      const run = entry.durable;
      const answer = await caller.call(
        {
          instanceId: run.instanceId,
          dialect: run.dialect,
          workflowUrl: run.workflowUrl,
          ...(await buildStepRequest(store, entry, task, from)),
          forwardHeaders: entry.forwardHeaders,
          timeoutMs: run.settings.deliveryTimeoutMs,
          discreet: run.settings.redact !== undefined,
        },
        signal,
        onLeave,
      );
      if (signal.aborted) return null;
      noteHold(entry, answer);
      if (answer.kind === 'reply' && answer.reply.kind === 'journal-needed' && from > 0) {
        entry.misses++;
        from = 0;
        continue;
      }
      entry.payload = null;
      const attempt = { slot: task.slot, messageId: task.messageId, retried: task.retried };
      if (answer.kind === 'failure') return { kind: 'attempt-failed', attempt, failure: answer.failure };
      if (answer.kind === 'silent') return { kind: 'exchange-ended', attempt, envelope: envelopeOf(answer) };
      return { kind: 'replied', attempt, reply: answer.reply, envelope: envelopeOf(answer) };
    }
  } finally {
    entry.deliveries--;
  }
}
