/**
 * Records the results of a reply. After the step that the endpoint was called for, it may have executed the steps that follow
 * (a checkpoint). Each later result relies on all results before it. It is valid only if they become the entries directly after
 * the journal that the endpoint knew. All of them are written in one unit. Keeps invariant 4.
 */
import type { StepResult } from '@everstep/sdk/protocol';
import { checkJournal, Violation } from '../../limits/plan.js';
import type { Draft, ResultTimes } from '../decision.js';
import type { Task } from '../run.js';

/** The results of a reply, and the conditions under which they were computed. */
export interface ReportedResults {
  readonly done: readonly StepResult[];
  /** Whether the endpoint knew the whole journal. */
  readonly current: boolean;
  /** Whether the rest of the reply relies on the results, so that all of them must be new. */
  readonly trusted: boolean;
  /** Time when the endpoint was called, Unix ms; undefined if it is unknown. */
  readonly startedAt: number | undefined;
}

/** Returns the times of a step. The endpoint reports them relative to the time at which it was called. */
function timesOf({ ranMs }: StepResult, startedAt: number | undefined): ResultTimes {
  if (startedAt === undefined || !ranMs) return { startedAt };
  const [from, to] = ranMs;
  return { startedAt: startedAt + from, completedAt: startedAt + to };
}

/** Returns whether the result is to be recorded. Throws Violation if the endpoint may not report it. */
function isUnrecorded(draft: Draft, { stepId, name }: StepResult, trusted: boolean): boolean {
  if (stepId > draft.known) throw new Violation(`it reports step ${stepId}, but the next new step is ${draft.known}`);
  if (stepId === draft.known) return true;
  const open = draft.task(stepId);
  if (open === undefined || open.kind === 'advance' || open.kind === 'callback') {
    if (trusted) throw new Violation(`it continued from step ${stepId}, which was already recorded`);
    // Already recorded, by a duplicate of an attempt that the server gave up. The engine ensures that a step is
    // recorded once.
    return false;
  }
  if (open.kind !== 'step')
    throw new Violation(`it reports step ${stepId} as executed, but the server executes it (${open.kind})`);
  if (open.name !== name) throw new Violation(`it reports step ${stepId} as "${name}", but planned it as "${open.name}"`);
  return true;
}

/** Records the results of a reply to an attempt of `task`. Throws Violation. */
export function recordResults(draft: Draft, task: Task, { done, current, trusted, startedAt }: ReportedResults): void {
  // The results after the first rely on an order that did not occur.
  const valid = current ? done : done.slice(0, 1);
  for (const [index, result] of valid.entries()) {
    if (!isUnrecorded(draft, result, trusted)) continue;
    const times = timesOf(result, index === 0 || result.ranMs ? startedAt : undefined);
    // A step that followed in the same request is a separate message, as if it had been delivered.
    const isFollowing = index > 0 && draft.task(result.stepId) === undefined;
    const from = isFollowing
      ? { messageId: draft.countMessage(), createdAt: Math.min(draft.now, times.startedAt ?? draft.now) }
      : task;
    draft.recordStep(result, from, times);
    checkJournal(draft);
  }
}
