/** Changes parts of a schedule, so that a client need not send the whole schedule again. */
import { ApiError } from '../../../contract/error-codes.js';
import { ScheduleChange, ScheduleEntry } from '../../../contract/schedules.js';
import type { Schedule } from '../../../engine/runs/run.js';
import { allowSize } from '../../admission/plan-limits.js';
import { allowPublication } from '../../admission/publication-size.js';
import { change } from '../../audited/audit-rule.js';
import { type Operation, operation, respond } from '../../operation.js';
import { quoteValue } from '../../parameters/value-errors.js';
import { presentSchedule } from '../../presenters/schedule.js';
import { countRuns } from './schedule-runs.js';
import { parseCronFields, SchedulePath, scheduleNotFound } from './schedules.js';

/** Returns the new times, or undefined if they do not change. Throws ApiError if they are invalid. */
function timesOf({ cron, timezone }: ScheduleChange, schedule: Schedule): Pick<Schedule, 'cron' | 'timeZone'> | undefined {
  if (cron === undefined && timezone === undefined) return undefined;
  const fields = { cronField: '"cron"', timeZoneField: '"timezone"', code: 'bad-body' } as const;
  return parseCronFields({ cron: cron ?? schedule.cron, timeZone: timezone }, schedule.timeZone, fields);
}

function labelsOf({ labels }: ScheduleChange): readonly string[] | undefined {
  const invalidLabel = labels?.find((label) => label.includes(',') || label.trim() !== label);
  if (invalidLabel === undefined) return labels;
  throw new ApiError(
    'bad-body',
    `"labels" must not contain labels with commas, or with spaces at the start or end, such as ${quoteValue(invalidLabel)}`,
  );
}

const changeSchedule = operation({
  operationId: 'changeSchedule',
  audit: change('schedule.change', 'scheduleId'),
  tag: 'Schedules',
  summary: 'Change a schedule',
  description:
    'Changes the times, the payload, the retries or the labels of a schedule, and keeps everything else: its destination, its other settings, its history and whether it is paused. If the times do not change, the next run time stays the same. Runs that have started continue.',
  method: 'PATCH',
  path: '/v2/schedules/{scheduleId}',
  unknownQuery: 'refuse',
  pathParameters: SchedulePath,
  body: { kind: 'json', required: true, schema: ScheduleChange },
  responses: { 200: ScheduleEntry },
  errors: ['bad-parameter', 'bad-body', 'unsupported-media-type', 'not-found', 'body-too-large', 'storage-quota-exceeded'],
  async handle({ path: { scheduleId }, body: patch = {} }, context, { instanceId }) {
    const { reads, service } = context;
    const schedule = await reads.schedules.findSchedule({ instanceId, scheduleId });
    if (!schedule) throw scheduleNotFound(scheduleId);
    const times = timesOf(patch, schedule);
    const labels = labelsOf(patch);
    const body = patch.body === undefined ? undefined : Buffer.from(patch.body, 'utf8');
    if (body !== undefined) {
      allowSize(context, instanceId, body);
      allowPublication({ ...schedule, payload: { ...schedule.payload, body } }, await countRuns(context, schedule));
    }
    const edit = {
      ...(times === undefined ? {} : { times }),
      ...(body === undefined ? {} : { body }),
      ...(patch.retries === undefined ? {} : { maxRetries: patch.retries }),
      ...(labels === undefined ? {} : { labels }),
    };
    const editedSchedule = await service.schedules.edit({ instanceId, scheduleId, edit });
    if (!editedSchedule) throw scheduleNotFound(scheduleId);
    return respond(200, presentSchedule(editedSchedule));
  },
});

export const scheduleChangeOperations: readonly Operation[] = [changeSchedule];
