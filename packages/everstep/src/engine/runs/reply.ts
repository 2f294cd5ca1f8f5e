/**
 * Applies the reply of an endpoint. The reply was computed on a prefix of the journal (`base`). Steps that the code planned on
 * a prefix are valid on every longer journal. Whatever the code did after its own results (`advanced`) is valid only if they
 * became the next entries: nothing was recorded in between. Keeps invariant 9.
 */
import type { FailedReply, ProgressReply, StepReply } from '@everstep/sdk/protocol';
import { LIMITS } from '../../config/limits.js';
import { detailsOf } from '../failures/error-details.js';
import { checkResults, fitsMessageLimit, PlanRefused, plan, Violation } from '../limits/plan.js';
import { recordResults } from './checkpoint/results.js';
import type { Draft } from './decision.js';
import type { SentRequest } from './exchanges.js';
import { failAttempt } from './failure.js';
import { ADVANCE_SLOT, type DeliveryFailure, type Task } from './run.js';

type AttemptTask = Extract<Task, { kind: 'advance' | 'step' }>;

/** How the reply arrived. It is stored with the dead letter if this was the last attempt. */
export interface ReplyEnvelope {
  readonly status: number | null;
  readonly responseHeaders: Readonly<Record<string, readonly string[]>>;
  readonly responseBody: Uint8Array;
  readonly sent?: SentRequest;
  /** Time at which the endpoint was called, Unix ms, if the sent request is not available. */
  readonly startedAt?: number | undefined;
}

function failureOf(
  envelope: ReplyEnvelope,
  cause: DeliveryFailure['cause'],
  message: string,
  retry: DeliveryFailure['retry'],
): DeliveryFailure {
  return { cause, message, retry, ...envelope };
}

const calledAt = ({ sent, startedAt = sent?.startedAt }: ReplyEnvelope): number | undefined => startedAt;

function onProgress(draft: Draft, task: AttemptTask, reply: ProgressReply, envelope: ReplyEnvelope): void {
  const current = reply.base === draft.journalLength;
  if (reply.failureFunction) draft.noteFailureFunction();
  const { done, advanced } = reply;
  checkResults(draft, done, reply.end);
  recordResults(draft, task, { done, current, trusted: current && advanced, startedAt: calledAt(envelope) });
  // Code that has ended does not need the step anymore. For a step that was planned by name, the reply may specify
  // what it needs instead.
  const isSpecified = reply.planned.some(({ stepId }) => stepId === task.slot);
  if (task.kind === 'step' && draft.task(task.slot) !== undefined && !reply.end && !isSpecified) {
    throw new Violation(`it did not report the requested step ${task.slot} ("${task.name}")`);
  }
  if (task.kind === 'advance') draft.deleteTask(ADVANCE_SLOT);
  const pastDone = done.length > 0 && advanced;
  draft.markQuietAt(pastDone && current ? reply.base + done.length : reply.base);
  if (!pastDone || current) {
    plan(draft, reply.planned);
    if (reply.end?.kind === 'finished') draft.end({ status: 'succeeded', result: reply.end.result ?? null });
    else if (reply.end?.kind === 'canceled') draft.end({ status: 'canceled' });
  }
  draft.scheduleAdvance(LIMITS.advanceCoalesceMs);
  if (!draft.ended && draft.openTasks.size === 0) {
    const failure = failureOf(
      envelope,
      'not-protocol',
      'the endpoint replied that the workflow is neither finished nor waiting for a step',
      {
        kind: 'never',
      },
    );
    draft.fail(failure.message, failure, null);
  }
}

/** Fails the step that followed the results of the reply. It is new, and this was its first attempt. */
function failFollowing(draft: Draft, task: AttemptTask, reply: FailedReply, current: boolean, failure: DeliveryFailure): void {
  if (task.kind === 'advance') draft.deleteTask(ADVANCE_SLOT);
  const { step, base, done } = reply;
  // The step was requested on an order of results that did not occur. The code is called again with the actual order.
  if (!step || !current) return;
  const { stepId: slot, name } = step;
  if (slot !== draft.known)
    throw new Violation(`it reports a failure of step ${slot} after other steps, but the next new step is ${draft.known}`);
  draft.markQuietAt(base + done.length);
  const { now } = draft;
  const messageId = draft.newMessageId();
  const failed: AttemptTask = {
    ...{ kind: 'step', slot, name, group: slot, concurrent: 1 },
    ...{ messageId, dueAt: now, createdAt: now, retried: 0 },
  };
  draft.putTask(failed);
  failAttempt(draft, failed, failure);
}

function onFailed(draft: Draft, task: AttemptTask, reply: FailedReply, envelope: ReplyEnvelope): void {
  const current = reply.base === draft.journalLength;
  if (reply.failureFunction) draft.noteFailureFunction();
  checkResults(draft, reply.done, undefined);
  recordResults(draft, task, { done: reply.done, current, trusted: current, startedAt: calledAt(envelope) });
  const { step, error } = reply;
  const thrown = detailsOf(error);
  const failure: DeliveryFailure = {
    ...failureOf(envelope, step ? 'step' : 'workflow', `${error.name}: ${error.message}`, reply.retry),
    ...(thrown ? { thrown } : {}),
  };
  if (step && reply.done.length > 0) failFollowing(draft, task, reply, current, failure);
  else if (step && task.kind === 'advance' && step.stepId === draft.known) {
    // The attempt found the step and failed in it. From now on the step is a separate task.
    draft.deleteTask(ADVANCE_SLOT);
    const failedStep: AttemptTask = {
      ...task,
      kind: 'step',
      slot: step.stepId,
      name: step.name,
      group: step.stepId,
      concurrent: 1,
    };
    draft.markQuietAt(reply.base);
    draft.putTask(failedStep);
    // Scheduled before the failure, which may end the run, so that a resume finds the advance among the parked tasks.
    draft.scheduleAdvance(LIMITS.advanceCoalesceMs);
    failAttempt(draft, failedStep, failure);
  } else if (step) {
    const openStep = draft.task(step.stepId);
    if (openStep?.kind === 'step' && openStep.slot === task.slot) failAttempt(draft, openStep, failure);
    else throw new Violation(`it reports a failure of step ${step.stepId}, which was not requested`);
  } else if (task.kind === 'step' && draft.task(task.slot) !== undefined) {
    // The code failed before it reached the step. The attempt therefore counts as failed, because nothing else would
    // retry it.
    failAttempt(draft, task, failure);
  } else if (reply.done.length > 0 && !current) {
    // The code failed on an order of results that did not occur. Call the code again with the actual order.
    if (task.kind === 'advance') draft.putTask({ ...task, messageId: draft.newMessageId(), dueAt: draft.now, retried: 0 });
  } else if (task.kind === 'advance') failAttempt(draft, task, failure);
  else if (draft.task(ADVANCE_SLOT) === undefined) {
    failAttempt(
      draft,
      {
        kind: 'advance',
        slot: ADVANCE_SLOT,
        messageId: draft.newMessageId(),
        dueAt: draft.now,
        createdAt: draft.now,
        retried: 0,
      },
      failure,
    );
  }
  // Otherwise an advance is pending and may be in flight. It reaches the same failure and counts its own attempts.
  draft.scheduleAdvance(LIMITS.advanceCoalesceMs);
}

/** Fails the run. Results that were reported with the plan are kept, so that a resume continues from them. */
function refusePlan(
  base: () => Draft,
  task: AttemptTask,
  reply: StepReply,
  envelope: ReplyEnvelope,
  { message, counter: counted }: PlanRefused,
): Draft {
  const draft = base();
  if (counted) draft.countRejection(counted);
  if (reply.kind === 'progress') {
    const { end: _end, ...unended } = reply;
    // Each result relies on the results before it.
    const tooLarge = reply.done.findIndex(({ out }) => out !== undefined && !fitsMessageLimit(out, draft.context));
    const done = tooLarge === -1 ? reply.done : reply.done.slice(0, tooLarge);
    if (done.length > 0) onProgress(draft, task, { ...unended, done, advanced: false, planned: [] }, envelope);
  }
  const advance = draft.task(ADVANCE_SLOT);
  const failed = draft.task(task.slot) === task || advance?.kind !== 'advance' ? task : advance;
  failAttempt(draft, failed, failureOf(envelope, 'refused', message, { kind: 'never' }));
  return draft;
}

/** Applies a reply to the attempt of `task`, which must be the task in its slot. */
export function applyReply(base: () => Draft, task: AttemptTask, reply: StepReply, envelope: ReplyEnvelope): Draft {
  const draft = base();
  try {
    switch (reply.kind) {
      case 'progress':
        onProgress(draft, task, reply, envelope);
        break;
      case 'failed':
        onFailed(draft, task, reply, envelope);
        break;
      case 'refused':
        failAttempt(draft, task, failureOf(envelope, 'refused', reply.message, { kind: 'never' }));
        return draft;
      case 'journal-needed':
        throw new Violation('it requests the journal although the whole journal was sent');
    }
    // No other delivery would be made for this task.
    if (!draft.ended && draft.task(task.slot) === task) throw new Violation('its reply contains nothing that was requested');
    return draft;
  } catch (violation) {
    const newDraft = base();
    if (violation instanceof PlanRefused) return refusePlan(base, task, reply, envelope, violation);
    if (!(violation instanceof Violation)) throw violation;
    // A reply that violates the protocol has no other effect.
    const message = `the endpoint violated the step protocol: ${violation.message}`;
    failAttempt(newDraft, task, failureOf(envelope, 'not-protocol', message, { kind: 'never' }));
    return newDraft;
  }
}
