/**
 * The planning of a repair: the entries that match are frozen, page by page, up to the newest that there was when it
 * began. Each page is one write with the progress, so that a process which goes on after another loses and doubles none.
 */
import { LIMITS } from '../../config/limits.js';
import { decideRepair, type Repair, type RepairPlan, totalOf } from '../../engine/dead-letters/repair.js';
import type {
  NewRepairItem,
  RepairableEntry,
  RepairCohort,
  RepairDriver,
  RepairRecord,
} from '../../ports/stores/repair-store.js';
import type { Store } from '../../ports/stores/store.js';
import type { RepairWrites } from './repair-writes.js';

const PAGE = 500;

export interface FreezingOptions {
  readonly store: Pick<Store, 'listDeadLetterIds' | 'repairs' | 'deadLetterGroups'>;
  readonly writes: Pick<RepairWrites, 'put'>;
  readonly now: () => number;
  readonly driver: () => RepairDriver | null;
}

/** By workflow and fingerprint: how many entries each lane has so far. */
type Lanes = Map<string, RepairCohort>;

const laneKey = ({ workflowUrl, fingerprint }: Pick<RepairCohort, 'workflowUrl' | 'fingerprint'>): string =>
  `${fingerprint ?? ''} ${workflowUrl}`;

export class Freezing {
  private readonly options: FreezingOptions;
  private readonly counted = new Map<string, Lanes>();

  constructor(options: FreezingOptions) {
    this.options = options;
  }

  /** One page. Null when somebody else has decided on it. */
  async step(record: RepairRecord): Promise<RepairRecord | null> {
    const { store, writes, driver, now } = this.options;
    const { repair, filter, freezing } = record;
    const { instanceId, repairId } = repair;
    if (freezing === null) throw new Error(`the repair ${repairId} is being planned, and does not say how far it is`);
    const frozen = totalOf(repair.counts);
    const room = LIMITS.repairMaxItems - frozen;
    const lanes = this.counted.get(repairId) ?? (await this.recount(repair));
    // What is counted counts when it is written.
    this.counted.delete(repairId);
    const { after, horizon } = freezing;
    const limit = Math.min(PAGE, room);
    const page = await store.listDeadLetterIds({ instanceId, filter, order: 'oldest-first', after, horizon, limit });
    const entries = await store.repairs.describe({ instanceId, dlqIds: page.items });
    const items = entries.map((entry, index) => itemOf(entry, frozen + index, lanes));
    const counts = { ...repair.counts, pending: repair.counts.pending + items.length };
    const next = { ...record, repair: { ...repair, counts, plan: grown(repair.plan, entries) } };
    const full = items.length === room && page.next !== null;
    const done = page.next === null || full;
    const written = done
      ? await this.finished(next, lanes, full)
      : { ...next, freezing: { after: page.next, horizon }, wakeAt: now() };
    if (!(await writes.put({ record: written, driver: driver(), items }))) return null;
    if (!done) this.counted.set(repairId, lanes);
    return { ...written, version: record.version + 1 };
  }

  private async recount(repair: Repair): Promise<Lanes> {
    const lanes = await this.options.store.repairs.lanes(repair);
    return new Map(lanes.map((lane) => [laneKey(lane), lane]));
  }

  private async finished(record: RepairRecord, lanes: Lanes, more: boolean): Promise<RepairRecord> {
    const { store, now } = this.options;
    const { instanceId } = record.repair;
    const workflows = mostFrequent(lanes, ({ workflowUrl }) => workflowUrl);
    const fingerprints = mostFrequent(lanes, ({ fingerprint }) => fingerprint);
    const groups = await Promise.all(
      fingerprints.map(async ([fingerprint, count]) => {
        const group = await store.deadLetterGroups.find({ instanceId, fingerprint, now: now() });
        return { fingerprint, message: group?.message ?? '', count };
      }),
    );
    const plan: RepairPlan = {
      ...record.repair.plan,
      workflows: workflows.map(([workflowUrl, count]) => ({ workflowUrl, count })),
      groups,
      more,
    };
    const outcome = decideRepair({ ...record.repair, plan }, { kind: 'frozen' }, now());
    if (outcome.kind === 'refused') throw new Error(outcome.message);
    return { ...record, repair: outcome.repair, freezing: null, wakeAt: null };
  }
}

/** As many as a plan shows, with their counts. */
function mostFrequent(lanes: Lanes, nameOf: (lane: RepairCohort) => string | null): readonly (readonly [string, number])[] {
  const sums = new Map<string, number>();
  for (const lane of lanes.values()) {
    const name = nameOf(lane);
    if (name !== null) sums.set(name, (sums.get(name) ?? 0) + lane.count);
  }
  return [...sums].sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1)).slice(0, LIMITS.repairPlanRows);
}

function itemOf(entry: RepairableEntry, n: number, lanes: Lanes): NewRepairItem {
  const { dlqId, runKey, workflowRunId, workflowUrl, fingerprint } = entry;
  const key = laneKey(entry);
  const rank = lanes.get(key)?.count ?? 0;
  lanes.set(key, { workflowUrl, fingerprint, count: rank + 1 });
  return { n, dlqId, runKey, workflowRunId, workflowUrl, fingerprint, rank: rank < LIMITS.repairMaxCanary ? rank : null };
}

function grown(plan: RepairPlan, entries: readonly RepairableEntry[]): RepairPlan {
  let { oldestAt, newestAt, recordedSteps } = plan;
  for (const { failedAt, steps } of entries) {
    oldestAt = Math.min(oldestAt ?? failedAt, failedAt);
    newestAt = Math.max(newestAt ?? failedAt, failedAt);
    recordedSteps += steps;
  }
  return { ...plan, oldestAt, newestAt, recordedSteps };
}
