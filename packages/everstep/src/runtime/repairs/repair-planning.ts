/**
 * Plans a repair: freezes the matching entries page by page, up to the newest one that existed when planning started. Each page
 * is written together with the progress, so that no entry is lost or duplicated if another process continues. If the plan is
 * aborted, its entries are removed in the same way.
 */
import { LIMITS } from '../../config/limits.js';
import { decideRepair, type Repair, type RepairPlan, totalOf } from '../../engine/dead-letters/repair.js';
import type { DeadLetterGroupStore } from '../../ports/stores/dead-letter-groups.js';
import type { DeadLetterStore } from '../../ports/stores/dead-letter-store.js';
import type {
  NewRepairItem,
  RepairableEntry,
  RepairCohort,
  RepairDriver,
  RepairRecord,
  RepairStore,
} from '../../ports/stores/repair-store.js';
import type { RepairWrites } from './repair-writes.js';

const PAGE_SIZE = 500;

export interface EntryFreezerOptions {
  readonly store: DeadLetterStore & { readonly deadLetterGroups: Pick<DeadLetterGroupStore, 'find'> };
  readonly repairs: RepairStore;
  readonly writes: Pick<RepairWrites, 'put'>;
  readonly now: () => number;
  readonly driver: () => RepairDriver | null;
}

/** Number of entries of each cohort so far, by workflow and fingerprint. */
type Cohorts = Map<string, RepairCohort>;

const cohortKey = ({ workflowUrl, fingerprint }: Pick<RepairCohort, 'workflowUrl' | 'fingerprint'>): string =>
  `${fingerprint ?? ''} ${workflowUrl}`;

export class EntryFreezer {
  private readonly options: EntryFreezerOptions;
  private readonly countedCohorts = new Map<string, Cohorts>();

  constructor(options: EntryFreezerOptions) {
    this.options = options;
  }

  /** Freezes one page. Returns null if another process changed the repair. */
  async step(record: RepairRecord): Promise<RepairRecord | null> {
    const { store, repairs, writes, driver, now } = this.options;
    const { repair, filter, freezing } = record;
    const { instanceId, repairId } = repair;
    if (freezing === null) throw new Error(`the repair ${repairId} is being planned, but has no progress`);
    const frozenCount = totalOf(repair.counts);
    const remainingCapacity = LIMITS.repairMaxItems - frozenCount;
    const cohorts = this.countedCohorts.get(repairId) ?? (await this.recount(repair));
    // The counts are valid only once they are written.
    this.countedCohorts.delete(repairId);
    const { after, horizon } = freezing;
    const limit = Math.min(PAGE_SIZE, remainingCapacity);
    const page = await store.listDeadLetterIds({ instanceId, filter, order: 'oldest-first', after, horizon, limit });
    const entries = await repairs.describe({ instanceId, dlqIds: page.items });
    const items = entries.map((entry, index) => itemOf(entry, frozenCount + index, cohorts));
    const counts = { ...repair.counts, pending: repair.counts.pending + items.length };
    const nextRecord = { ...record, repair: { ...repair, counts, plan: extendPlan(repair.plan, entries) } };
    const isFull = items.length === remainingCapacity && page.next !== null;
    const isDone = page.next === null || isFull;
    const recordToWrite = isDone
      ? await this.finishPlan(nextRecord, cohorts, isFull)
      : { ...nextRecord, freezing: { after: page.next, horizon }, wakeAt: now() };
    if (!(await writes.put({ record: recordToWrite, driver: driver(), items }))) return null;
    if (!isDone) this.countedCohorts.set(repairId, cohorts);
    return { ...recordToWrite, version: record.version + 1 };
  }

  /** Removes frozen entries of an aborted plan. Returns null if another process changed the repair. */
  async discard(record: RepairRecord): Promise<RepairRecord | null> {
    const { repairs, writes, driver } = this.options;
    const { instanceId, repairId } = record.repair;
    this.countedCohorts.delete(repairId);
    if ((await repairs.removeItems({ instanceId, repairId, limit: PAGE_SIZE })) === PAGE_SIZE) return record;
    const discardedRecord = { ...record, freezing: null, wakeAt: null };
    if (!(await writes.put({ record: discardedRecord, driver: driver() }))) return null;
    return { ...discardedRecord, version: record.version + 1 };
  }

  private async recount(repair: Repair): Promise<Cohorts> {
    const cohorts = await this.options.repairs.cohorts(repair);
    return new Map(cohorts.map((cohort) => [cohortKey(cohort), cohort]));
  }

  private async finishPlan(record: RepairRecord, cohorts: Cohorts, hasMore: boolean): Promise<RepairRecord> {
    const { store, now } = this.options;
    const { instanceId } = record.repair;
    const workflows = mostFrequent(cohorts, ({ workflowUrl }) => workflowUrl);
    const fingerprints = mostFrequent(cohorts, ({ fingerprint }) => fingerprint);
    const groups = await Promise.all(
      fingerprints.map(async ([fingerprint, count]) => {
        const group = await store.deadLetterGroups.find({ instanceId, fingerprint, now: now() });
        return { fingerprint, message: group?.latest?.message ?? group?.message ?? '', count };
      }),
    );
    const plan: RepairPlan = {
      ...record.repair.plan,
      workflows: workflows.map(([workflowUrl, count]) => ({ workflowUrl, count })),
      groups,
      more: hasMore,
    };
    const outcome = decideRepair({ ...record.repair, plan }, { kind: 'frozen' }, now());
    if (outcome.kind === 'refused') throw new Error(outcome.message);
    return { ...record, repair: outcome.repair, freezing: null, wakeAt: null };
  }
}

/** Returns the names that a plan shows, with their counts. */
function mostFrequent(cohorts: Cohorts, nameOf: (cohort: RepairCohort) => string | null): readonly (readonly [string, number])[] {
  const sums = new Map<string, number>();
  for (const cohort of cohorts.values()) {
    const name = nameOf(cohort);
    if (name !== null) sums.set(name, (sums.get(name) ?? 0) + cohort.count);
  }
  return [...sums].sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1)).slice(0, LIMITS.repairPlanRows);
}

function itemOf(entry: RepairableEntry, n: number, cohorts: Cohorts): NewRepairItem {
  const { dlqId, runKey, workflowRunId, workflowUrl, fingerprint } = entry;
  const key = cohortKey(entry);
  const rank = cohorts.get(key)?.count ?? 0;
  cohorts.set(key, { workflowUrl, fingerprint, count: rank + 1 });
  return { n, dlqId, runKey, workflowRunId, workflowUrl, fingerprint, rank: rank < LIMITS.repairMaxCanary ? rank : null };
}

function extendPlan(plan: RepairPlan, entries: readonly RepairableEntry[]): RepairPlan {
  let { oldestAt, newestAt, recordedSteps } = plan;
  for (const { failedAt, steps } of entries) {
    oldestAt = Math.min(oldestAt ?? failedAt, failedAt);
    newestAt = Math.max(newestAt ?? failedAt, failedAt);
    recordedSteps += steps;
  }
  return { ...plan, oldestAt, newestAt, recordedSteps };
}
