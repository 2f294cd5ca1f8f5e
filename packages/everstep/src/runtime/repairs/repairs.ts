/**
 * Drives repairs and executes commands on them. The store contains the time of the next action of each repair; one timer is set
 * to the earliest. Commands and rounds run one after the other. A concurrent change by another process is detected by the
 * version of the repair, which is then read again.
 * Keeps invariant 16.
 */

import {
  decideRepair,
  isOver,
  newRepair,
  type Repair,
  type RepairEvent,
  type RepairOutcome,
} from '../../engine/dead-letters/repair.js';
import { type DecisionContext, newId } from '../../engine/ids.js';
import { Turns } from '../../fairness/turns.js';
import type { Clock } from '../../ports/clock.js';
import type { Cluster } from '../../ports/cluster.js';
import type { Log } from '../../ports/log.js';
import { type InstanceOwners, ONE_OWNER } from '../../ports/stores/instance-owners.js';
import type { RepairDriver, RepairRecord, RepairStore } from '../../ports/stores/repair-store.js';
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

/** Maximum number of repairs in one round. Accounts take turns. */
const MAX_ROUND_REPAIRS = 20;
/** Maximum number of due repairs that a round reads to choose from. */
const MAX_DUE_REPAIRS = 100;
const RETRY_AFTER_FAULT_MS = 1_000;
/** A request to plan receives its response after at most this time, while planning continues. */
const PLANNED_WITHIN_MS = 2_000;
/** Delay after the end of a run, so that simultaneous ends are handled together. */
const AFTER_END_MS = 100;
/** Maximum time until an end without a notification is found. */
const WATCH_MS = 15_000;
/** The same maximum if other processes also end runs and start repairs. */
const WATCH_OTHERS_MS = 1_000;
/** Lease of a repair; other processes take it over when it expires. */
const LEASE_MS = 5_000;
const MAX_TRIES = 20;

export interface RepairsOptions extends Omit<EntryStarterOptions, 'now'> {
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

export class Repairs implements RepairService {
  private readonly options: RepairsOptions;
  private readonly writes: RepairWrites;
  private readonly freezer: EntryFreezer;
  private readonly rounds: RepairRounds;
  private readonly turns: Turns;
  /** Repairs of this process with active runs. They are checked early when a run ends. */
  private readonly watchedRepairs = new Map<string, RepairRecord>();
  /** Functions that end the wait for a plan, by repair. */
  private readonly planWaiters = new Map<string, (record: RepairRecord | null) => void>();
  private wakeAt = Number.POSITIVE_INFINITY;
  private cancelTimer: () => void = () => {};
  private lastWork: Promise<void> = Promise.resolve();
  private pendingWork = 0;
  private isRoundQueued = false;
  private isDriving = false;
  private isEndCheckQueued = false;
  private isStopped = true;

  constructor(options: RepairsOptions) {
    this.options = options;
    this.turns = new Turns(options.owners ?? ONE_OWNER);
    const { store, repairs, clock, cluster } = options;
    const [now, driver] = [() => clock.now(), () => this.driver()];
    const writes = new RepairWrites(repairs, options.reportChange);
    this.writes = writes;
    this.freezer = new EntryFreezer({ store, repairs, writes, now, driver });
    const watchMs = cluster ? WATCH_OTHERS_MS : WATCH_MS;
    this.rounds = new RepairRounds({ repairs, writes, now, driver, watchMs, starter: new EntryStarter({ ...options, now }) });
  }

  /** Continues the active repairs. Does not wait for them. */
  start(): void {
    this.isStopped = false;
    this.queueRound();
  }

  async stop(): Promise<void> {
    this.isStopped = true;
    this.cancelTimer();
    for (const respond of this.planWaiters.values()) respond(null);
    await this.lastWork;
  }

  get isIdle(): boolean {
    return this.pendingWork === 0;
  }

  settled(): Promise<void> {
    return this.lastWork;
  }

  /** Called when the store accepts writes again. */
  scheduleRound(): void {
    this.scheduleAt(this.options.clock.now());
  }

  /** Called when a run has ended that may belong to a repair. */
  onRunEnded(): void {
    if (this.isEndCheckQueued || (this.watchedRepairs.size === 0 && !this.isDriving)) return;
    this.isEndCheckQueued = true;
    this.scheduleAt(this.options.clock.now() + AFTER_END_MS);
  }

  async plan(command: PlanRepairCommand): Promise<RepairRecord> {
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
    await this.writes.create({ record, driver: this.driver() });
    this.queueRound();
    const plannedRecord = await planning;
    this.planWaiters.delete(repairId);
    return plannedRecord ?? (await repairs.find({ instanceId, repairId })) ?? record;
  }

  change(command: RepairChangeCommand): Promise<RepairChangeOutcome> {
    return this.runInTurn(() => this.changeNow(command)).then((outcome) => {
      if (outcome.kind === 'changed') this.queueRound();
      return outcome;
    });
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
      const isExact = this.rounds.isExact(record) || change.kind === 'start';
      const auditEntry = audit && { audit: await audit(nextRecord.repair) };
      if (!(await this.writes.put({ record: nextRecord, driver: this.driver(), canary: canaryCount, ...auditEntry }))) continue;
      const writtenRecord = { ...nextRecord, version: record.version + 1 };
      if (isExact) this.rounds.noteExact(writtenRecord);
      this.watchedRepairs.delete(repairId);
      return { kind: 'changed', record: writtenRecord };
    }
    throw new Error(`the repair ${repairId} was changed repeatedly by other processes`);
  }

  private driver(): RepairDriver | null {
    const { cluster, clock } = this.options;
    return cluster && { nodeId: cluster.nodeId, until: clock.now() + LEASE_MS };
  }

  private runInTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    this.pendingWork++;
    const result = this.lastWork.then(work).finally(() => {
      this.pendingWork--;
    });
    this.lastWork = result.then(
      () => {},
      () => {},
    );
    return result;
  }

  /** Queues a round after the work in progress, unless one is queued already. */
  private queueRound(): void {
    if (this.isStopped || this.isRoundQueued) return;
    this.isRoundQueued = true;
    void this.runInTurn(async () => {
      this.isRoundQueued = false;
      await this.runRound();
    });
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
      const dueRepairs = this.chooseInTurns(
        await repairs.claimDue({ before: clock.now(), limit: MAX_DUE_REPAIRS, driver: this.driver() }),
      );
      const hasFailed = await this.driveAll([...dueRepairs, ...(await this.watchedRepairsExcept(dueRepairs))]);
      if (this.isStopped) return;
      const nextAt = await repairs.nextAt({ nodeId: cluster?.nodeId ?? null });
      if (nextAt !== null) this.scheduleAt(hasFailed ? Math.max(nextAt, clock.now() + RETRY_AFTER_FAULT_MS) : nextAt);
      if (cluster) this.scheduleAt(clock.now() + WATCH_OTHERS_MS);
    } catch (error) {
      if (!writes.noteFailure(error)) log.error({ error: String(error) }, 'could not read due repairs, retrying in 1 s');
      this.scheduleAt(clock.now() + RETRY_AFTER_FAULT_MS);
    }
  }

  /** Chooses the repairs of one round. The others remain due. */
  private chooseInTurns(dueRepairs: readonly RepairRecord[]): readonly RepairRecord[] {
    const candidates = dueRepairs.map((record) => ({ instanceId: record.repair.instanceId, record }));
    const chosenRecords: RepairRecord[] = [];
    while (chosenRecords.length < MAX_ROUND_REPAIRS) {
      const turn = this.turns.next(candidates);
      if (turn === null) break;
      chosenRecords.push(turn.record);
      candidates.splice(candidates.indexOf(turn), 1);
    }
    return chosenRecords;
  }

  /** Returns the repairs whose runs may have ended, as this process last wrote them. */
  private async watchedRepairsExcept(dueRepairs: readonly RepairRecord[]): Promise<readonly RepairRecord[]> {
    if (!this.isEndCheckQueued) return [];
    this.isEndCheckQueued = false;
    const drivenIds = new Set(dueRepairs.map(({ repair }) => repair.repairId));
    return [...this.watchedRepairs.values()].filter(({ repair }) => !drivenIds.has(repair.repairId));
  }

  /** Drives the repairs one after the other. Returns whether one of them failed. */
  private async driveAll(records: readonly RepairRecord[]): Promise<boolean> {
    let hasFailed = false;
    this.isDriving = records.length > 0;
    for (const record of records) {
      if (this.isStopped) break;
      const { repairId, instanceId } = record.repair;
      try {
        await this.drive(record);
      } catch (error) {
        hasFailed = true;
        this.watchedRepairs.delete(repairId);
        if (!this.options.writes.noteFailure(error))
          this.options.log.error({ instanceId, repairId, error: String(error) }, 'repair step failed, retrying in 1 s');
      }
    }
    this.isDriving = false;
    return hasFailed;
  }

  private async drive(record: RepairRecord): Promise<void> {
    const { repairId } = record.repair;
    if (record.repair.phase === 'planning') {
      const frozenRecord = await this.freezer.step(record);
      if (frozenRecord?.repair.phase === 'planned') this.planWaiters.get(repairId)?.(frozenRecord);
      return;
    }
    const updatedRecord = await this.rounds.round(record);
    if (updatedRecord && updatedRecord.repair.counts.started > 0) this.watchedRepairs.set(repairId, updatedRecord);
    else this.watchedRepairs.delete(repairId);
    if (updatedRecord && isOver(updatedRecord.repair)) this.rounds.forget(repairId);
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
