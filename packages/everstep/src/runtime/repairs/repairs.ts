/**
 * Drives repairs and executes commands on them. The store contains the time of the next action of each repair; one timer is set
 * to the earliest. A repair is driven once at a time, and neither waits for other repairs nor delays commands. A change in the
 * meantime, by a command or by another process, is detected by the version of the repair, which is then read again.
 * Keeps invariant 16.
 */

import { runOutsideRequest } from '../../audit/audited-request.js';
import { LIMITS } from '../../config/limits.js';
import {
  decideRepair,
  isDiscardedPlan,
  isOver,
  newRepair,
  type Repair,
  type RepairEvent,
  type RepairOutcome,
} from '../../engine/dead-letters/repair.js';
import { type DecisionContext, newId } from '../../engine/ids.js';
import type { CommitResult, CommitUnit } from '../../engine/writes.js';
import { RoundRobin } from '../../fairness/round-robin.js';
import type { Clock } from '../../ports/clock.js';
import type { Cluster } from '../../ports/cluster.js';
import type { Log } from '../../ports/log.js';
import { type InstanceOwners, ONE_OWNER } from '../../ports/stores/instance-owners.js';
import type { RepairDriver, RepairId, RepairRecord, RepairStore } from '../../ports/stores/repair-store.js';
import type { StoreWritesState } from '../../ports/stores/store-writes.js';
import type {
  PlanRepairCommand,
  RepairChange,
  RepairChangeCommand,
  RepairChangeOutcome,
  RepairService,
} from '../interface/repairs.js';
import { EntryStarter, type EntryStarterOptions } from './entry-starter.js';
import { EntryFreezer, type EntryFreezerOptions } from './repair-planning.js';
import { RepairRounds } from './repair-rounds.js';
import { RepairWrites } from './repair-writes.js';

/** Maximum number of due repairs of one account that are driven at the same time. */
const MAX_DRIVEN_REPAIRS = 5;
/** Maximum number of due repairs that a round reads to choose from. */
const MAX_DUE_REPAIRS = 100;
/** The same maximum for one queue instance: one more than an account can have driven, so that a round notices that some wait. */
const MAX_DUE_REPAIRS_OF_INSTANCE = MAX_DRIVEN_REPAIRS + 1;
const RETRY_AFTER_FAULT_MS = 1_000;
/** A request to plan receives its response after at most this time, while planning continues. */
const PLANNED_WITHIN_MS = 2_000;
/** Delay after the end of a run, so that simultaneous ends are handled together. */
const AFTER_END_MS = 100;
/** Maximum time until an end without a notification is found. */
const WATCH_MS = 15_000;
/** The same maximum if other processes also end runs and start repairs. */
const WATCH_OTHERS_MS = 1_000;
/** Lease of a repair; other processes take it over when it expires. Rounds renew it when less than half of it remains. */
const LEASE_MS = 5_000;
const MAX_TRIES = 20;

export interface RepairsOptions extends Omit<EntryStarterOptions, 'now' | 'commit'> {
  /** Like `RunStarts.commit`. Rejects if the signal is aborted before the unit is complete. */
  readonly commit: (unit: CommitUnit, signal: AbortSignal) => Promise<CommitResult>;
  readonly store: EntryFreezerOptions['store'];
  readonly repairs: RepairStore;
  /** Reports a change of a repair or of its dead letters. */
  readonly reportChange: (instanceId: string, topic: 'repairs' | 'dlq') => void;
  readonly clock: Clock;
  readonly log: Log;
  readonly context: () => DecisionContext;
  readonly cluster: Pick<Cluster, 'nodeId' | 'canStartWork'> | null;
  /** The accounts that take turns. If absent, all repairs belong to one account. */
  readonly owners?: InstanceOwners;
  /** No repair continues while this is closed. Call `scheduleRound` when it opens. */
  readonly writes: StoreWritesState;
}

/** A repair that is not driven now, because it is being driven or has failed. */
interface BusyRepair {
  readonly instanceId: string;
  /** When it can be driven again, Unix ms; infinite while it is being driven. */
  readonly until: number;
  /** Whether its runs must be checked as soon as it can be driven: one may have ended, or the check has failed. */
  hasMissedEnd: boolean;
  /** Whether a command has changed it while it was being driven. */
  hasMissedChange: boolean;
}

export class Repairs implements RepairService {
  private readonly options: RepairsOptions;
  private readonly writes: RepairWrites;
  private readonly freezer: EntryFreezer;
  private readonly rounds: RepairRounds;
  private readonly turns: RoundRobin;
  /** Repairs of this process with active runs. They are checked early when a run ends. */
  private readonly watchedRepairs = new Map<string, RepairRecord>();
  /** Functions that end the wait for a plan, by repair. */
  private readonly planWaiters = new Map<string, (record: RepairRecord | null) => void>();
  private wakeAt = Number.POSITIVE_INFINITY;
  private cancelTimer: () => void = () => {};
  private readonly busyRepairs = new Map<string, BusyRepair>();
  private readonly workInProgress = new Set<Promise<unknown>>();
  private lastRound: Promise<void> = Promise.resolve();
  private isRoundQueued = false;
  /** Whether the runs of all watched repairs must be checked. */
  private isEndCheckQueued = false;
  /** Watched repairs whose runs must be checked, because one may have ended while they were busy. */
  private readonly uncheckedRepairIds = new Set<string>();
  /** Whether due repairs wait, because their account has too many that are being driven or too many are due. */
  private hasWaitingRepairs = false;
  private stopping = new AbortController();

  constructor(options: RepairsOptions) {
    this.options = options;
    this.turns = new RoundRobin(options.owners ?? ONE_OWNER);
    const { store, repairs, clock, cluster } = options;
    const [now, driver] = [() => clock.now(), () => this.driver()];
    const writes = new RepairWrites(repairs, options.reportChange);
    this.writes = writes;
    this.freezer = new EntryFreezer({ store, repairs, writes, now, driver });
    const watchMs = cluster ? WATCH_OTHERS_MS : WATCH_MS;
    const commit = (unit: CommitUnit) => options.commit(unit, this.stopping.signal);
    const starter = new EntryStarter({ ...options, now, commit });
    this.rounds = new RepairRounds({ repairs, writes, now, driver, watchMs, starter });
    this.stopping.abort();
  }

  private get isStopped(): boolean {
    return this.stopping.signal.aborted;
  }

  /** Continues the active repairs. Does not wait for them. */
  start(): void {
    this.stopping = new AbortController();
    this.queueRound();
  }

  /** Ends the starts in progress, at the latest after one slice of a long journal. */
  async stop(): Promise<void> {
    this.stopping.abort();
    this.cancelTimer();
    for (const respond of this.planWaiters.values()) respond(null);
    await this.settled();
  }

  get isIdle(): boolean {
    return this.workInProgress.size === 0;
  }

  async settled(): Promise<void> {
    while (!this.isIdle) await Promise.allSettled(this.workInProgress);
  }

  /** Called when the store accepts writes again. */
  scheduleRound(): void {
    this.scheduleAt(this.options.clock.now());
  }

  /** Called when a run has ended that may belong to a repair. */
  onRunEnded(): void {
    if (this.isEndCheckQueued || (this.watchedRepairs.size === 0 && this.busyRepairs.size === 0)) return;
    this.isEndCheckQueued = true;
    this.scheduleAt(this.options.clock.now() + AFTER_END_MS);
  }

  async plan(command: PlanRepairCommand): Promise<RepairRecord | 'too-many-repairs'> {
    const { store, repairs, clock, context } = this.options;
    const { instanceId, action, createdBy, filter, overrides } = command;
    const repairId = newId('rep', context());
    const now = clock.now();
    const record: RepairRecord = {
      repair: newRepair({ repairId, instanceId, action, createdAt: now, createdBy }),
      filter,
      overrides,
      freezing: { after: null, horizon: await store.deadLetterHorizon({ instanceId }) },
      wakeAt: now,
      version: 0,
    };
    const planning = new Promise<RepairRecord | null>((resolve) => {
      const cancel = clock.setTimer(now + PLANNED_WITHIN_MS, () => resolve(null));
      this.planWaiters.set(repairId, (frozenRecord) => {
        cancel();
        resolve(frozenRecord);
      });
    });
    try {
      if (!(await this.writes.create({ record, driver: this.driver(), maxOpen: LIMITS.maxOpenRepairs })))
        return 'too-many-repairs';
      this.queueRound();
      return (await planning) ?? (await repairs.find({ instanceId, repairId })) ?? record;
    } finally {
      this.planWaiters.get(repairId)?.(null);
      this.planWaiters.delete(repairId);
    }
  }

  async change(command: RepairChangeCommand): Promise<RepairChangeOutcome> {
    const outcome = await this.track(this.changeNow(command));
    if (outcome.kind === 'changed') this.queueRound();
    return outcome;
  }

  private async changeNow({ instanceId, repairId, change, audit }: RepairChangeCommand): Promise<RepairChangeOutcome> {
    const { repairs, clock } = this.options;
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const record = await repairs.find({ instanceId, repairId });
      if (!record) return { kind: 'not-found' };
      const outcome = outcomeOf(record.repair, change, clock.now());
      if (outcome.kind === 'refused') return outcome;
      const nextRecord = { ...record, repair: outcome.repair, wakeAt: clock.now() };
      const canaryCount = change.kind === 'start' ? (outcome.repair.canary?.counts.pending ?? 0) : 0;
      const auditEntry = audit && { audit: await audit(nextRecord.repair) };
      if (!(await this.writes.put({ record: nextRecord, driver: this.driver(), canary: canaryCount, ...auditEntry }))) continue;
      const writtenRecord = { ...nextRecord, version: record.version + 1 };
      // A round that started in the meantime has changed entries, and the counts are not known to be exact.
      if (this.rounds.isExact(record) || change.kind === 'start') this.rounds.recordExact(writtenRecord);
      this.watchedRepairs.delete(repairId);
      const busyRepair = this.busyRepairs.get(repairId);
      if (busyRepair) busyRepair.hasMissedChange = true;
      return { kind: 'changed', record: writtenRecord };
    }
    throw new Error(`the repair ${repairId} was changed repeatedly by other processes`);
  }

  private driver(): RepairDriver | null {
    const { cluster, clock } = this.options;
    return cluster && { nodeId: cluster.nodeId, until: clock.now() + LEASE_MS };
  }

  private busyIds(): readonly RepairId[] {
    return [...this.busyRepairs].map(([repairId, { instanceId }]) => ({ instanceId, repairId }));
  }

  /** Counts the work as in progress until it settles. */
  private track<Result>(work: Promise<Result>): Promise<Result> {
    const tracked = work.finally(() => this.workInProgress.delete(tracked));
    this.workInProgress.add(tracked);
    return tracked;
  }

  /** Queues a round after the one in progress, unless one is queued already. */
  private queueRound(): void {
    if (this.isStopped || this.isRoundQueued) return;
    this.isRoundQueued = true;
    this.lastRound = this.track(
      this.lastRound.then(() => {
        this.isRoundQueued = false;
        return runOutsideRequest(() => this.runRound());
      }),
    );
  }

  private scheduleAt(at: number): void {
    if (this.isStopped || at >= this.wakeAt) return;
    this.cancelTimer();
    this.wakeAt = at;
    if (at <= this.options.clock.now()) {
      this.wakeAt = Number.POSITIVE_INFINITY;
      this.queueRound();
      return;
    }
    this.cancelTimer = this.options.clock.setTimer(at, () => {
      this.wakeAt = Number.POSITIVE_INFINITY;
      this.queueRound();
    });
  }

  private async runRound(): Promise<void> {
    const { repairs, clock, cluster, log, writes } = this.options;
    if (this.isStopped || !writes.isOpen) return;
    try {
      if (cluster && !cluster.canStartWork) {
        this.scheduleAt(clock.now() + RETRY_AFTER_FAULT_MS);
        return;
      }
      for (const [repairId, { until, hasMissedEnd }] of this.busyRepairs) {
        if (until > clock.now()) continue;
        this.busyRepairs.delete(repairId);
        if (hasMissedEnd) this.uncheckedRepairIds.add(repairId);
      }
      const [before, driver, busyIds] = [clock.now(), this.driver(), this.busyIds()];
      if (driver && busyIds.length > 0) await repairs.renewLeases({ repairIds: busyIds, now: before, driver });
      const dueRepairs = await repairs.claimDue({
        ...{ before, limit: MAX_DUE_REPAIRS, limitPerInstance: MAX_DUE_REPAIRS_OF_INSTANCE },
        ...{ except: busyIds, driver },
      });
      if (this.isStopped) return;
      for (const record of [...this.chooseInTurns(dueRepairs), ...this.watchedRepairsExcept(dueRepairs, before)])
        void this.track(this.drive(record));
      // Repairs that are still due are being driven, have failed, or wait for one that is being driven.
      const nextAt = await repairs.nextAt({ nodeId: cluster?.nodeId ?? null, after: before });
      this.scheduleAt(Math.min(nextAt ?? Number.POSITIVE_INFINITY, ...[...this.busyRepairs.values()].map(({ until }) => until)));
      if (cluster) this.scheduleAt(clock.now() + WATCH_OTHERS_MS);
    } catch (error) {
      if (!writes.reportFailure(error)) log.error({ error: String(error) }, 'could not read due repairs, retrying in 1 s');
      this.scheduleAt(clock.now() + RETRY_AFTER_FAULT_MS);
    }
  }

  /** Chooses the repairs to drive: accounts take turns, and none has too many at the same time. The others remain due. */
  private chooseInTurns(dueRepairs: readonly RepairRecord[]): readonly RepairRecord[] {
    const { owners = ONE_OWNER } = this.options;
    const drivenCounts = new Map<string, number>();
    /** Counts a driven repair of the account. Returns whether it is within the limit. */
    const countDriven = (instanceId: string): boolean => {
      const accountId = owners.accountOf(instanceId);
      const drivenCount = (drivenCounts.get(accountId) ?? 0) + 1;
      drivenCounts.set(accountId, drivenCount);
      return drivenCount <= MAX_DRIVEN_REPAIRS;
    };
    for (const { instanceId, until } of this.busyRepairs.values())
      if (until === Number.POSITIVE_INFINITY) countDriven(instanceId);
    const candidates = dueRepairs.map((record) => ({ instanceId: record.repair.instanceId, record }));
    const chosenRecords: RepairRecord[] = [];
    this.hasWaitingRepairs = dueRepairs.length === MAX_DUE_REPAIRS;
    for (let turn = this.turns.next(candidates); turn !== null; turn = this.turns.next(candidates)) {
      candidates.splice(candidates.indexOf(turn), 1);
      if (countDriven(turn.instanceId)) chosenRecords.push(turn.record);
      else this.hasWaitingRepairs = true;
    }
    return chosenRecords;
  }

  /** Returns the repairs whose runs may have ended, as this process last wrote them. Those that were due at `now` wait. */
  private watchedRepairsExcept(dueRepairs: readonly RepairRecord[], now: number): readonly RepairRecord[] {
    const checksAll = this.isEndCheckQueued;
    const uncheckedIds = new Set(checksAll ? this.watchedRepairs.keys() : this.uncheckedRepairIds);
    this.isEndCheckQueued = false;
    this.uncheckedRepairIds.clear();
    if (checksAll) for (const busyRepair of this.busyRepairs.values()) busyRepair.hasMissedEnd = true;
    for (const { repair } of dueRepairs) uncheckedIds.delete(repair.repairId);
    return [...this.watchedRepairs.values()].filter(
      ({ repair: { repairId }, wakeAt }) =>
        uncheckedIds.has(repairId) && !this.busyRepairs.has(repairId) && (wakeAt === null || wakeAt > now),
    );
  }

  /** Drives the repair. Never rejects. */
  private async drive(record: RepairRecord): Promise<void> {
    const { clock, log, writes } = this.options;
    const { repairId, instanceId } = record.repair;
    const busyRepair: BusyRepair = { instanceId, until: Number.POSITIVE_INFINITY, hasMissedEnd: false, hasMissedChange: false };
    this.busyRepairs.set(repairId, busyRepair);
    try {
      const drivenRecord = await this.driveOnce(record);
      this.busyRepairs.delete(repairId);
      if (drivenRecord === null || busyRepair.hasMissedChange) this.queueRound();
      else if (drivenRecord.wakeAt !== null) this.scheduleAt(drivenRecord.wakeAt);
    } catch (error) {
      const until = clock.now() + RETRY_AFTER_FAULT_MS;
      // If it is due later, it is still watched, and its runs are checked again.
      this.busyRepairs.set(repairId, { instanceId, until, hasMissedEnd: true, hasMissedChange: false });
      this.scheduleAt(until);
      if (!this.isStopped && !writes.reportFailure(error))
        log.error({ instanceId, repairId, error: String(error) }, 'repair step failed, retrying in 1 s');
    }
    if (this.hasWaitingRepairs) this.queueRound();
    if (!busyRepair.hasMissedEnd) return;
    this.uncheckedRepairIds.add(repairId);
    this.scheduleAt(clock.now() + AFTER_END_MS);
  }

  /** Makes one step. Returns the repair after it; null if it was changed in the meantime. */
  private async driveOnce(record: RepairRecord): Promise<RepairRecord | null> {
    const { repairId } = record.repair;
    if (isDiscardedPlan(record.repair)) return this.freezer.discard(record);
    if (record.repair.phase === 'planning') {
      const frozenRecord = await this.freezer.step(record);
      if (frozenRecord?.repair.phase === 'planned') this.planWaiters.get(repairId)?.(frozenRecord);
      return frozenRecord;
    }
    const updatedRecord = await this.rounds.round(record);
    if (updatedRecord && updatedRecord.repair.counts.started > 0) this.watchedRepairs.set(repairId, updatedRecord);
    else this.watchedRepairs.delete(repairId);
    if (updatedRecord && isOver(updatedRecord.repair)) this.rounds.forget(repairId);
    return updatedRecord;
  }
}

function outcomeOf(repair: Repair, change: RepairChange, now: number): RepairOutcome {
  const event: RepairEvent =
    change.kind === 'start'
      ? { kind: 'started', settings: change.settings }
      : change.kind === 'pause'
        ? { kind: 'paused' }
        : change.kind === 'continue'
          ? { kind: 'continued', ratePerSecond: change.ratePerSecond }
          : { kind: 'aborted' };
  return decideRepair(repair, event, now);
}
