/**
 * The planning of a repair: the entries that match are frozen, page by page, up to the newest that there was when it
 * began. Each page is one write with the progress, so that a process which goes on after another loses and doubles none.
 */
import { LIMITS } from '../../config/limits.js';
import { decideRepair, type Repair, type RepairPlan, totalOf } from '../../engine/repair.js';
import type { NewRepairItem, RepairableEntry, RepairDriver, RepairRecord } from '../../ports/repair-store.js';
import type { Store } from '../../ports/store.js';

const PAGE = 1_000;

export interface FreezingOptions {
  readonly store: Pick<Store, 'listDeadLetterIds' | 'repairs'>;
  readonly now: () => number;
  readonly driver: () => RepairDriver | null;
}

export class Freezing {
  private readonly options: FreezingOptions;
  /** How many entries each workflow has so far, by repair. */
  private readonly counted = new Map<string, Map<string, number>>();

  constructor(options: FreezingOptions) {
    this.options = options;
  }

  /** One page. Null when somebody else has decided on it. */
  async step(record: RepairRecord): Promise<RepairRecord | null> {
    const { store, driver } = this.options;
    const { repair, filter, freezing } = record;
    const { instanceId, repairId } = repair;
    if (freezing === null) return this.finish(record, false);
    const frozen = totalOf(repair.counts);
    const room = LIMITS.repairMaxItems - frozen;
    const workflows = this.counted.get(repairId) ?? (await this.recount(repair));
    const { after, horizon } = freezing;
    const limit = Math.min(PAGE, room);
    const page = await store.listDeadLetterIds({ instanceId, filter, order: 'oldest-first', after, horizon, limit });
    const entries = await store.repairs.describe({ instanceId, dlqIds: page.items });
    const items = entries.map((entry, index) => itemOf(entry, frozen + index, workflows));
    const counts = { ...repair.counts, pending: repair.counts.pending + items.length };
    const next = { ...record, repair: { ...repair, counts, plan: grown(repair.plan, entries) } };
    const full = items.length === room && page.next !== null;
    const done = page.next === null || full;
    const written = done
      ? finished(next, workflows, full)
      : { ...next, freezing: { after: page.next, horizon }, wakeAt: this.options.now() };
    // What was counted counts when it is written.
    this.counted.delete(repairId);
    if (!(await store.repairs.put({ record: written, driver: driver(), items }))) return null;
    if (!done) this.counted.set(repairId, workflows);
    return { ...written, version: record.version + 1 };
  }

  private async finish(record: RepairRecord, more: boolean): Promise<RepairRecord | null> {
    const { store, driver } = this.options;
    const written = finished(record, await this.recount(record.repair), more);
    return (await store.repairs.put({ record: written, driver: driver() })) ? { ...written, version: record.version + 1 } : null;
  }

  private async recount(repair: Repair): Promise<Map<string, number>> {
    const rows = await this.options.store.repairs.workflows(repair);
    return new Map(rows.map(({ workflowUrl, count }) => [workflowUrl, count]));
  }
}

function itemOf(entry: RepairableEntry, n: number, workflows: Map<string, number>): NewRepairItem {
  const { dlqId, runKey, workflowRunId, workflowUrl } = entry;
  const place = workflows.get(workflowUrl) ?? 0;
  workflows.set(workflowUrl, place + 1);
  return { n, dlqId, runKey, workflowRunId, workflowUrl, rank: place < LIMITS.repairMaxCanary ? place : null };
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

function finished(record: RepairRecord, workflows: ReadonlyMap<string, number>, more: boolean): RepairRecord {
  const rows = [...workflows]
    .map(([workflowUrl, count]) => ({ workflowUrl, count }))
    .sort((a, b) => b.count - a.count || (a.workflowUrl < b.workflowUrl ? -1 : 1))
    .slice(0, LIMITS.repairPlanRows);
  const repair = { ...record.repair, plan: { ...record.repair.plan, workflows: rows, more } };
  const outcome = decideRepair(repair, { kind: 'frozen' }, 0);
  if (outcome.kind === 'refused') throw new Error(outcome.message);
  return { ...record, repair: outcome.repair, freezing: null, wakeAt: null };
}
