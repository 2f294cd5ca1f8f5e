/** Returns what active runs wait for now, so that lists show a waiting run as waiting and not as running. */
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

/** Whether the condition is already met. */
const isMet = (reason: WaitReason, now: number): boolean =>
  (reason.kind === 'retry' || reason.kind === 'not-before') && reason.at <= now;

/** Whether the task does not wait: its request is in flight, or it is about to be processed. */
function isProcessed(reason: WaitReason, now: number): reason is Extract<WaitReason, { readonly kind: 'in-flight' }> {
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
  let first: Omit<RunWait, 'otherTasks'> | null = null;
  let waiting = 0;
  for (const task of tasks) {
    const reasons = await reasonsOf(task, { run, failures: NO_FAILURES }, context);
    const reason = reasons.find((candidate) => !isMet(candidate, now));
    if (reason === undefined) continue;
    if (isProcessed(reason, now)) return null;
    waiting++;
    first ??= { reason, ...('name' in task ? { stepName: task.name } : {}) };
  }
  return first && { ...first, otherTasks: waiting - 1 };
}

export async function waitsOf(
  context: Omit<ExplainContext, 'store'>,
  runs: readonly OpenRun[],
): Promise<ReadonlyMap<string, RunWait>> {
  const waits = new Map<string, RunWait>();
  for (const source of runs) {
    const wait = source.run.status === 'active' ? await waitOf(source, context) : null;
    if (wait) waits.set(source.run.key, wait);
  }
  return waits;
}
