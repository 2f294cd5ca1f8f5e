/**
 * Steps that arrive in separate requests. In some protocols the endpoint submits its results while it processes a
 * delivery. A submission is handled as the reply to the task that requested its steps, whether that attempt is still
 * in flight or was given up. A repeated submission of the same steps has no effect.
 * Keeps invariant 4.
 */
import type { PlannedStep, ProgressReply, RunEnd, StepResult } from '@everstep/sdk/protocol';
import { PROTOCOL_VERSION } from '@everstep/sdk/protocol';
import type { DecisionContext } from '../ids.js';
import { type Decision, Draft, unchangedDecision } from './decision.js';
import { failAttempt } from './failure.js';
import { applyReply, type ReplyEnvelope } from './reply.js';
import { ADVANCE_SLOT, type DeliveryFailure, type Run, type Task } from './run.js';

/** The content of one submission. */
export interface Submission {
  readonly done: readonly StepResult[];
  /** New steps, or the details of a step that was planned only by name. */
  readonly planned: readonly PlannedStep[];
  readonly end?: RunEnd;
  /** Present if the endpoint introduces itself and requests the run's first step. */
  readonly introduction?: true;
}

type RequestingTask = Extract<Task, { kind: 'advance' | 'step' }>;

const NO_ENVELOPE: ReplyEnvelope = { status: null, responseHeaders: {}, responseBody: new Uint8Array(0) };

/** Returns the task that requested the steps, or null if nothing in the submission is new. */
function requestingTask(run: Run, submission: Submission): RequestingTask | null {
  // A step that is planned by name again repeats an accepted plan. If it specifies what it needs, it completes the task.
  const specifiedSteps = submission.planned.filter(({ type }) => type !== 'Run');
  for (const { stepId } of [...submission.done, ...specifiedSteps]) {
    const openTask = run.tasks.get(stepId);
    if (openTask?.kind === 'step') return openTask;
  }
  const isNew = [...submission.done, ...submission.planned].some(({ stepId }) => stepId >= run.nextStepId);
  const advance = run.tasks.get(ADVANCE_SLOT);
  if (advance?.kind !== 'advance') return null;
  return isNew || submission.end !== undefined || submission.introduction ? advance : null;
}

/** A submission with the deliveries in flight. */
export interface PendingSubmission {
  readonly submission: Submission;
  /** Start times of the deliveries in flight, Unix ms, by slot. */
  readonly deliveryStartedAt?: ReadonlyMap<number, number> | undefined;
}

/** Applies a submission. Writes nothing if it was already applied. */
export function applySubmission(
  run: Run,
  { submission, deliveryStartedAt }: PendingSubmission,
  context: DecisionContext,
): Decision {
  const task = requestingTask(run, submission);
  if (task === null) return unchangedDecision(run);
  if (submission.introduction) return requestFirstStep(run, task, context);
  const reply: ProgressReply = {
    protocol: PROTOCOL_VERSION,
    kind: 'progress',
    base: run.journalLength,
    done: submission.done,
    advanced: false,
    planned: submission.planned,
    ...(submission.end ? { end: submission.end } : {}),
  };
  const envelope: ReplyEnvelope = { ...NO_ENVELOPE, startedAt: deliveryStartedAt?.get(task.slot) };
  return applyReply(() => new Draft(run, context), task, reply, envelope).finish();
}

/** Returns whether the endpoint can be called for a step. An endpoint that has submitted a step needs no introduction. */
export const hasIntroducedItself = ({ settings, nextStepId, journalLength }: Run): boolean =>
  (settings.steps?.introduced ?? true) || nextStepId > 1 || journalLength > 0;

/** Calls the endpoint again, now for the first step, as a separate message. Attempts that failed before still count. */
function requestFirstStep(run: Run, task: RequestingTask, context: DecisionContext): Decision {
  const { steps } = run.settings;
  if (task.kind !== 'advance' || !steps || hasIntroducedItself(run)) return unchangedDecision(run);
  const draft = new Draft(run, context);
  draft.markQuietAt(0);
  draft.recordIntroduction(steps);
  draft.putTask({ ...task, messageId: draft.newMessageId(), dueAt: draft.now });
  return draft.finish();
}

/**
 * Handles the end of a delivery. The endpoint submits everything before it responds, so if it has submitted nothing
 * by now, it never will.
 */
export function endExchange(run: Run, task: RequestingTask, envelope: ReplyEnvelope, context: DecisionContext): Decision {
  const draft = new Draft(run, context);
  const failure: DeliveryFailure = {
    cause: 'not-protocol',
    message:
      'the endpoint responded without an error, but submitted neither a step nor the end of the run; check whether the workflow catches ' +
      'errors of its steps or returns before it has awaited them, and whether a request in it was rejected with the status 400, which ' +
      '@upstash/workflow treats as the end of the run',
    retry: { kind: 'never' },
    ...envelope,
  };
  failAttempt(draft, task, failure);
  return draft.finish();
}
