/** Schedules: how they are created and changed, and what their ticks start. */

import { type DecisionContext, newId } from '../ids.js';
import { incrementDailyCount } from '../limits/metering.js';
import type { GroupEndpoint, RunSettings, Schedule } from '../runs/run.js';
import { type StartedRun, startRun } from '../runs/start.js';
import type { CommitUnit, DayCountKind, StoreGuard } from '../writes.js';
import { nextTickMs } from './cron.js';

/** A validated request for a schedule. */
export interface ScheduleRequest
  extends Pick<
    Schedule,
    'instanceId' | 'dialect' | 'cron' | 'timeZone' | 'workflowUrl' | 'payload' | 'settings' | 'delayMs' | 'callerIp'
  > {
  /** Id of the schedule to create or replace; null lets the engine generate one. */
  readonly scheduleId: string | null;
  /** Maximum number of schedules of the instance, including this one. Absent means no limit. */
  readonly max?: number;
}

/** The new state of a schedule, and the unit that writes it. */
export interface ScheduleDecision {
  readonly schedule: Schedule;
  readonly unit: CommitUnit;
}

/** Guards against changes since the schedule was read. */
const unchangedGuard = ({ instanceId, scheduleId }: Schedule, previous: Schedule | null): StoreGuard => ({
  kind: 'schedule-unchanged',
  instanceId,
  scheduleId,
  was: previous,
});

const putDecision = (
  schedule: Schedule,
  previous: Schedule | null,
  otherGuards: readonly StoreGuard[] = [],
): ScheduleDecision => ({
  schedule,
  unit: { guards: [unchangedGuard(schedule, previous), ...otherGuards], writes: [{ kind: 'put-schedule', schedule }] },
});

const hasSameTimes = (a: Pick<Schedule, 'cron' | 'timeZone'>, b: Pick<Schedule, 'cron' | 'timeZone'>): boolean =>
  a.cron === b.cron && a.timeZone === b.timeZone;

/**
 * Creates a schedule, or replaces `existing`. A replacement keeps the creation time, history and paused state. If its
 * times are the same, it also keeps the next tick, so that a tick which is due at this moment is not lost.
 */
export function createSchedule(request: ScheduleRequest, existing: Schedule | null, context: DecisionContext): ScheduleDecision {
  const { cron, timeZone } = request;
  const paused = existing?.paused ?? false;
  const keptNextAt = existing && hasSameTimes(existing, request) ? existing.nextAt : null;
  const { max } = request;
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
    nextAt: paused ? null : (keptNextAt ?? nextTickMs(cron, timeZone, context.now)),
    lastFiredAt: existing?.lastFiredAt ?? null,
    lastRunId: existing?.lastRunId ?? null,
  };
  const limitGuards =
    existing || max === undefined ? [] : [{ kind: 'schedules-below', instanceId: request.instanceId, max } as const];
  return putDecision(schedule, existing, limitGuards);
}

/** The parts of a schedule that a change replaces; absent parts do not change. */
export interface ScheduleEdit {
  /** Validated expression and IANA name of its time zone. */
  readonly times?: Pick<Schedule, 'cron' | 'timeZone'>;
  readonly body?: Uint8Array;
  readonly maxRetries?: number;
  readonly labels?: readonly string[];
}

/** Changes parts of a schedule. It keeps its next tick if its times are the same. */
export function editSchedule(schedule: Schedule, edit: ScheduleEdit, context: DecisionContext): ScheduleDecision {
  const { times = schedule, body, maxRetries, labels } = edit;
  const { cron, timeZone } = times;
  const nextAt = schedule.paused || hasSameTimes(schedule, times) ? schedule.nextAt : nextTickMs(cron, timeZone, context.now);
  const editedSchedule: Schedule = {
    ...schedule,
    cron,
    timeZone,
    nextAt,
    payload: body === undefined ? schedule.payload : { ...schedule.payload, body },
    settings: {
      ...schedule.settings,
      ...(maxRetries === undefined ? {} : { maxRetries }),
      ...(labels === undefined ? {} : { labels }),
    },
  };
  return putDecision(editedSchedule, schedule);
}

/**
 * Pauses or resumes a schedule. Returns null if it is already in that state. The next tick of a resumed schedule is
 * the first one after now; missed ticks are skipped.
 */
export function setSchedulePaused(schedule: Schedule, paused: boolean, context: DecisionContext): ScheduleDecision | null {
  if (schedule.paused === paused) return null;
  const nextAt = paused ? null : nextTickMs(schedule.cron, schedule.timeZone, context.now);
  return putDecision({ ...schedule, paused, nextAt }, schedule);
}

/** Skips the due tick without starting anything, and counts the reason if there is one. Returns null if no tick is due. */
export function skipTick(schedule: Schedule, reason: DayCountKind | null, context: DecisionContext): ScheduleDecision | null {
  const { instanceId, scheduleId, nextAt: tickAt, cron, timeZone } = schedule;
  if (tickAt === null || tickAt > context.now) return null;
  const movedSchedule: Schedule = { ...schedule, nextAt: nextTickMs(cron, timeZone, context.now) };
  const guards: CommitUnit['guards'] = [
    { kind: 'schedule-due', instanceId, scheduleId, nextAt: tickAt },
    unchangedGuard(schedule, schedule),
  ];
  const putSchedule = { kind: 'put-schedule', schedule: movedSchedule } as const;
  const writes: CommitUnit['writes'] =
    reason === null ? [putSchedule] : [putSchedule, incrementDailyCount(instanceId, reason, context)];
  return { schedule: movedSchedule, unit: { guards, writes } };
}

/** Decision that starts the runs of a schedule, for a tick or a manual run. */
export interface FiredSchedule extends ScheduleDecision {
  /** One run, or one run for each endpoint if the schedule publishes to a URL group. */
  readonly startedRuns: readonly StartedRun[];
}

/** Inputs of a start in addition to the schedule. */
export interface StartInputs {
  /** Endpoints of the URL group to which the schedule publishes. Null if it does not publish to a group. */
  readonly endpoints?: readonly GroupEndpoint[] | null;
  /** Time of the admission, Unix ms. Null if no admission was required. */
  readonly admittedAt?: number | null;
}

/** Returns the runs that a tick starts. A message to a URL group starts one run for each endpoint. */
function startRuns(schedule: Schedule, tickAt: number, facts: Required<StartInputs>, context: DecisionContext) {
  const { endpoints, admittedAt } = facts;
  const { instanceId, scheduleId, settings } = schedule;
  const start = (workflowUrl: string, message: RunSettings['message']): StartedRun =>
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
        admittedAt,
      },
      context,
    );
  const { message } = settings;
  if (!message || !endpoints) return [start(schedule.workflowUrl, message)];
  return endpoints.map(({ url, name }) => start(url, name === null ? message : { ...message, endpointName: name }));
}

/**
 * Starts the runs of the due tick. The runs and the move to the next tick are one unit, guarded by this tick, so no tick fires
 * twice. The next tick is later than now. Several missed ticks, for example after downtime, fire once. Returns null if no tick
 * is due.
 */
export function fireSchedule(
  schedule: Schedule,
  context: DecisionContext,
  { endpoints = null, admittedAt = null }: StartInputs = {},
): FiredSchedule | null {
  const { instanceId, scheduleId, nextAt: tickAt } = schedule;
  if (tickAt === null || tickAt > context.now) return null;
  const startedRuns = startRuns(schedule, tickAt, { endpoints, admittedAt }, context);
  const movedSchedule: Schedule = {
    ...schedule,
    nextAt: nextTickMs(schedule.cron, schedule.timeZone, context.now),
    lastFiredAt: context.now,
    lastRunId: startedRuns.at(-1)?.run.workflowRunId ?? schedule.lastRunId,
  };
  const unit: CommitUnit = {
    guards: [
      { kind: 'schedule-due', instanceId, scheduleId, nextAt: tickAt },
      unchangedGuard(schedule, schedule),
      ...startedRuns.flatMap(({ unit }) => unit.guards),
    ],
    writes: [...startedRuns.flatMap(({ unit }) => unit.writes), { kind: 'put-schedule', schedule: movedSchedule }],
  };
  return { schedule: movedSchedule, startedRuns, unit };
}

/** Starts a run now, as a tick would, even if the schedule is paused. The next tick does not change. */
export function runSchedule(
  schedule: Schedule,
  context: DecisionContext,
  { endpoints = null, admittedAt = null }: StartInputs = {},
): FiredSchedule {
  const { instanceId, scheduleId, nextAt } = schedule;
  const startedRuns = startRuns(schedule, context.now, { endpoints, admittedAt }, context);
  const updatedSchedule: Schedule = {
    ...schedule,
    lastFiredAt: context.now,
    lastRunId: startedRuns.at(-1)?.run.workflowRunId ?? schedule.lastRunId,
  };
  const unit: CommitUnit = {
    guards: [
      { kind: 'schedule-due', instanceId, scheduleId, nextAt },
      unchangedGuard(schedule, schedule),
      ...startedRuns.flatMap(({ unit }) => unit.guards),
    ],
    writes: [...startedRuns.flatMap(({ unit }) => unit.writes), { kind: 'put-schedule', schedule: updatedSchedule }],
  };
  return { schedule: updatedSchedule, startedRuns, unit };
}

/** Returns up to `count` ticks after `afterMs`, in Unix ms. Ignores whether the schedule is paused. */
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
