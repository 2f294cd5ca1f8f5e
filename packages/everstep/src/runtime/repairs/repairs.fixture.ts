/** Dead letters of several workflows, and endpoints that a test can repair. */
import type { StepReply } from '@everstep/sdk/protocol';
import type { RepairAction, StartSettings } from '../../engine/dead-letters/repair.js';
import type { StepCall } from '../../ports/step-caller.js';
import type { RepairDriver, RepairRecord } from '../../ports/stores/repair-store.js';
import type { Store } from '../../ports/stores/store.js';
import { type Bench, progress, settle } from '../runtime.fixture.js';
import type { RepairChange } from '../services/workflow-service.js';

export const INSTANCE = { instanceId: 'qi_1' };
export const FAST_START: StartSettings = { ratePerSecond: 1_000, canary: null, undoMs: 0 };

/** Endpoints with two steps. The second step fails permanently while they are broken. */
export class Endpoints {
  isBroken: (url: string) => boolean = () => true;
  /** Error message of a run. */
  message: (runId: string) => string = () => 'broken';
  /** Ids of the finished runs. */
  readonly finished: string[] = [];
  readonly respond = ({ request, workflowUrl }: StepCall): StepReply => {
    const base = request.journal.length;
    const first = { stepId: 1, name: 'first', type: 'Run' as const, out: '1' };
    const done = base === 0 ? [first] : [];
    if (this.isBroken(workflowUrl))
      return {
        protocol: 1,
        kind: 'failed',
        base,
        done,
        error: { name: 'Error', message: this.message(request.run.id) },
        retry: { kind: 'never' },
      };
    this.finished.push(request.run.id);
    return progress(request, {
      done: [...done, { stepId: 2, name: 'second', type: 'Run', out: '2' }],
      end: { kind: 'finished', result: '2' },
    });
  };
}

/** Starts this number of runs for each URL; all end in the DLQ. */
export async function failRuns(bench: Bench, counts: Readonly<Record<string, number>>): Promise<void> {
  for (const [workflowUrl, count] of Object.entries(counts)) for (let i = 0; i < count; i++) await bench.trigger({ workflowUrl });
  await settle();
}

export async function plan(
  bench: Pick<Bench, 'runtime'>,
  action: RepairAction,
  filter = {},
  overrides = {},
): Promise<RepairRecord> {
  const planned = await bench.runtime.repairs.plan({
    ...INSTANCE,
    action,
    filter: { kind: 'workflow', ...filter },
    overrides,
    createdBy: 'a@b.c',
  });
  if (planned === 'too-many-repairs') throw new Error(planned);
  return planned;
}

export async function change(
  bench: Pick<Bench, 'runtime'>,
  { repair }: RepairRecord,
  change: RepairChange,
): Promise<RepairRecord> {
  const outcome = await bench.runtime.repairs.change({ ...INSTANCE, repairId: repair.repairId, change });
  if (outcome.kind !== 'changed') throw new Error(`${change.kind}: ${JSON.stringify(outcome)}`);
  return outcome.record;
}

export const start = (bench: Pick<Bench, 'runtime'>, record: RepairRecord, settings: StartSettings): Promise<RepairRecord> =>
  change(bench, record, { kind: 'start', settings });

/** Advances the clock in short steps, each until the runtime is idle. */
export async function passTime(bench: Pick<Bench, 'clock' | 'runtime'>, ms: number, stepMs = 50): Promise<void> {
  for (let passed = 0; passed < ms; passed += stepMs) {
    await bench.runtime.idle();
    await settle();
    bench.clock.move(stepMs);
    await bench.runtime.idle();
  }
}

export async function currentRepair(bench: Pick<Bench, 'store'>, { repair }: RepairRecord): Promise<RepairRecord['repair']> {
  const record = await bench.store.repairs.find({ ...INSTANCE, repairId: repair.repairId });
  if (!record) throw new Error('the repair is gone');
  return record.repair;
}

export async function itemsOf(bench: Pick<Bench, 'store'>, { repair }: RepairRecord) {
  return (await bench.store.repairs.items({ ...INSTANCE, repairId: repair.repairId, after: -1, limit: 1_000 })).items;
}

export async function deadLetterIdsOf(bench: Pick<Bench, 'store'>): Promise<readonly string[]> {
  const page = { ...INSTANCE, filter: {}, order: 'oldest-first', after: null, horizon: null, limit: 1_000 } as const;
  return (await bench.store.listDeadLetterIds(page)).items;
}

/**
 * Returns the store with leases for its repairs, as in a store that several nodes share. `nextAt` is exact for a single repair.
 * A lease is renewed only by `renewLeases`, `put` and a claim that returns the repair.
 */
export function withLeases(store: Store): Store {
  const { repairs } = store;
  const leases = new Map<string, RepairDriver>();
  const note = (repairId: string, driver: RepairDriver | null): void => void (driver && leases.set(repairId, driver));
  return {
    ...store,
    repairs: {
      ...repairs,
      async create(query) {
        note(query.record.repair.repairId, query.driver);
        return repairs.create(query);
      },
      async put(query) {
        const isWritten = await repairs.put(query);
        if (isWritten) note(query.record.repair.repairId, query.driver);
        return isWritten;
      },
      async claimDue({ driver, ...query }) {
        const { before } = query;
        const dueRepairs = await repairs.claimDue({ ...query, driver: null });
        const freeRepairs = dueRepairs.filter(({ repair: { repairId } }) => {
          const lease = leases.get(repairId);
          return !lease || lease.nodeId === driver?.nodeId || lease.until <= before;
        });
        for (const { repair } of freeRepairs) note(repair.repairId, driver);
        return freeRepairs;
      },
      async renewLeases({ repairIds, driver }) {
        for (const { repairId } of repairIds) if (leases.get(repairId)?.nodeId === driver.nodeId) note(repairId, driver);
      },
      async nextAt({ nodeId, after }) {
        const [lease] = leases.values();
        if (!lease || lease.nodeId === nodeId) return repairs.nextAt({ nodeId, after });
        const at = await repairs.nextAt({ nodeId, after: -1 });
        return at === null ? null : Math.max(at, lease.until);
      },
    },
  };
}
