/**
 * One round of a repair: what has ended since the last one is noted, the engine decides, that is written, and then what
 * may begin is begun. The pace is written before what it lets begin, so a crash in between makes a repair slower and
 * never faster.
 * Keeps invariant 16.
 */
import {
  type Begin,
  decideRepair,
  type ItemMove,
  type Repair,
  type RepairEvent,
  type RepairTick,
  tickRepair,
} from '../../engine/dead-letters/repair.js';
import type { RepairDriver, RepairRecord } from '../../ports/stores/repair-store.js';
import type { Store } from '../../ports/stores/store.js';
import type { Beginning } from './beginning.js';
import type { RepairWrites } from './repair-writes.js';

/** Started entries that one round looks at. */
const LOOKED_AT = 1_000;
/** Until the next of them are looked at, while some were found to have ended; and when none was. */
const NEXT_LOOK_MS = 50;
const NEXT_VAIN_LOOK_MS = 500;
/** Where nothing has ended for long. */
const MOST_WATCH_MS = 60_000;

export interface DrivingOptions {
  readonly store: Pick<Store, 'repairs'>;
  readonly writes: Pick<RepairWrites, 'put' | 'settle'>;
  readonly now: () => number;
  readonly driver: () => RepairDriver | null;
  readonly beginning: Beginning;
  /** How long, at the longest, until ends of runs are looked for that nobody told of. */
  readonly watchMs: number;
}

interface Looked {
  readonly moves: readonly ItemMove[];
  readonly againAt: number;
  readonly miscounted: boolean;
}

export class Driving {
  private readonly options: DrivingOptions;
  /** Repairs whose counts are as their items are, at this version: nobody but this process has written since. */
  private readonly exact = new Map<string, number>();
  /** Where the look for ended runs goes on. */
  private readonly places = new Map<string, number>();
  /** Unix ms since which no run of a repair was found to have ended. */
  private readonly quietSince = new Map<string, number>();

  constructor(options: DrivingOptions) {
    this.options = options;
  }

  isExact({ repair, version }: RepairRecord): boolean {
    return this.exact.get(repair.repairId) === version;
  }

  /** This process has written it, and its counts are true. */
  noteExact({ repair, version }: RepairRecord): void {
    this.exact.set(repair.repairId, version);
  }

  forget(repairId: string): void {
    this.exact.delete(repairId);
    this.places.delete(repairId);
    this.quietSince.delete(repairId);
  }

  /** As it is afterwards; null when somebody else has decided on it meanwhile. */
  async round(given: RepairRecord): Promise<RepairRecord | null> {
    const { repairId } = given.repair;
    try {
      let record = this.isExact(given) ? given : await this.recounted(given);
      const looked = await this.look(record.repair);
      // Another process has noted ends that this one had still to come to.
      if (looked.miscounted) record = await this.recounted(record);
      const now = this.options.now();
      const tick = tickRepair(
        decidedOn(record.repair, { kind: 'items-moved', moves: looked.miscounted ? [] : looked.moves }, now),
        now,
      );
      const isSame = record === given && looked.moves.length === 0 && tick.repair.phase === given.repair.phase;
      // It was only looked whether a run of it has ended.
      if (isSame && tick.begin === null && given.wakeAt !== null && given.wakeAt > now) return given;
      const written = await this.write(record, tick, looked.againAt);
      return written && (await this.act(written, tick, looked.againAt, now));
    } catch (error) {
      this.forget(repairId);
      throw error;
    }
  }

  private async act(written: RepairRecord, { begin }: RepairTick, againAt: number, now: number): Promise<RepairRecord | null> {
    if (begin === null) return written;
    const begun = await this.begin(written, begin);
    if (begun === null) return null;
    let repair = decidedOn(written.repair, { kind: 'items-moved', moves: begun.moves }, now);
    if (begun.held) repair = decidedOn(repair, { kind: 'held', ...begun.held }, now);
    // By the time of the decision that let them begin: nothing more may begin by it.
    const after = await this.write(written, tickRepair(repair, now), againAt);
    if (begun.miscounted) this.forget(repair.repairId);
    return after;
  }

  private async begin(record: RepairRecord, begin: Begin) {
    const begun = await this.options.beginning.begin(record, begin);
    if (begun === null) this.forget(record.repair.repairId);
    return begun;
  }

  private async write(record: RepairRecord, { repair, wakeAt }: RepairTick, againAt: number): Promise<RepairRecord | null> {
    const { writes, driver } = this.options;
    const wake = repair.counts.started > 0 ? Math.min(wakeAt ?? againAt, againAt) : wakeAt;
    const next = { ...record, repair, wakeAt: wake };
    if (!(await writes.put({ record: next, driver: driver() }))) {
      this.forget(repair.repairId);
      return null;
    }
    const written = { ...next, version: record.version + 1 };
    this.noteExact(written);
    return written;
  }

  /** Its counts as its items say: the process that wrote it may have been killed before it counted. */
  private async recounted(record: RepairRecord): Promise<RepairRecord> {
    const { repair } = record;
    const { all, canary } = await this.options.store.repairs.counts(repair);
    return {
      ...record,
      repair: { ...repair, counts: all, canary: repair.canary && { ...repair.canary, counts: canary } },
    };
  }

  private async look(repair: Repair): Promise<Looked> {
    const { store, writes, now, watchMs } = this.options;
    const { repairId, instanceId, counts } = repair;
    if (counts.started === 0) return { moves: [], againAt: now() + watchMs, miscounted: false };
    const id = { repairId, instanceId };
    const after = this.places.get(repairId) ?? -1;
    const { ended, looked, next } = await store.repairs.endedItems({ ...id, after, limit: LOOKED_AT });
    if (next === null) this.places.delete(repairId);
    else this.places.set(repairId, next);
    const settled = new Set(await writes.settle({ ...id, items: ended, at: now() }));
    const moves = ended
      .filter(({ n }) => settled.has(n))
      .map(({ state: to, canary }): ItemMove => ({ from: 'started', to, canary }));
    if (moves.length > 0 || !this.quietSince.has(repairId)) this.quietSince.set(repairId, now());
    const quietMs = now() - (this.quietSince.get(repairId) ?? now());
    // Runs that sleep for a week need not be looked at each second.
    const restMs = Math.max(watchMs, Math.min(quietMs / 10, MOST_WATCH_MS));
    const againMs = next === null ? restMs : moves.length > 0 ? NEXT_LOOK_MS : NEXT_VAIN_LOOK_MS;
    const miscounted = settled.size < ended.length || (after === -1 && next === null && looked !== counts.started);
    return { moves, againAt: Math.ceil(now() + againMs), miscounted };
  }
}

/** For events that no state refuses, or that only this process brings about in the state that allows them. */
function decidedOn(repair: Repair, event: RepairEvent, now: number): Repair {
  const outcome = decideRepair(repair, event, now);
  return outcome.kind === 'decided' ? outcome.repair : repair;
}
