/**
 * Starts the runs of schedules. The store contains the times of all ticks; one timer is set to the earliest. Changes of the
 * schedules of one instance run one after the other. A schedule that another process or a tick changed since it was read is
 * read and changed again.
 *
 * If more schedules tick at once than fit into a page, accounts take turns, then their instances.
 * Keeps invariants 18 and 28.
 */
import { publicationBytes, publicationRefusal } from '../../engine/messages/publication-size.js';
import type { GroupEndpoint, Schedule } from '../../engine/runs/run.js';
import {
  createSchedule,
  editSchedule,
  type FiredSchedule,
  fireSchedule,
  runSchedule,
  type ScheduleDecision,
  type ScheduleEdit,
  setSchedulePaused,
  skipTick,
} from '../../engine/schedules/schedule.js';
import type { CommitUnit } from '../../engine/writes.js';
import { RoundRobin } from '../../fairness/round-robin.js';
import type { Clock } from '../../ports/clock.js';
import type { Log } from '../../ports/log.js';
import { NO_OBSERVER, type Observer } from '../../ports/observer.js';
import type { ControlStore } from '../../ports/stores/control-store.js';
import type { InstanceLimits, TickRefusal } from '../../ports/stores/instance-limits.js';
import { type InstanceOwners, ONE_OWNER } from '../../ports/stores/instance-owners.js';
import type { ScheduleStore } from '../../ports/stores/schedule-store.js';
import type { StoreWritesState } from '../../ports/stores/store-writes.js';
import type { ScheduleCommand, ScheduleId, ScheduleRun, ScheduleService } from '../interface/schedules.js';
import type { RunStarts } from '../runs/run-starts.js';
import { InstanceLocks } from './instance-locks.js';

/** Maximum number of schedules in one batch. It is small because each is read with its payload. */
const PAGE_SIZE = 20;
const RETRY_AFTER_FAULT_MS = 1000;
/** Maximum number of attempts to run a schedule that also ticks in another process. */
const MAX_RUN_ATTEMPTS = 10;

export interface SchedulesOptions extends RunStarts {
  readonly store: ScheduleStore & Pick<ControlStore, 'findUrlGroup'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly limits: Pick<InstanceLimits, 'admitTick' | 'releaseRuns' | 'recount'>;
  /** The accounts that take turns. If absent, all schedules belong to one account. */
  readonly owners?: InstanceOwners;
  /** Observes ticks, for metrics. */
  readonly observer?: Observer;
  /** No schedule ticks while this is closed. Call `runDue` when it opens. */
  readonly writes: StoreWritesState;
}

/** Returns the refusal if the messages for so many endpoints are too large together; otherwise null. */
function sizeRefusal(schedule: Schedule, runs: number): TickRefusal | null {
  const message = publicationRefusal(publicationBytes(schedule, runs));
  return message === null ? null : { kind: 'tick-body-too-large', message };
}

export class Schedules implements ScheduleService {
  private readonly options: SchedulesOptions;
  private wakeAt = Number.POSITIVE_INFINITY;
  private cancelTimer: () => void = () => {};
  private readonly turns: RoundRobin;
  private readonly changeTurns = new InstanceLocks();
  private currentRounds: Promise<void> | null = null;
  private isRoundPending = false;
  private isStopped = true;

  constructor(options: SchedulesOptions) {
    this.options = options;
    this.turns = new RoundRobin(options.owners ?? ONE_OWNER);
  }

  /** Starts to execute ticks. Resolves when all ticks that became due in the meantime are done. */
  start(): Promise<void> {
    this.isStopped = false;
    return this.round();
  }

  /** Starts a round, for example because a node has failed that would have executed due ticks. */
  runDue(): void {
    if (!this.isStopped) void this.round();
  }

  async stop(): Promise<void> {
    this.isStopped = true;
    this.cancelTimer();
    await this.settled();
  }

  /** Whether no round and no change is in progress. */
  get isIdle(): boolean {
    return this.changeTurns.isIdle && this.currentRounds === null;
  }

  /** Resolves when every round and change in progress is done. */
  async settled(): Promise<void> {
    await Promise.all([this.changeTurns.settled(), this.currentRounds]);
  }

  put(command: ScheduleCommand): Promise<Schedule | 'too-many-schedules'> {
    const { instanceId, scheduleId } = command;
    return this.changeTurns.run(instanceId, async () => {
      for (;;) {
        const existing = scheduleId === null ? null : await this.options.store.findSchedule({ instanceId, scheduleId });
        const decision = createSchedule(command, existing, this.options.context());
        const result = await this.write(decision);
        if (result === 'applied') return decision.schedule;
        if (result === 'too-many-schedules') return result;
      }
    });
  }

  edit({ edit, ...id }: ScheduleId & { readonly edit: ScheduleEdit }): Promise<Schedule | null> {
    return this.changeTurns.run(id.instanceId, async () => {
      for (;;) {
        const schedule = await this.options.store.findSchedule(id);
        if (!schedule) return null;
        const decision = editSchedule(schedule, edit, this.options.context());
        if ((await this.write(decision)) === 'applied') return decision.schedule;
      }
    });
  }

  pause({ paused, ...id }: ScheduleId & { readonly paused: boolean }): Promise<Schedule | null> {
    return this.changeTurns.run(id.instanceId, async () => {
      for (;;) {
        const schedule = await this.options.store.findSchedule(id);
        const decision = schedule && setSchedulePaused(schedule, paused, this.options.context());
        if (!decision) return schedule;
        if ((await this.write(decision)) === 'applied') return decision.schedule;
      }
    });
  }

  delete(id: ScheduleId): Promise<boolean> {
    return this.changeTurns.run(id.instanceId, async () => {
      for (;;) {
        const current = await this.options.store.findSchedule(id);
        if (!current) return false;
        const unit: CommitUnit = {
          guards: [{ kind: 'schedule-unchanged', ...id, was: current }],
          writes: [{ kind: 'delete-schedule', ...id }],
        };
        if ((await this.options.commit(unit)).kind === 'applied') return true;
      }
    });
  }

  run({ admittedAt, ...id }: ScheduleId & { readonly admittedAt: number | null }): Promise<ScheduleRun> {
    const { store, commit, drive, context } = this.options;
    return this.changeTurns.run(id.instanceId, async () => {
      // The schedule may have ticked in another process since it was read.
      for (let attempt = 0; attempt < MAX_RUN_ATTEMPTS; attempt++) {
        const schedule = await store.findSchedule(id);
        if (!schedule) return { kind: 'not-found' };
        const endpoints = await this.endpointsOf(schedule);
        if (endpoints?.length === 0) return { kind: 'no-endpoints' };
        const refusal = sizeRefusal(schedule, endpoints?.length ?? 1);
        if (refusal) return { kind: 'too-large', message: refusal.message };
        const { unit, startedRuns } = runSchedule(schedule, context(), { endpoints, admittedAt });
        const result = await commit(unit);
        if (result.kind !== 'applied') continue;
        for (const startedRun of startedRuns) drive(startedRun, schedule.payload);
        const lastRun = startedRuns.at(-1);
        if (lastRun) return { kind: 'started', run: lastRun.run, count: startedRuns.length };
      }
      throw new Error('the schedule was changed repeatedly by other processes');
    });
  }

  /** Writes the decision. Resolves with `changed` if another process changed the schedule, so that it must be read again. */
  private async write({ unit, schedule }: ScheduleDecision): Promise<'applied' | 'changed' | 'too-many-schedules'> {
    try {
      const { kind } = await this.options.commit(unit);
      if (kind !== 'applied') return kind === 'too-many-schedules' ? kind : 'changed';
    } catch (error) {
      // The commit may have succeeded and only its response was lost. Then the tick must be found.
      this.retryLater();
      throw error;
    }
    if (schedule.nextAt !== null) this.scheduleRound(schedule.nextAt);
    return 'applied';
  }

  /** Schedules a round for a tick at `at` (Unix ms). */
  private scheduleRound(at: number): void {
    if (this.isStopped || at >= this.wakeAt) return;
    this.cancelTimer();
    this.wakeAt = at;
    this.cancelTimer = this.options.clock.setTimer(at, () => {
      this.wakeAt = Number.POSITIVE_INFINITY;
      void this.round();
    });
  }

  private retryLater(): void {
    this.scheduleRound(this.options.clock.now() + RETRY_AFTER_FAULT_MS);
  }

  /** Starts a round. If one is in progress, another one follows it. */
  private round(): Promise<void> {
    this.isRoundPending = true;
    this.currentRounds ??= this.runRounds().finally(() => {
      this.currentRounds = null;
    });
    return this.currentRounds;
  }

  private async runRounds(): Promise<void> {
    while (this.isRoundPending) {
      this.isRoundPending = false;
      await this.runRound();
    }
  }

  private async runRound(): Promise<void> {
    const { writes, log } = this.options;
    if (!writes.isOpen) return;
    try {
      await this.fireAllDue();
    } catch (error) {
      if (!writes.reportFailure(error)) log.error({ error: String(error) }, 'could not read due schedules, retrying in 1 s');
      this.retryLater();
    }
  }

  private async fireAllDue(): Promise<void> {
    const { store, clock } = this.options;
    /** Instances whose next schedules failed to tick. */
    const failingInstances = new Set<string>();
    const schedules = await store.dueSchedules({ before: clock.now(), limit: PAGE_SIZE });
    const isPageFull = schedules.length === PAGE_SIZE;
    let hasFailed = !isPageFull && (await this.fireEach(schedules)) < schedules.length;
    while (isPageFull && !this.isStopped) {
      const before = clock.now();
      const instances = await store.instancesWithDueSchedules({ before });
      const turn = this.turns.next(instances.filter((id) => !failingInstances.has(id)).map((instanceId) => ({ instanceId })));
      if (turn === null) {
        hasFailed = failingInstances.size > 0;
        break;
      }
      const instanceSchedules = await store.dueSchedules({ ...turn, before, limit: PAGE_SIZE });
      const firedCount = await this.fireEach(instanceSchedules);
      // Failed schedules are still due, at the start of the next page. While other schedules succeed, there may be more after
      // them.
      if (firedCount === 0 || (firedCount < instanceSchedules.length && instanceSchedules.length < PAGE_SIZE))
        failingInstances.add(turn.instanceId);
    }
    if (this.isStopped) return;
    const nextAt = await store.nextScheduleAt();
    if (nextAt === null) return;
    this.scheduleRound(hasFailed ? Math.max(nextAt, clock.now() + RETRY_AFTER_FAULT_MS) : nextAt);
  }

  /** Executes the ticks of the schedules. Returns how many of them are no longer due. */
  private async fireEach(schedules: readonly Schedule[]): Promise<number> {
    const results = await Promise.all(schedules.map((schedule) => this.fire(schedule)));
    return results.filter(Boolean).length;
  }

  /** Returns the endpoints of the schedule's URL group; empty if the group does not exist. Null if it publishes to no group. */
  private async endpointsOf({ instanceId, settings }: Schedule): Promise<readonly GroupEndpoint[] | null> {
    const name = settings.message?.urlGroup;
    if (name === undefined) return null;
    return (await this.options.store.findUrlGroup({ instanceId, name }))?.endpoints ?? [];
  }

  /** Executes the tick of a schedule. Returns false if the schedule is still due. */
  private async fire(schedule: Schedule): Promise<boolean> {
    const { commit, drive, context, log, limits, writes, observer = NO_OBSERVER } = this.options;
    const { instanceId, scheduleId } = schedule;
    try {
      const endpoints = await this.endpointsOf(schedule);
      const runs = endpoints?.length ?? 1;
      if (runs === 0) {
        const skippedTick = skipTick(schedule, null, context());
        if (!skippedTick) return false;
        await commit(skippedTick.unit);
        observer.scheduleTicked('skipped', 0);
        log.warn({ instanceId, scheduleId }, 'schedule tick was skipped, its URL group has no endpoints');
        return true;
      }
      const bodyBytes = schedule.payload.body.length;
      const admission = sizeRefusal(schedule, runs) ?? (await limits.admitTick(instanceId, { bodyBytes, runs }));
      if (admission.kind !== 'admitted') {
        const skippedTick = skipTick(schedule, admission.kind, context());
        if (!skippedTick) return false;
        await commit(skippedTick.unit);
        observer.scheduleTicked('skipped', 0);
        log.warn({ instanceId, scheduleId, reason: admission.message }, 'schedule tick was rejected, waiting for the next tick');
        return true;
      }
      const firedSchedule: FiredSchedule | null = fireSchedule(schedule, context(), { endpoints, admittedAt: admission.at });
      if (!firedSchedule) {
        limits.releaseRuns(instanceId, runs, admission);
        return false;
      }
      const result = await commit(firedSchedule.unit);
      // A failed guard means that the schedule has ticked or was changed, so it is read again. If only the response was lost,
      // the scan of due tasks finds the run.
      if (result.kind === 'applied') {
        const { now } = context();
        observer.scheduleTicked('started', now - (schedule.nextAt ?? now));
        for (const startedRun of firedSchedule.startedRuns) drive(startedRun, schedule.payload);
      } else {
        limits.releaseRuns(instanceId, runs, admission);
        this.isRoundPending = true;
      }
      if (firedSchedule.schedule.nextAt === null) log.warn({ instanceId, scheduleId }, 'schedule has no next tick');
      return true;
    } catch (error) {
      limits.recount(instanceId);
      if (!writes.reportFailure(error))
        log.error({ instanceId, scheduleId, error: String(error) }, 'could not record a schedule tick, retrying in 1 s');
      return false;
    }
  }
}
