/** Determines what active runs are waiting for, so that lists show a waiting run as waiting and not as running. */
import type { Task } from '../../engine/runs/run.js';
import type { RunRecord } from '../../ports/stores/store.js';
import type { RunWait, WaitReason } from '../interface/explanation.js';
import { type ExplainContext, reasonsOf } from './explain.js';

interface OpenRun {
  readonly run: RunRecord;
  readonly tasks: readonly Task[];
}

/** Lists do not show why the last attempt failed, so nothing is read for it. */
const NO_FAILURES: ReadonlyMap<string, string> = new Map();

/** Returns whether the condition is already met. */
const isMet = (reason: WaitReason, now: number): boolean =>
  (reason.kind === 'retry' || reason.kind === 'not-before') && reason.at <= now;

/** Returns whether the task does not wait, because its request is in flight, or because it is about to be processed. */
function isBeingProcessed(reason: WaitReason, now: number): reason is Extract<WaitReason, { readonly kind: 'in-flight' }> {
  switch (reason.kind) {
    case 'in-flight':
      return true;
    case 'queued':
      return reason.because === undefined;
    case 'sleeping':
    case 'waiting-for-event':
      return reason.until <= now;
    default:
      return false;
  }
}

async function waitOf({ run, tasks }: OpenRun, context: Omit<ExplainContext, 'store'>): Promise<RunWait | null> {
  const { now } = context;
  let firstWait: Omit<RunWait, 'otherTasks'> | null = null;
  let waitingTasks = 0;
  for (const task of tasks) {
    const reasons = await reasonsOf(task, { run, failures: NO_FAILURES }, context);
    const reason = reasons.find((candidate) => !isMet(candidate, now));
    if (reason === undefined) continue;
    if (isBeingProcessed(reason, now)) return null;
    waitingTasks++;
    firstWait ??= { reason, ...('name' in task ? { stepName: task.name } : {}) };
  }
  return firstWait && { ...firstWait, otherTasks: waitingTasks - 1 };
}

/** Resolves with what the active runs wait for, by run key. A run that does not wait is absent. */
export async function waitsOf(
  context: Omit<ExplainContext, 'store'>,
  runs: readonly OpenRun[],
): Promise<ReadonlyMap<string, RunWait>> {
  const waits = new Map<string, RunWait>();
  for (const openRun of runs) {
    const wait = openRun.run.status === 'active' ? await waitOf(openRun, context) : null;
    if (wait) waits.set(openRun.run.key, wait);
  }
  return waits;
}
