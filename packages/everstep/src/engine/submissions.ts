/**
 * Steps that come in requests of their own: protocols in which the endpoint,
 * while it answers a delivery, submits what became of it. A submission is
 * taken as the answer to whatever asked for its steps, whether that attempt
 * is still out or was given up; a second one of the same steps has no effect.
 */
import type { PlannedStep, ProgressReply, RunEnd, StepResult } from '@everstep/sdk/protocol';
import { PROTOCOL_VERSION } from '@everstep/sdk/protocol';
import { type Decision, Draft, unchanged } from './decision.js';
import { failAttempt } from './failure.js';
import type { DecisionContext } from './ids.js';
import { applyReply, type ReplyEnvelope } from './reply.js';
import { ADVANCE_SLOT, type DeliveryFailure, type Run, type Task } from './run.js';

/** What an endpoint submits at once. */
export interface Submission {
  readonly done: readonly StepResult[];
  /** New steps, or what a step that was planned by its name alone needs. */
  readonly planned: readonly PlannedStep[];
  readonly end?: RunEnd;
  /** The endpoint speaks the protocol, and asks for the run's first step. */
  readonly introduction?: true;
}

type Asked = Extract<Task, { kind: 'advance' | 'step' }>;

const NO_ENVELOPE: ReplyEnvelope = { status: null, responseHeaders: {}, responseBody: new Uint8Array(0) };

/** Which task asked for it; null when nothing of it is new. */
function askedFor(run: Run, submission: Submission): Asked | null {
  // Planned by its name again, it is the plan that was taken before; with what it needs, it is what was asked for.
  const told = submission.planned.filter(({ type }) => type !== 'Run');
  for (const { stepId } of [...submission.done, ...told]) {
    const open = run.tasks.get(stepId);
    if (open?.kind === 'step') return open;
  }
  const isNew = [...submission.done, ...submission.planned].some(({ stepId }) => stepId >= run.known);
  const advance = run.tasks.get(ADVANCE_SLOT);
  if (advance?.kind !== 'advance') return null;
  return isNew || submission.end !== undefined || submission.introduction ? advance : null;
}

export interface Submitted {
  readonly submission: Submission;
  /** When the deliveries that are out left, Unix ms, by their slots. */
  readonly outSince?: ReadonlyMap<number, number> | undefined;
}

/** Takes it; writes nothing when it was taken before. */
export function takeSubmission(run: Run, { submission, outSince }: Submitted, context: DecisionContext): Decision {
  const task = askedFor(run, submission);
  if (task === null) return unchanged(run);
  if (submission.introduction) return introduce(run, task, context);
  const reply: ProgressReply = {
    protocol: PROTOCOL_VERSION,
    kind: 'progress',
    base: run.journalLength,
    done: submission.done,
    advanced: false,
    planned: submission.planned,
    ...(submission.end ? { end: submission.end } : {}),
  };
  const envelope: ReplyEnvelope = { ...NO_ENVELOPE, startedAt: outSince?.get(task.slot) };
  return applyReply(() => new Draft(run, context), task, reply, envelope).finish();
}

/** Asks again, and now for the first step: as a message of its own, with its own attempts. */
function introduce(run: Run, task: Asked, context: DecisionContext): Decision {
  if (task.kind !== 'advance' || run.quietAt >= 0) return unchanged(run);
  const draft = new Draft(run, context);
  draft.markQuietAt(0);
  draft.putTask({ ...task, messageId: draft.newMessageId(), dueAt: draft.now, retried: 0 });
  return draft.finish();
}

/** The delivery ended well, and all that there was to say was submitted before. If nothing was, nothing ever will be. */
export function endExchange(run: Run, task: Asked, envelope: ReplyEnvelope, context: DecisionContext): Decision {
  const draft = new Draft(run, context);
  const failure: DeliveryFailure = {
    cause: 'not-protocol',
    message:
      'the endpoint answered without an error, but submitted neither a step nor the end of the run; does the workflow catch ' +
      'what its steps throw, or return before it has awaited them?',
    retry: { kind: 'never' },
    ...envelope,
  };
  failAttempt(draft, task, failure);
  return draft.finish();
}
