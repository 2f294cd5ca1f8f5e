/**
 * One round of a repair: records the runs that have ended, lets the engine decide, writes the decision, and then starts the
 * entries that it admits. The pace is written before the entries that it admits, so a crash in between makes a repair slower
 * and never faster.
 * Keeps invariant 16.
 */
import {
  type AdmittedStarts,
  decideRepair,
  type ItemMove,
  type Repair,
  type RepairEvent,
  type RepairTick,
  tickRepair,
} from '../../engine/dead-letters/repair.js';
import type { RepairDriver, RepairRecord, RepairStore } from '../../ports/stores/repair-store.js';
import type { EntryStarter } from './entry-starter.js';
import type { RepairWrites } from './repair-writes.js';

/** Maximum number of started entries that one round examines. */
const MAX_EXAMINED = 1_000;
/** Delay until the next runs are examined: `NEXT_CHECK_MS` if some had ended, `NEXT_IDLE_CHECK_MS` if none had. */
const NEXT_CHECK_MS = 50;
const NEXT_IDLE_CHECK_MS = 500;
/** Maximum delay if no run has ended for a long time. */
const MAX_WATCH_MS = 60_000;

export interface RepairRoundsOptions {
  readonly repairs: RepairStore;
  readonly writes: Pick<RepairWrites, 'put' | 'settle'>;
  readonly now: () => number;
  readonly driver: () => RepairDriver | null;
  readonly starter: EntryStarter;
  /** Maximum delay until an end without a notification is found. */
  readonly watchMs: number;
}

/** The ends of runs that a round has recorded. */
interface RecordedEnds {
  readonly moves: readonly ItemMove[];
  /** Time of the next check, Unix ms. */
  readonly nextCheckAt: number;
  /** Whether the counts of the repair differ from its items. */
  readonly isMiscounted: boolean;
}

export class RepairRounds {
  private readonly options: RepairRoundsOptions;
  /**
   * Versions of repairs at which their counts equal their items, because only this process has written since. A repair is absent
   * while one of its rounds changes items.
   */
  private readonly exactVersions = new Map<string, number>();
  /** Position at which the search for ended runs continues. */
  private readonly searchPositions = new Map<string, number>();
  /** Time since which no run of a repair has ended, Unix ms. */
  private readonly quietSince = new Map<string, number>();

  constructor(options: RepairRoundsOptions) {
    this.options = options;
  }

  isExact({ repair, version }: RepairRecord): boolean {
    return this.exactVersions.get(repair.repairId) === version;
  }

  /** Called when this process has written the repair, and its counts are exact. */
  recordExact({ repair, version }: RepairRecord): void {
    this.exactVersions.set(repair.repairId, version);
  }

  forget(repairId: string): void {
    this.exactVersions.delete(repairId);
    this.searchPositions.delete(repairId);
    this.quietSince.delete(repairId);
  }

  /** Returns the repair after the round; null if another process changed it in the meantime. */
  async round(previous: RepairRecord): Promise<RepairRecord | null> {
    const { repairId } = previous.repair;
    try {
      const isExact = this.isExact(previous);
      this.exactVersions.delete(repairId);
      let record = isExact ? previous : await this.recount(previous);
      const ends = await this.recordEnds(record.repair);
      // Another process recorded ends that this one had not reached.
      if (ends.isMiscounted) record = await this.recount(record);
      const now = this.options.now();
      const updatedRepair = applyEvent(record.repair, { kind: 'items-moved', moves: ends.isMiscounted ? [] : ends.moves }, now);
      const tick = tickRepair(await this.addGroupCounts(updatedRepair), now);
      const isUnchanged = record === previous && ends.moves.length === 0 && tick.repair.phase === previous.repair.phase;
      // The round only checked whether a run has ended.
      if (isUnchanged && tick.starts === null && previous.wakeAt !== null && previous.wakeAt > now) {
        this.recordExact(previous);
        return previous;
      }
      const writtenRecord = await this.write(record, tick, ends.nextCheckAt);
      return writtenRecord && (await this.startAdmitted(writtenRecord, tick, ends.nextCheckAt, now));
    } catch (error) {
      this.forget(repairId);
      throw error;
    }
  }

  /** Starts the entries that the tick admits. Returns the repair after that; null if another process changed it. */
  private async startAdmitted(
    writtenRecord: RepairRecord,
    { starts }: RepairTick,
    nextCheckAt: number,
    now: number,
  ): Promise<RepairRecord | null> {
    if (starts === null) return writtenRecord;
    const startedEntries = await this.start(writtenRecord, starts);
    if (startedEntries === null) return null;
    let repair = applyEvent(writtenRecord.repair, { kind: 'items-moved', moves: startedEntries.moves }, now);
    if (startedEntries.limit) repair = applyEvent(repair, { kind: 'held', ...startedEntries.limit }, now);
    // Uses the time of the decision that admitted the entries, so that it admits no more.
    const updatedRecord = await this.write(writtenRecord, tickRepair(await this.addGroupCounts(repair), now), nextCheckAt);
    if (startedEntries.isMiscounted) this.forget(repair.repairId);
    return updatedRecord;
  }

  /** Adds the counts of each group of the canary, which decide when to stop. */
  private async addGroupCounts(repair: Repair): Promise<Repair> {
    const { phase, canary } = repair;
    if (phase !== 'canary' || canary === null) return repair;
    return { ...repair, canary: { ...canary, groups: await this.options.repairs.canaryGroups(repair) } };
  }

  private async start(record: RepairRecord, starts: AdmittedStarts) {
    this.exactVersions.delete(record.repair.repairId);
    const startedEntries = await this.options.starter.start(record, starts);
    if (startedEntries === null) this.forget(record.repair.repairId);
    return startedEntries;
  }

  private async write(record: RepairRecord, { repair, wakeAt }: RepairTick, nextCheckAt: number): Promise<RepairRecord | null> {
    const { writes, driver } = this.options;
    const nextWakeAt = repair.counts.started > 0 ? Math.min(wakeAt ?? nextCheckAt, nextCheckAt) : wakeAt;
    const nextRecord = { ...record, repair, wakeAt: nextWakeAt };
    if (!(await writes.put({ record: nextRecord, driver: driver() }))) {
      this.forget(repair.repairId);
      return null;
    }
    const writtenRecord = { ...nextRecord, version: record.version + 1 };
    this.recordExact(writtenRecord);
    return writtenRecord;
  }

  /** Counts the items again, because the process that wrote them may have been killed before it counted. */
  private async recount(record: RepairRecord): Promise<RepairRecord> {
    const { repair } = record;
    const { all, canary } = await this.options.repairs.counts(repair);
    return {
      ...record,
      repair: { ...repair, counts: all, canary: repair.canary && { ...repair.canary, counts: canary } },
    };
  }

  private async recordEnds(repair: Repair): Promise<RecordedEnds> {
    const { repairs, writes, now, watchMs } = this.options;
    const { repairId, instanceId, counts } = repair;
    if (counts.started === 0) return { moves: [], nextCheckAt: now() + watchMs, isMiscounted: false };
    const id = { repairId, instanceId };
    const after = this.searchPositions.get(repairId) ?? -1;
    const { ended, examined, next } = await repairs.endedItems({ ...id, after, limit: MAX_EXAMINED });
    if (next === null) this.searchPositions.delete(repairId);
    else this.searchPositions.set(repairId, next);
    const settledIndexes = new Set(await writes.settle({ ...id, items: ended, at: now() }));
    const moves = ended
      .filter(({ n }) => settledIndexes.has(n))
      .map(({ state: to, canary: isCanary }): ItemMove => ({ from: 'started', to, isCanary }));
    if (moves.length > 0 || !this.quietSince.has(repairId)) this.quietSince.set(repairId, now());
    const quietMs = now() - (this.quietSince.get(repairId) ?? now());
    // Runs that sleep for a week need no check every second.
    const idleCheckMs = Math.max(watchMs, Math.min(quietMs / 10, MAX_WATCH_MS));
    const nextCheckMs = next === null ? idleCheckMs : moves.length > 0 ? NEXT_CHECK_MS : NEXT_IDLE_CHECK_MS;
    const isMiscounted = settledIndexes.size < ended.length || (after === -1 && next === null && examined !== counts.started);
    return { moves, nextCheckAt: Math.ceil(now() + nextCheckMs), isMiscounted };
  }
}

/** Applies an event that the current state always accepts. */
function applyEvent(repair: Repair, event: RepairEvent, now: number): Repair {
  const outcome = decideRepair(repair, event, now);
  return outcome.kind === 'decided' ? outcome.repair : repair;
}
