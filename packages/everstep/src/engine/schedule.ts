/** Schedules: how one is made and changed, and what its tick starts. */
import { nextTickMs } from './cron.js';
import { type DecisionContext, newId } from './ids.js';
import { countOfDay } from './metering.js';
import type { GroupEndpoint, RunSettings, Schedule } from './run.js';
import { type Started, startRun } from './start.js';
import type { CommitUnit, DayCountKind, StoreGuard } from './writes.js';

/** A validated request for a schedule. */
export interface ScheduleRequest
  extends Pick<
    Schedule,
    'instanceId' | 'dialect' | 'cron' | 'timeZone' | 'workflowUrl' | 'payload' | 'settings' | 'delayMs' | 'callerIp'
  > {
  /** Replaces the schedule of this id; null lets the engine make one. */
  readonly scheduleId: string | null;
  /** So many the instance may have, this one with them; absent: no limit. */
  readonly most?: number;
}

export interface ScheduleDecision {
  readonly schedule: Schedule;
  readonly unit: CommitUnit;
}

/** Nobody has changed it since it was read. */
const unchanged = ({ instanceId, scheduleId }: Schedule, was: Schedule | null): StoreGuard => ({
  kind: 'schedule-unchanged',
  instanceId,
  scheduleId,
  was,
});

const putting = (schedule: Schedule, was: Schedule | null, more: readonly StoreGuard[] = []): ScheduleDecision => ({
  schedule,
  unit: { guards: [unchanged(schedule, was), ...more], writes: [{ kind: 'put-schedule', schedule }] },
});

const sameTimes = (a: Pick<Schedule, 'cron' | 'timeZone'>, b: Pick<Schedule, 'cron' | 'timeZone'>): boolean =>
  a.cron === b.cron && a.timeZone === b.timeZone;

/**
 * A new schedule, or one in the place of `existing`: that keeps its creation and what it did, and stays paused if it was.
 * When its times are the same its next tick stays too, so that a tick which is due at this very moment is not lost.
 */
export function createSchedule(request: ScheduleRequest, existing: Schedule | null, context: DecisionContext): ScheduleDecision {
  const { cron, timeZone } = request;
  const paused = existing?.paused ?? false;
  const planned = existing && sameTimes(existing, request) ? existing.nextAt : null;
  const { most } = request;
  const schedule: Schedule = {
    scheduleId: request.scheduleId ?? newId('sch', context),
    instanceId: request.instanceId,
    dialect: request.dialect,
    cron,
    timeZone,
    workflowUrl: request.workflowUrl,
    payload: request.payload,
    settings: request.settings,
    delayMs: request.delayMs,
    callerIp: request.callerIp,
    paused,
    createdAt: existing?.createdAt ?? context.now,
    nextAt: paused ? null : (planned ?? nextTickMs(cron, timeZone, context.now)),
    lastFiredAt: existing?.lastFiredAt ?? null,
    lastRunId: existing?.lastRunId ?? null,
  };
  const below =
    existing || most === undefined ? [] : [{ kind: 'schedules-below', instanceId: request.instanceId, most } as const];
  return putting(schedule, existing, below);
}

/** Null when it is so already. A schedule that is resumed ticks next at its next time from now: what it missed is left out. */
export function pauseSchedule(schedule: Schedule, paused: boolean, context: DecisionContext): ScheduleDecision | null {
  if (schedule.paused === paused) return null;
  const nextAt = paused ? null : nextTickMs(schedule.cron, schedule.timeZone, context.now);
  return putting({ ...schedule, paused, nextAt }, schedule);
}

/** The tick that is due goes by and starts nothing; what refused it is counted, if anything did. Null when none is due. */
export function skipTick(schedule: Schedule, because: DayCountKind | null, context: DecisionContext): ScheduleDecision | null {
  const { instanceId, scheduleId, nextAt: tickAt, cron, timeZone } = schedule;
  if (tickAt === null || tickAt > context.now) return null;
  const moved: Schedule = { ...schedule, nextAt: nextTickMs(cron, timeZone, context.now) };
  const guards: CommitUnit['guards'] = [
    { kind: 'schedule-due', instanceId, scheduleId, nextAt: tickAt },
    unchanged(schedule, schedule),
  ];
  const put = { kind: 'put-schedule', schedule: moved } as const;
  const writes: CommitUnit['writes'] = because === null ? [put] : [put, countOfDay(instanceId, because, context)];
  return { schedule: moved, unit: { guards, writes } };
}

export interface Fired extends ScheduleDecision {
  /** One; of a message to a group, one for each endpoint. */
  readonly started: readonly Started[];
}

/** What is known of a tick beside its schedule. */
export interface TickFacts {
  /** Of the group that it publishes to; null: it is not for a group. */
  readonly endpoints?: readonly GroupEndpoint[] | null;
  /** Unix ms at which it was let in; null: nobody had to. */
  readonly letInAt?: number | null;
}

/** What a tick starts. A message goes to the endpoints, when it is for a group. */
function startedBy(schedule: Schedule, tickAt: number, facts: Required<TickFacts>, context: DecisionContext) {
  const { endpoints, letInAt } = facts;
  const { instanceId, scheduleId, settings } = schedule;
  const start = (workflowUrl: string, message: RunSettings['message']): Started =>
    startRun(
      {
        instanceId,
        dialect: schedule.dialect,
        workflowUrl,
        payload: schedule.payload,
        settings: message ? { ...settings, message: { ...message, scheduleId } } : settings,
        callerIp: schedule.callerIp,
        workflowRunId: null,
        notBefore: tickAt + schedule.delayMs,
        deduplicationId: null,
        origin: { kind: 'schedule', scheduleId },
        letInAt,
      },
      context,
    );
  const { message } = settings;
  if (!message || !endpoints) return [start(schedule.workflowUrl, message)];
  return endpoints.map(({ url, name }) => start(url, name === null ? message : { ...message, endpointName: name }));
}

/**
 * The tick that is due starts a run. The run and the move to the next tick are one unit, guarded by this tick, so no tick
 * starts two. The next one is later than now: of ticks that were missed, while the service was down for instance, one run is made.
 */
export function fireSchedule(
  schedule: Schedule,
  context: DecisionContext,
  { endpoints = null, letInAt = null }: TickFacts = {},
): Fired | null {
  const { instanceId, scheduleId, nextAt: tickAt } = schedule;
  if (tickAt === null || tickAt > context.now) return null;
  const started = startedBy(schedule, tickAt, { endpoints, letInAt }, context);
  const moved: Schedule = {
    ...schedule,
    nextAt: nextTickMs(schedule.cron, schedule.timeZone, context.now),
    lastFiredAt: context.now,
    lastRunId: started.at(-1)?.run.workflowRunId ?? schedule.lastRunId,
  };
  const unit: CommitUnit = {
    guards: [
      { kind: 'schedule-due', instanceId, scheduleId, nextAt: tickAt },
      unchanged(schedule, schedule),
      ...started.flatMap(({ unit }) => unit.guards),
    ],
    writes: [...started.flatMap(({ unit }) => unit.writes), { kind: 'put-schedule', schedule: moved }],
  };
  return { schedule: moved, started, unit };
}

/** Starts at once what its tick starts, paused or not; the tick that comes next stays as it is. */
export function runSchedule(
  schedule: Schedule,
  context: DecisionContext,
  { endpoints = null, letInAt = null }: TickFacts = {},
): Fired {
  const { instanceId, scheduleId, nextAt } = schedule;
  const started = startedBy(schedule, context.now, { endpoints, letInAt }, context);
  const run: Schedule = {
    ...schedule,
    lastFiredAt: context.now,
    lastRunId: started.at(-1)?.run.workflowRunId ?? schedule.lastRunId,
  };
  const unit: CommitUnit = {
    guards: [{ kind: 'schedule-due', instanceId, scheduleId, nextAt }, ...started.flatMap(({ unit }) => unit.guards)],
    writes: [...started.flatMap(({ unit }) => unit.writes), { kind: 'put-schedule', schedule: run }],
  };
  return { schedule: run, started, unit };
}

/** Its next ticks after `afterMs`, Unix ms, whether it is paused or not; fewer when there are no more. */
export function nextTicks(
  { cron, timeZone }: Pick<Schedule, 'cron' | 'timeZone'>,
  afterMs: number,
  count: number,
): readonly number[] {
  const ticks: number[] = [];
  for (let at: number | null = afterMs; ticks.length < count; ticks.push(at)) {
    at = nextTickMs(cron, timeZone, at);
    if (at === null) break;
  }
  return ticks;
}
