/**
 * Determines why active runs are waiting. The reasons are not stored: they follow from the tasks of the runs and from holds on
 * deliveries.
 */
import { LIMITS } from '../../config/limits.js';
import type { Waiting } from '../../contract/fields/wait-reason.js';
import type { WaitKind } from '../../contract/states.js';
import type { RunHistory, RunRecord } from '../../ports/stores/store.js';
import type { RunService } from '../../runtime/services/workflow-service.js';
import { presentWaiting } from '../presenters/waits/waiting.js';
import type { RunReads } from './reads.js';

type Waits = Pick<RunService, 'waits'>;

async function presentWaits(service: Waits, runs: Parameters<Waits['waits']>[0]): Promise<ReadonlyMap<string, Waiting>> {
  return new Map([...(await service.waits(runs))].map(([runKey, wait]) => [runKey, presentWaiting(wait)]));
}

type RunsOfInstance = { readonly instanceId: string; readonly runs: readonly RunRecord[] };

/** Returns the active runs among these with their first tasks. Reads the tasks of all of them at once. */
async function openRuns(
  reads: Pick<RunReads, 'firstTasks'>,
  { instanceId, runs }: RunsOfInstance,
): Promise<Parameters<Waits['waits']>[0]> {
  const active = runs.filter(({ status }) => status === 'active');
  if (active.length === 0) return [];
  const runKeys = active.map(({ key }) => key);
  const tasks = await reads.firstTasks({ instanceId, runKeys, limit: LIMITS.maxWaitTasks });
  return active.map((run) => ({ run, tasks: tasks.get(run.key) ?? [] }));
}

/** Returns why the active runs among these are waiting, by run key. */
export const waitsOfRuns = async (
  reads: Pick<RunReads, 'firstTasks'>,
  service: Waits,
  listed: RunsOfInstance,
): Promise<ReadonlyMap<string, Waiting>> => presentWaits(service, await openRuns(reads, listed));

/** Returns the kind of the reason why the active runs among these are waiting, by run key. */
export async function waitKindsOf(
  reads: Pick<RunReads, 'firstTasks'>,
  service: Waits,
  listed: RunsOfInstance,
): Promise<ReadonlyMap<string, WaitKind>> {
  const waits = await service.waits(await openRuns(reads, listed));
  return new Map([...waits].map(([runKey, { reason }]) => [runKey, reason.kind]));
}

/** Returns why runs are waiting, by run key, from histories that are already read. */
export function waitsOfHistories(
  service: Waits,
  histories: readonly Pick<RunHistory, 'run' | 'tasks'>[],
): Promise<ReadonlyMap<string, Waiting>> {
  return presentWaits(
    service,
    histories.map(({ run, tasks }) => ({ run, tasks: tasks.slice(0, LIMITS.maxWaitTasks) })),
  );
}

/** Returns why a run is waiting, from a history that is already read. */
export async function waitOf(service: Waits, history: Pick<RunHistory, 'run' | 'tasks'>): Promise<Waiting | undefined> {
  return (await waitsOfHistories(service, [history])).get(history.run.key);
}
