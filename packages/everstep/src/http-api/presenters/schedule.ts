/** Presents schedules. */
import type { ScheduleEntry } from '../../contract/schedules.js';
import type { ListedSchedule } from '../../ports/stores/store.js';
import { presentStartBody, sentHeaders } from './dead-letter.js';
import { optional } from './optional.js';

export function presentSchedule(schedule: ListedSchedule): ScheduleEntry {
  const { settings, payload, delayMs } = schedule;
  const { redact } = settings;
  return {
    scheduleId: schedule.scheduleId,
    cron: schedule.cron,
    timezone: schedule.timeZone,
    destination: schedule.workflowUrl,
    method: 'POST',
    header: sentHeaders(payload, redact),
    ...presentStartBody(payload, redact),
    ...optional('bodyLeftOut', schedule.bodyLeftOut),
    retries: settings.maxRetries,
    ...optional('retryDelay', settings.retryDelay),
    timeoutMs: settings.deliveryTimeoutMs,
    ...optional('delay', delayMs === 0 ? null : delayMs / 1000),
    ...optional('failureCallback', settings.failureCallback?.url),
    callerIP: schedule.callerIp,
    ...optional('label', settings.labels[0]),
    labels: [...settings.labels],
    ...optional('flowControlKey', settings.flowControl?.key),
    isPaused: schedule.paused,
    createdAt: schedule.createdAt,
    ...optional('nextScheduleTime', schedule.nextAt),
    ...optional('lastScheduleTime', schedule.lastFiredAt),
    ...optional('lastScheduleRunId', schedule.lastRunId),
  };
}
