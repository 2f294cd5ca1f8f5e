/**
 * Starts runs by the clock. The store is the timetable: one timer stands at
 * the earliest tick there is. Changes of schedules and rounds of ticks happen
 * one after the other, so that none writes over what another has read; what
 * another process has read and changed meanwhile is refused, and read again.
 */
import type { DecisionContext } from '../engine/ids.js';
import type { GroupEndpoint, RunPayload, Schedule } from '../engine/run.js';
import {
  createSchedule,
  type Fired,
  fireSchedule,
  pauseSchedule,
  runSchedule,
  type ScheduleDecision,
  skipTick,
} from '../engine/schedule.js';
import type { Started } from '../engine/start.js';
import type { CommitResult, CommitUnit } from '../engine/writes.js';
import type { Clock } from '../ports/clock.js';
import type { InstanceLimits } from '../ports/instance-limits.js';
import type { Log } from '../ports/log.js';
import type { Store } from '../ports/store.js';
import type { StoreWritesState } from '../ports/store-writes.js';
import type { ScheduleCommand, ScheduleRun } from './workflow-service.js';

/** Schedules that tick in one batch. Each comes with its payload, so they are few. */
const PAGE = 20;
const RETRY_AFTER_FAULT_MS = 1000;
/** How often a schedule is read again that another process lets tick at the same moment. */
const RUN_ATTEMPTS = 10;

interface ScheduleId {
  readonly instanceId: string;
  readonly scheduleId: string;
}

export interface SchedulesOptions {
  readonly store: Pick<Store, 'dueSchedules' | 'nextScheduleAt' | 'findSchedule' | 'findUrlGroup'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly context: () => DecisionContext;
  /** Makes a unit durable; rejects when that may not have happened. */
  readonly commit: (unit: CommitUnit) => Promise<CommitResult>;
  /** Acts on a run that is durable. */
  readonly begin: (started: Started, payload: RunPayload) => void;
  readonly limits: Pick<InstanceLimits, 'letTickIn' | 'notStarted' | 'recount'>;
  /** While it is closed nothing ticks; `look` has to follow when it opens. */
  readonly writes: StoreWritesState;
}

export class Schedules {
  private readonly options: SchedulesOptions;
  private wakeAt = Number.POSITIVE_INFINITY;
  private cancelTimer: () => void = () => {};
  private last: Promise<void> = Promise.resolve();
  private underWay = 0;
  private stopped = true;

  constructor(options: SchedulesOptions) {
    this.options = options;
  }

  /** Resolves when what fell due meanwhile has ticked. */
  start(): Promise<void> {
    this.stopped = false;
    return this.inTurn(() => this.round());
  }

  /** There may be something that ticks, or has to: another node that knew of it is gone. */
  look(): void {
    if (!this.stopped) void this.inTurn(() => this.round());
  }

  async stop(): Promise<void> {
    this.stopped = true;
    this.cancelTimer();
    await this.last;
  }

  /** Whether no round and no change is under way. */
  get idle(): boolean {
    return this.underWay === 0;
  }

  /** Resolves when every round and change that is under way is done. */
  settled(): Promise<void> {
    return this.last;
  }

  /** `too-many-schedules`: it would be one more than the command allows, and nothing happened. */
  put(command: ScheduleCommand): Promise<Schedule | 'too-many-schedules'> {
    const { instanceId, scheduleId } = command;
    return this.inTurn(async () => {
      for (;;) {
        const existing = scheduleId === null ? null : await this.options.store.findSchedule({ instanceId, scheduleId });
        const decision = createSchedule(command, existing, this.options.context());
        const written = await this.write(decision);
        if (written === 'applied') return decision.schedule;
        if (written === 'too-many-schedules') return written;
      }
    });
  }

  pause({ paused, ...id }: ScheduleId & { readonly paused: boolean }): Promise<Schedule | null> {
    return this.inTurn(async () => {
      for (;;) {
        const schedule = await this.options.store.findSchedule(id);
        const decision = schedule && pauseSchedule(schedule, paused, this.options.context());
        if (!decision) return schedule;
        if ((await this.write(decision)) === 'applied') return decision.schedule;
      }
    });
  }

  delete(id: ScheduleId): Promise<boolean> {
    return this.inTurn(async () => {
      for (;;) {
        const was = await this.options.store.findSchedule(id);
        if (!was) return false;
        const unit: CommitUnit = {
          guards: [{ kind: 'schedule-unchanged', ...id, was }],
          writes: [{ kind: 'delete-schedule', ...id }],
        };
        if ((await this.options.commit(unit)).kind === 'applied') return true;
      }
    });
  }

  /** Starts now what a tick starts. `letInAt`: when it was let in, Unix ms; null: nobody had to. */
  run({ letInAt, ...id }: ScheduleId & { readonly letInAt: number | null }): Promise<ScheduleRun> {
    const { store, commit, begin, context } = this.options;
    return this.inTurn(async () => {
      // Another process may have let it tick since it was read.
      for (let attempt = 0; attempt < RUN_ATTEMPTS; attempt++) {
        const schedule = await store.findSchedule(id);
        if (!schedule) return { kind: 'not-found' };
        const endpoints = await this.endpointsOf(schedule);
        if (endpoints?.length === 0) return { kind: 'no-endpoints' };
        const { unit, started } = runSchedule(schedule, context(), { endpoints, letInAt });
        const result = await commit(unit);
        if (result.kind !== 'applied') continue;
        for (const each of started) begin(each, schedule.payload);
        const last = started.at(-1);
        if (last) return { kind: 'started', run: last.run, count: started.length };
      }
      throw new Error('the schedule was changed again and again while it was to be run');
    });
  }

  /** After all that was begun before it. */
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

  /** `changed`: another process was faster, and it is to be read again. */
  private async write({ unit, schedule }: ScheduleDecision): Promise<'applied' | 'changed' | 'too-many-schedules'> {
    try {
      const { kind } = await this.options.commit(unit);
      if (kind !== 'applied') return kind === 'too-many-schedules' ? kind : 'changed';
    } catch (error) {
      // Perhaps it happened and only the answer was lost: then its tick has to be found.
      this.tryAgain();
      throw error;
    }
    if (schedule.nextAt !== null) this.expect(schedule.nextAt);
    return 'applied';
  }

  /** Something ticks at `at`. */
  private expect(at: number): void {
    if (this.stopped || at >= this.wakeAt) return;
    this.cancelTimer();
    this.wakeAt = at;
    this.cancelTimer = this.options.clock.setTimer(at, () => {
      this.wakeAt = Number.POSITIVE_INFINITY;
      void this.inTurn(() => this.round());
    });
  }

  private tryAgain(): void {
    this.expect(this.options.clock.now() + RETRY_AFTER_FAULT_MS);
  }

  private async round(): Promise<void> {
    const { writes, log } = this.options;
    if (!writes.isOpen) return;
    try {
      await this.fireAllDue();
    } catch (error) {
      if (!writes.failed(error)) log.error({ error: String(error) }, 'reading due schedules failed; trying again');
      this.tryAgain();
    }
  }

  private async fireAllDue(): Promise<void> {
    const { store, clock } = this.options;
    let failed = false;
    for (let more = true; more && !this.stopped; ) {
      const due = await store.dueSchedules({ before: clock.now(), limit: PAGE });
      const fired = await Promise.all(due.map((schedule) => this.fire(schedule)));
      const count = fired.filter(Boolean).length;
      failed = count < due.length;
      // Those that failed are due still, at the head of the next page: while others get on, there may be more behind them.
      more = due.length === PAGE && count > 0;
    }
    if (this.stopped) return;
    const nextAt = await store.nextScheduleAt();
    if (nextAt === null) return;
    this.expect(failed ? Math.max(nextAt, clock.now() + RETRY_AFTER_FAULT_MS) : nextAt);
  }

  /** Of the group that it publishes to; none when the group is gone. Null when it is not for a group. */
  private async endpointsOf({ instanceId, settings }: Schedule): Promise<readonly GroupEndpoint[] | null> {
    const name = settings.message?.urlGroup;
    if (name === undefined) return null;
    return (await this.options.store.findUrlGroup({ instanceId, name }))?.endpoints ?? [];
  }

  /** False when it is still due. */
  private async fire(schedule: Schedule): Promise<boolean> {
    const { commit, begin, context, log, limits, writes } = this.options;
    const { instanceId, scheduleId } = schedule;
    try {
      const decided = await limits.letTickIn(instanceId, schedule.payload.body.length);
      if (decided.kind !== 'let-in') {
        const skipped = skipTick(schedule, decided.kind, context());
        if (!skipped) return false;
        await commit(skipped.unit);
        log.warn(
          { instanceId, scheduleId, refused: decided.message },
          'a tick started no run; the next one is tried at its time',
        );
        return true;
      }
      const endpoints = await this.endpointsOf(schedule);
      if (endpoints?.length === 0) {
        const skipped = skipTick(schedule, null, context());
        if (!skipped) return false;
        await commit(skipped.unit);
        log.warn({ instanceId, scheduleId }, 'a tick published nothing: the URL group of the schedule has no endpoints');
        return true;
      }
      const fired: Fired | null = fireSchedule(schedule, context(), { endpoints, letInAt: decided.at });
      if (!fired) return false;
      const result = await commit(fired.unit);
      // Refused, it has ticked already, or was changed: then it is looked at again. When only the answer was lost, its run is found among what is due.
      if (result.kind === 'applied') for (const started of fired.started) begin(started, schedule.payload);
      else limits.notStarted(instanceId, 1, decided);
      if (fired.schedule.nextAt === null) log.warn({ instanceId, scheduleId }, 'the schedule has no next tick');
      return true;
    } catch (error) {
      limits.recount(instanceId);
      if (!writes.failed(error))
        log.error({ instanceId, scheduleId, error: String(error) }, 'a tick could not be recorded; trying again');
      return false;
    }
  }
}
