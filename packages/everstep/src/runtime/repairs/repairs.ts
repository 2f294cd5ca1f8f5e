/**
 * Drives repairs and executes commands on them. The store contains the time of the next action of each repair; one timer fires
 * at the earliest. Commands and rounds run one after the other. A concurrent change by another process is detected by the
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
import { Driving } from './driving.js';
import { Freezing, type FreezingOptions } from './repair-planning.js';
import { RepairWrites } from './repair-writes.js';
import { Starting, type StartingOptions } from './starting.js';

/** Maximum number of repairs in one round. Accounts take turns. */
const ROUND = 20;
/** Number of due repairs from which they are chosen. */
const PAGE = 100;
const RETRY_AFTER_FAULT_MS = 1_000;
/** After this time, a request to plan is answered while planning continues. */
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

export interface RepairsOptions extends Omit<StartingOptions, 'now'> {
  readonly store: FreezingOptions['store'];
  readonly repairs: RepairStore;
  /** Reports a change of a repair or of its dead letters. */
  readonly changed: (instanceId: string, topic: 'repairs' | 'dlq') => void;
  readonly clock: Clock;
  readonly log: Log;
  readonly context: () => DecisionContext;
  readonly cluster: Pick<Cluster, 'nodeId' | 'canStartWork'> | null;
  /** The accounts that take turns; absent: all repairs belong to one account. */
  readonly owners?: InstanceOwners;
  /** No repair continues while this is closed. Call `scheduleRound` when it opens. */
  readonly writes: StoreWritesState;
}

export class Repairs implements RepairService {
  private readonly options: RepairsOptions;
  private readonly writes: RepairWrites;
  private readonly freezing: Freezing;
  private readonly driving: Driving;
  private readonly turns: Turns;
  /** Repairs of this process with active runs. They are checked early when a run ends. */
  private readonly watched = new Map<string, RepairRecord>();
  private readonly plans = new Map<string, (record: RepairRecord | null) => void>();
  private wakeAt = Number.POSITIVE_INFINITY;
  private cancelTimer: () => void = () => {};
  private last: Promise<void> = Promise.resolve();
  private underWay = 0;
  private isRoundQueued = false;
  private isDriving = false;
  private isEndCheckQueued = false;
  private stopped = true;

  constructor(options: RepairsOptions) {
    this.options = options;
    this.turns = new Turns(options.owners ?? ONE_OWNER);
    const { store, repairs, clock, cluster } = options;
    const [now, driver] = [() => clock.now(), () => this.driver()];
    const writes = new RepairWrites(repairs, options.changed);
    this.writes = writes;
    this.freezing = new Freezing({ store, repairs, writes, now, driver });
    const watchMs = cluster ? WATCH_OTHERS_MS : WATCH_MS;
    this.driving = new Driving({ repairs, writes, now, driver, watchMs, starting: new Starting({ ...options, now }) });
  }

  /** Continues the active repairs. Does not wait for them. */
  start(): void {
    this.stopped = false;
    this.queueRound();
  }

  async stop(): Promise<void> {
    this.stopped = true;
    this.cancelTimer();
    for (const respond of this.plans.values()) respond(null);
    await this.last;
  }

  get idle(): boolean {
    return this.underWay === 0;
  }

  settled(): Promise<void> {
    return this.last;
  }

  /** Called when the store accepts writes again. */
  scheduleRound(): void {
    this.expect(this.options.clock.now());
  }

  /** Called when a run has ended that may belong to a repair. */
  runEnded(): void {
    if (this.isEndCheckQueued || (this.watched.size === 0 && !this.isDriving)) return;
    this.isEndCheckQueued = true;
    this.expect(this.options.clock.now() + AFTER_END_MS);
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
    const planned = new Promise<RepairRecord | null>((resolve) => {
      const cancel = clock.setTimer(now + PLANNED_WITHIN_MS, () => resolve(null));
      this.plans.set(repairId, (done) => {
        cancel();
        resolve(done);
      });
    });
    await this.writes.create({ record, driver: this.driver() });
    this.queueRound();
    const done = await planned;
    this.plans.delete(repairId);
    return done ?? (await repairs.find({ instanceId, repairId })) ?? record;
  }

  change(command: RepairChangeCommand): Promise<RepairChangeOutcome> {
    return this.inTurn(() => this.changeNow(command)).then((outcome) => {
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
      const next = { ...record, repair: outcome.repair, wakeAt: clock.now() };
      const canary = change.kind === 'start' ? (outcome.repair.canary?.counts.pending ?? 0) : 0;
      const exact = this.driving.isExact(record) || change.kind === 'start';
      const entry = audit && { audit: await audit(next.repair) };
      if (!(await this.writes.put({ record: next, driver: this.driver(), canary, ...entry }))) continue;
      const written = { ...next, version: record.version + 1 };
      if (exact) this.driving.noteExact(written);
      this.watched.delete(repairId);
      return { kind: 'changed', record: written };
    }
    throw new Error(`the repair ${repairId} was changed repeatedly by other processes`);
  }

  private driver(): RepairDriver | null {
    const { cluster, clock } = this.options;
    return cluster && { nodeId: cluster.nodeId, until: clock.now() + LEASE_MS };
  }

  private inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    this.underWay++;
    const result = this.last.then(work).finally(() => {
      this.underWay--;
    });
    this.last = result.then(
      () => {},
      () => {},
    );
    return result;
  }

  /** Queues a round after the work in progress, unless one is queued already. */
  private queueRound(): void {
    if (this.stopped || this.isRoundQueued) return;
    this.isRoundQueued = true;
    void this.inTurn(async () => {
      this.isRoundQueued = false;
      await this.rounds();
    });
  }

  private expect(at: number): void {
    if (this.stopped || at >= this.wakeAt) return;
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

  private async rounds(): Promise<void> {
    const { repairs, clock, cluster, log, writes } = this.options;
    if (this.stopped || !writes.isOpen) return;
    try {
      if (cluster && !cluster.canStartWork) {
        this.expect(clock.now() + RETRY_AFTER_FAULT_MS);
        return;
      }
      const due = this.inTurns(await repairs.due({ before: clock.now(), limit: PAGE, driver: this.driver() }));
      const failed = await this.driveAll([...due, ...(await this.watchedExcept(due))]);
      if (this.stopped) return;
      const nextAt = await repairs.nextAt({ nodeId: cluster?.nodeId ?? null });
      if (nextAt !== null) this.expect(failed ? Math.max(nextAt, clock.now() + RETRY_AFTER_FAULT_MS) : nextAt);
      if (cluster) this.expect(clock.now() + WATCH_OTHERS_MS);
    } catch (error) {
      if (!writes.failed(error)) log.error({ error: String(error) }, 'could not read due repairs, retrying');
      this.expect(clock.now() + RETRY_AFTER_FAULT_MS);
    }
  }

  /** Chooses the repairs of one round. The others remain due. */
  private inTurns(due: readonly RepairRecord[]): readonly RepairRecord[] {
    const left = due.map((record) => ({ instanceId: record.repair.instanceId, record }));
    const chosen: RepairRecord[] = [];
    while (chosen.length < ROUND) {
      const turn = this.turns.next(left);
      if (turn === null) break;
      chosen.push(turn.record);
      left.splice(left.indexOf(turn), 1);
    }
    return chosen;
  }

  /** Returns the repairs whose runs may have ended, as this process last wrote them. */
  private async watchedExcept(due: readonly RepairRecord[]): Promise<readonly RepairRecord[]> {
    if (!this.isEndCheckQueued) return [];
    this.isEndCheckQueued = false;
    const driven = new Set(due.map(({ repair }) => repair.repairId));
    return [...this.watched.values()].filter(({ repair }) => !driven.has(repair.repairId));
  }

  /** Returns whether one of them failed. */
  private async driveAll(records: readonly RepairRecord[]): Promise<boolean> {
    let failed = false;
    this.isDriving = records.length > 0;
    for (const record of records) {
      if (this.stopped) break;
      const { repairId, instanceId } = record.repair;
      try {
        await this.drive(record);
      } catch (error) {
        failed = true;
        this.watched.delete(repairId);
        if (!this.options.writes.failed(error))
          this.options.log.error({ instanceId, repairId, error: String(error) }, 'repair step failed, retrying');
      }
    }
    this.isDriving = false;
    return failed;
  }

  private async drive(record: RepairRecord): Promise<void> {
    const { repairId } = record.repair;
    if (record.repair.phase === 'planning') {
      const frozen = await this.freezing.step(record);
      if (frozen?.repair.phase === 'planned') this.plans.get(repairId)?.(frozen);
      return;
    }
    const after = await this.driving.round(record);
    if (after && after.repair.counts.started > 0) this.watched.set(repairId, after);
    else this.watched.delete(repairId);
    if (after && isOver(after.repair)) this.driving.forget(repairId);
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
