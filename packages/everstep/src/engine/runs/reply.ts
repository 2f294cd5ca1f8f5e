/**
 * Applies the reply of an endpoint. The reply was computed on a prefix of the journal (`base`). Steps that the code planned on
 * a prefix are valid on every longer journal. Steps that it planned after its own results (`advanced`) are valid only if these
 * became the next entries, that is, if nothing was recorded in between. Keeps invariant 9.
 */
import type { FailedReply, ProgressReply, StepReply } from '@everstep/sdk/protocol';
import { LIMITS } from '../../config/limits.js';
import { detailsOf } from '../failures/error-details.js';
import { checkResults, fitsMessageLimit, PlanRefusedError, ProtocolViolation, plan } from '../limits/plan.js';
import { recordResults } from './checkpoint/results.js';
import type { Draft } from './decision.js';
import type { SentRequest } from './exchanges.js';
import { failAttempt } from './failure.js';
import { ADVANCE_SLOT, type DeliveryFailure, type Task } from './run.js';

type CodeTask = Extract<Task, { kind: 'advance' | 'step' }>;

/** The HTTP response that contained the reply. It is stored with the dead letter if this was the last attempt. */
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

/** Returns the time at which the endpoint was called, Unix ms. */
const callTimeOf = ({ sent, startedAt = sent?.startedAt }: ReplyEnvelope): number | undefined => startedAt;

function applyProgress(draft: Draft, task: CodeTask, reply: ProgressReply, envelope: ReplyEnvelope): void {
  const isCurrent = reply.base === draft.journalLength;
  if (reply.failureFunction) draft.recordFailureFunction();
  const { done, advanced } = reply;
  checkResults(draft, done, reply.end);
  recordResults(draft, task, { done, isCurrent, mustBeNew: isCurrent && advanced, startedAt: callTimeOf(envelope) });
  // Code that has ended does not need the step anymore. For a step that was planned by name, the reply may specify
  // what it needs instead.
  const isSpecified = reply.planned.some(({ stepId }) => stepId === task.slot);
  if (task.kind === 'step' && draft.task(task.slot) !== undefined && !reply.end && !isSpecified) {
    throw new ProtocolViolation(`it did not report the requested step ${task.slot} ("${task.name}")`);
  }
  if (task.kind === 'advance') draft.deleteTask(ADVANCE_SLOT);
  const hasRunPastResults = done.length > 0 && advanced;
  draft.markQuietAt(hasRunPastResults && isCurrent ? reply.base + done.length : reply.base);
  if (!hasRunPastResults || isCurrent) {
    plan(draft, reply.planned);
    if (reply.end?.kind === 'finished') draft.end({ status: 'succeeded', result: reply.end.result ?? null });
    else if (reply.end?.kind === 'canceled') draft.end({ status: 'canceled' });
  }
  draft.scheduleAdvance(LIMITS.advanceCoalesceMs);
  if (!draft.hasEnded && draft.openTasks.size === 0) {
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
function failFollowingStep(draft: Draft, task: CodeTask, reply: FailedReply, isCurrent: boolean, failure: DeliveryFailure): void {
  if (task.kind === 'advance') draft.deleteTask(ADVANCE_SLOT);
  const { step, base, done } = reply;
  // The step was requested on an order of results that did not occur. The code is called again with the actual order.
  if (!step || !isCurrent) return;
  const { stepId: slot, name } = step;
  if (slot !== draft.nextStepId)
    throw new ProtocolViolation(
      `it reports a failure of step ${slot} after other steps, but the next new step is ${draft.nextStepId}`,
    );
  draft.markQuietAt(base + done.length);
  const { now } = draft;
  const messageId = draft.newMessageId();
  const failedTask: CodeTask = {
    ...{ kind: 'step', slot, name, group: slot, concurrent: 1 },
    ...{ messageId, dueAt: now, createdAt: now, retried: 0 },
  };
  draft.putTask(failedTask);
  failAttempt(draft, failedTask, failure);
}

function applyFailure(draft: Draft, task: CodeTask, reply: FailedReply, envelope: ReplyEnvelope): void {
  const isCurrent = reply.base === draft.journalLength;
  if (reply.failureFunction) draft.recordFailureFunction();
  checkResults(draft, reply.done, undefined);
  recordResults(draft, task, { done: reply.done, isCurrent, mustBeNew: isCurrent, startedAt: callTimeOf(envelope) });
  const { step, error } = reply;
  const thrown = detailsOf(error);
  const failure: DeliveryFailure = {
    ...failureOf(envelope, step ? 'step' : 'workflow', `${error.name}: ${error.message}`, reply.retry),
    ...(thrown ? { thrown } : {}),
  };
  if (step && reply.done.length > 0) failFollowingStep(draft, task, reply, isCurrent, failure);
  else if (step && task.kind === 'advance' && step.stepId === draft.nextStepId) {
    // The attempt found the step and failed in it. From now on the step is a separate task.
    draft.deleteTask(ADVANCE_SLOT);
    const failedStep: CodeTask = {
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
    else throw new ProtocolViolation(`it reports a failure of step ${step.stepId}, which was not requested`);
  } else if (task.kind === 'step' && draft.task(task.slot) !== undefined) {
    // The code failed before it reached the step. The attempt therefore counts as failed, because nothing else would
    // retry it.
    failAttempt(draft, task, failure);
  } else if (reply.done.length > 0 && !isCurrent) {
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
  newDraft: () => Draft,
  task: CodeTask,
  reply: StepReply,
  envelope: ReplyEnvelope,
  { message, counter }: PlanRefusedError,
): Draft {
  const draft = newDraft();
  if (counter) draft.countRejection(counter);
  if (reply.kind === 'progress') {
    const { end: _end, ...replyWithoutEnd } = reply;
    // Each result relies on the results before it.
    const tooLargeIndex = reply.done.findIndex(({ out }) => out !== undefined && !fitsMessageLimit(out, draft.context));
    const done = tooLargeIndex === -1 ? reply.done : reply.done.slice(0, tooLargeIndex);
    if (done.length > 0) applyProgress(draft, task, { ...replyWithoutEnd, done, advanced: false, planned: [] }, envelope);
  }
  const advance = draft.task(ADVANCE_SLOT);
  const failedTask = draft.task(task.slot) === task || advance?.kind !== 'advance' ? task : advance;
  failAttempt(draft, failedTask, failureOf(envelope, 'refused', message, { kind: 'never' }));
  return draft;
}

/** Applies a reply to the attempt of `task`, which must be the task in its slot. */
export function applyReply(newDraft: () => Draft, task: CodeTask, reply: StepReply, envelope: ReplyEnvelope): Draft {
  const draft = newDraft();
  try {
    switch (reply.kind) {
      case 'progress':
        applyProgress(draft, task, reply, envelope);
        break;
      case 'failed':
        applyFailure(draft, task, reply, envelope);
        break;
      case 'refused':
        failAttempt(draft, task, failureOf(envelope, 'refused', reply.message, { kind: 'never' }));
        return draft;
      case 'journal-needed':
        throw new ProtocolViolation('it requests the journal although the whole journal was sent');
    }
    // No other delivery would be made for this task.
    if (!draft.hasEnded && draft.task(task.slot) === task)
      throw new ProtocolViolation('its reply contains nothing that was requested');
    return draft;
  } catch (violation) {
    const failedDraft = newDraft();
    if (violation instanceof PlanRefusedError) return refusePlan(newDraft, task, reply, envelope, violation);
    if (!(violation instanceof ProtocolViolation)) throw violation;
    // A reply that violates the protocol has no other effect.
    const message = `the endpoint violated the step protocol: ${violation.message}`;
    failAttempt(failedDraft, task, failureOf(envelope, 'not-protocol', message, { kind: 'never' }));
    return failedDraft;
  }
}
