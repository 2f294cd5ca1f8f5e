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

type WaitService = Pick<RunService, 'waits'>;

async function presentWaits(
  service: WaitService,
  runs: Parameters<WaitService['waits']>[0],
): Promise<ReadonlyMap<string, Waiting>> {
  return new Map([...(await service.waits(runs))].map(([runKey, wait]) => [runKey, presentWaiting(wait)]));
}

type RunsOfInstance = { readonly instanceId: string; readonly runs: readonly RunRecord[] };

/** Returns the active runs with their first tasks. Reads the tasks of all of them in one query. */
async function readActiveRuns(
  reads: Pick<RunReads, 'firstTasks'>,
  { instanceId, runs }: RunsOfInstance,
): Promise<Parameters<WaitService['waits']>[0]> {
  const activeRuns = runs.filter(({ status }) => status === 'active');
  if (activeRuns.length === 0) return [];
  const runKeys = activeRuns.map(({ key }) => key);
  const tasks = await reads.firstTasks({ instanceId, runKeys, limit: LIMITS.maxWaitTasks });
  return activeRuns.map((run) => ({ run, tasks: tasks.get(run.key) ?? [] }));
}

/** Returns the reasons why the active runs are waiting, by run key. */
export const waitsOfRuns = async (
  reads: Pick<RunReads, 'firstTasks'>,
  service: WaitService,
  runsOfInstance: RunsOfInstance,
): Promise<ReadonlyMap<string, Waiting>> => presentWaits(service, await readActiveRuns(reads, runsOfInstance));

/** Returns the kinds of the reasons why the active runs are waiting, by run key. */
export async function waitKindsOf(
  reads: Pick<RunReads, 'firstTasks'>,
  service: WaitService,
  runsOfInstance: RunsOfInstance,
): Promise<ReadonlyMap<string, WaitKind>> {
  const waits = await service.waits(await readActiveRuns(reads, runsOfInstance));
  return new Map([...waits].map(([runKey, { reason }]) => [runKey, reason.kind]));
}

/** Returns the reasons why runs are waiting, by run key, from histories that were already read. */
export function waitsOfHistories(
  service: WaitService,
  histories: readonly Pick<RunHistory, 'run' | 'tasks'>[],
): Promise<ReadonlyMap<string, Waiting>> {
  return presentWaits(
    service,
    histories.map(({ run, tasks }) => ({ run, tasks: tasks.slice(0, LIMITS.maxWaitTasks) })),
  );
}

/** Returns the reason why a run is waiting, from a history that was already read. */
export async function waitOf(service: WaitService, history: Pick<RunHistory, 'run' | 'tasks'>): Promise<Waiting | undefined> {
  return (await waitsOfHistories(service, [history])).get(history.run.key);
}
