/**
 * Records the results of a reply. With a checkpoint, the endpoint may also have executed the steps that follow the requested one.
 * A result after the first relies on all results before it. It is valid only if they become the entries directly after the
 * journal that the endpoint knew. All results are written in one unit. Keeps invariant 4.
 */
import type { StepResult } from '@everstep/sdk/protocol';
import { checkJournal, ProtocolViolation } from '../../limits/plan.js';
import type { Draft, ResultTimes } from '../decision.js';
import type { Task } from '../run.js';

/** The results of a reply, and the conditions under which they were computed. */
export interface ReportedResults {
  readonly done: readonly StepResult[];
  /** Whether the endpoint knew the whole journal. */
  readonly isCurrent: boolean;
  /** Whether all results must be new, because the rest of the reply relies on them. */
  readonly mustBeNew: boolean;
  /** Time when the endpoint was called, Unix ms; undefined if it is unknown. */
  readonly startedAt: number | undefined;
}

/** Returns the times of a step. The endpoint reports them relative to the time at which it was called. */
function timesOf({ ranMs }: StepResult, startedAt: number | undefined): ResultTimes {
  if (startedAt === undefined || !ranMs) return { startedAt };
  const [from, to] = ranMs;
  return { startedAt: startedAt + from, completedAt: startedAt + to };
}

/** Returns whether the result must be recorded. Throws ProtocolViolation if the endpoint may not report it. */
function isUnrecorded(draft: Draft, { stepId, name }: StepResult, mustBeNew: boolean): boolean {
  if (stepId > draft.nextStepId)
    throw new ProtocolViolation(`it reports step ${stepId}, but the next new step is ${draft.nextStepId}`);
  if (stepId === draft.nextStepId) return true;
  const openTask = draft.task(stepId);
  if (openTask === undefined || openTask.kind === 'advance' || openTask.kind === 'callback') {
    if (mustBeNew) throw new ProtocolViolation(`it continued from step ${stepId}, which was already recorded`);
    // Already recorded, by a duplicate of an attempt that the server gave up. A step is recorded only once.
    return false;
  }
  if (openTask.kind !== 'step')
    throw new ProtocolViolation(`it reports step ${stepId} as executed, but the server executes it (${openTask.kind})`);
  if (openTask.name !== name)
    throw new ProtocolViolation(`it reports step ${stepId} as "${name}", but planned it as "${openTask.name}"`);
  return true;
}

/** Records the results of a reply to an attempt of `task`. Throws ProtocolViolation if the endpoint may not report one of them. */
export function recordResults(draft: Draft, task: Task, { done, isCurrent, mustBeNew, startedAt }: ReportedResults): void {
  // The results after the first rely on an order that did not occur.
  const validResults = isCurrent ? done : done.slice(0, 1);
  for (const [index, result] of validResults.entries()) {
    if (!isUnrecorded(draft, result, mustBeNew)) continue;
    const times = timesOf(result, index === 0 || result.ranMs ? startedAt : undefined);
    // A step that followed in the same request is a separate message, as if it had been delivered separately.
    const isFollowing = index > 0 && draft.task(result.stepId) === undefined;
    const message = isFollowing
      ? { messageId: draft.countMessage(), createdAt: Math.min(draft.now, times.startedAt ?? draft.now) }
      : task;
    draft.recordStep(result, message, times);
    checkJournal(draft);
  }
}
