/** Sends one task to the endpoint and returns the response as an event for the engine. */
import type { RunEvent } from '../../../engine/runs/decide.js';
import type { ReplyEnvelope } from '../../../engine/runs/reply.js';
import type { Task } from '../../../engine/runs/run.js';
import type { StepCaller, StepOutcome } from '../../../ports/step-caller.js';
import type { Traces } from '../../../ports/traces.js';
import { deliveryKeyOf } from '../../gates/delivery.js';
import type { OnDurable } from '../../runs/decisions.js';
import { recordHold } from '../../runs/holds.js';
import type { CachedRun } from '../../runs/run-cache.js';
import { buildStepRequest, journalHeldByWorker, type RequestSources } from './step-request.js';

type CodeTask = Extract<Task, { kind: 'advance' | 'step' }>;

/** The response to a delivery. */
export interface DeliveredEvent {
  readonly event: RunEvent;
  /** Records what the worker holds. Called when the decision on the event is durable, before anything acts on it. */
  readonly onDurable?: OnDurable;
}

/** Dependencies of the delivery of a step. */
export interface StepDeliveryDeps extends RequestSources {
  readonly caller: StepCaller;
  readonly traces: Traces;
}

/** Callbacks and promises of one attempt. */
export interface AttemptHooks {
  /** Called when the request is sent. */
  readonly onSent: () => void;
  /** Settles when the response is recorded or dropped. */
  readonly outcomeRecorded: Promise<void>;
}

const envelopeOf = (response: Exclude<StepOutcome, { readonly kind: 'failure' }>): ReplyEnvelope => ({
  status: response.status,
  responseHeaders: response.responseHeaders,
  responseBody: response.responseBody,
  ...(response.sent ? { sent: response.sent } : {}),
});

/**
 * Sends `task` of the run. Resolves with the response, or null if the attempt was given up. A worker that does not hold the
 * entries that it reported gets the whole journal immediately; this counts as the same attempt.
 */
export async function deliverStep(
  { caller, traces, ...sources }: StepDeliveryDeps,
  entry: CachedRun,
  task: CodeTask,
  { onSent, outcomeRecorded }: AttemptHooks,
): Promise<DeliveredEvent | null> {
  entry.abortController ??= new AbortController();
  const { signal } = entry.abortController;
  entry.deliveries++;
  try {
    let heldJournal = journalHeldByWorker(entry);
    for (;;) {
      const run = entry.durableRun;
      const trace = traces.traceOfAttempt(run, task);
      const { callParts, endMark } = await buildStepRequest(sources, entry, task, heldJournal, trace?.context);
      const outcome = await caller.call(
        {
          instanceId: run.instanceId,
          deliveryKey: deliveryKeyOf({ runKey: run.key, slot: task.slot }),
          dialect: run.dialect,
          workflowUrl: run.workflowUrl,
          ...callParts,
          ...(trace?.span ? { span: trace.span } : {}),
          forwardHeaders: entry.forwardHeaders,
          timeoutMs: run.settings.deliveryTimeoutMs,
          hidesData: run.settings.redact !== undefined,
          outcomeRecorded,
        },
        signal,
        onSent,
      );
      if (signal.aborted) return null;
      const needsJournal = outcome.kind === 'reply' && outcome.reply.kind === 'journal-needed';
      // The worker that held the run may no longer exist. The hold of a reply counts only once the reply is recorded.
      if (outcome.kind !== 'reply' || needsJournal) entry.hold = null;
      if (needsJournal && heldJournal) {
        entry.misses++;
        heldJournal = null;
        continue;
      }
      entry.payload = null;
      const attempt = { slot: task.slot, messageId: task.messageId, retried: task.retried };
      if (outcome.kind === 'failure') return { event: { kind: 'attempt-failed', attempt, failure: outcome.failure } };
      if (outcome.kind === 'silent') return { event: { kind: 'exchange-ended', attempt, envelope: envelopeOf(outcome) } };
      const { reply } = outcome;
      return {
        event: { kind: 'replied', attempt, reply, envelope: envelopeOf(outcome) },
        onDurable: (decidedOn, decision) => {
          // If the decision was made on a state other than that of the request, the reply shows nothing about the entries of
          // that state.
          if (decidedOn === entry) recordHold(entry, reply, endMark, decision);
        },
      };
    }
  } finally {
    entry.deliveries--;
  }
}
