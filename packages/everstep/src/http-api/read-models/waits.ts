/** Reads what active runs wait for. Nothing is stored for it: it follows from their tasks and from what holds deliveries back. */
import { LIMITS } from '../../config/limits.js';
import type { Waiting } from '../../contract/fields/wait-reason.js';
import type { RunHistory, RunRecord } from '../../ports/stores/store.js';
import type { RunService } from '../../runtime/services/workflow-service.js';
import { presentWaiting } from '../presenters/waits/waiting.js';
import type { RunReads } from './reads.js';

type Waits = ReadonlyMap<string, Waiting>;
const NONE: Waits = new Map();

async function presented(service: Pick<RunService, 'waits'>, runs: Parameters<RunService['waits']>[0]): Promise<Waits> {
  return new Map([...(await service.waits(runs))].map(([runKey, wait]) => [runKey, presentWaiting(wait)]));
}

/** Returns what the active runs among these wait for, by run key. Reads the tasks of all of them at once. */
export async function waitsOfRuns(
  reads: Pick<RunReads, 'firstTasks'>,
  service: Pick<RunService, 'waits'>,
  { instanceId, runs }: { readonly instanceId: string; readonly runs: readonly RunRecord[] },
): Promise<Waits> {
  const active = runs.filter(({ status }) => status === 'active');
  if (active.length === 0) return NONE;
  const runKeys = active.map(({ key }) => key);
  const tasks = await reads.firstTasks({ instanceId, runKeys, limit: LIMITS.maxWaitTasks });
  return presented(
    service,
    active.map((run) => ({ run, tasks: tasks.get(run.key) ?? [] })),
  );
}

/** Returns what runs wait for whose histories are already read, by run key. */
export function waitsOfHistories(
  service: Pick<RunService, 'waits'>,
  histories: readonly Pick<RunHistory, 'run' | 'tasks'>[],
): Promise<Waits> {
  return presented(
    service,
    histories.map(({ run, tasks }) => ({ run, tasks: tasks.slice(0, LIMITS.maxWaitTasks) })),
  );
}

/** Returns what a run waits for whose history is already read. */
export async function waitOf(
  service: Pick<RunService, 'waits'>,
  history: Pick<RunHistory, 'run' | 'tasks'>,
): Promise<Waiting | undefined> {
  return (await waitsOfHistories(service, [history])).get(history.run.key);
}
