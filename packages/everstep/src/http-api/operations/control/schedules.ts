/** Operations of schedules, which start runs periodically. */

import Type from 'typebox';
import { LIMITS } from '../../../config/limits.js';
import { ApiError, type ErrorCode } from '../../../contract/error-codes.js';
import { DeletedSchedule, ScheduleEntry, ScheduleList, ScheduleReference } from '../../../contract/schedules.js';
import type { Schedule } from '../../../engine/runs/run.js';
import { parseCron } from '../../../engine/schedules/cron.js';
import type { ScheduleCommand } from '../../../runtime/services/workflow-service.js';
import { allowSize, allowSpending, tooManySchedules } from '../../admission/plan-limits.js';
import { change } from '../../audited/audit-rule.js';
import { type ApiContext, type Operation, operation, type RequestContext, respond } from '../../operation.js';
import { quoteValue } from '../../parameters/value-errors.js';
import { Text } from '../../parameters/values.js';
import { presentSchedule } from '../../presenters/schedule.js';
import { allowNamedObjects } from '../../quotas/named-objects.js';
import { listSchedules } from '../../read-models/schedule-list.js';
import { SCHEDULE_PATH } from '../../server/target.js';
import { checkDestination, FORWARD, ScheduleHeaders, TRIGGER_FAMILIES } from '../triggers/setting-headers.js';
import { destinationOf, stringOrNull } from '../triggers/trigger.js';
import { dialectFor, scheduledSettings, settingsOf, workflowUrlOf } from '../triggers/trigger-command.js';

const TAG = 'Schedules';
const DEFAULT_TIME_ZONE = 'UTC';
const TIME_ZONE_IN_CRON = /^\s*CRON_TZ=/;

export const SchedulePath = Type.Object({ scheduleId: Text(LIMITS.maxRunIdLength, { description: 'Id of the schedule.' }) });
export const scheduleNotFound = (scheduleId: string): ApiError =>
  new ApiError('not-found', `schedule ${quoteValue(scheduleId)} not found`);

/** Names of the expression and the time zone in the request, and the code of an error. */
interface TimeFields {
  readonly cronField: string;
  readonly timeZoneField: string;
  readonly code: ErrorCode;
}

/** Returns the cron expression and its time zone. Throws ApiError if they are invalid, or if the time zone is given twice. */
export function parseCronFields(
  { cron, timeZone }: { readonly cron: string; readonly timeZone: string | undefined },
  defaultTimeZone: string,
  { cronField, timeZoneField, code }: TimeFields,
): Pick<Schedule, 'cron' | 'timeZone'> {
  if (timeZone !== undefined && TIME_ZONE_IN_CRON.test(cron))
    throw new ApiError(code, `${cronField} and ${timeZoneField} both contain a time zone; set it in only one of them`);
  const parsedCron = parseCron(cron, timeZone ?? defaultTimeZone);
  if (parsedCron.ok) return { cron: parsedCron.cron, timeZone: parsedCron.timeZone };
  const problem =
    parsedCron.invalid === 'time-zone' ? `${timeZoneField} is invalid` : `${cronField} is not a valid cron expression`;
  throw new ApiError(code, `${problem}: ${parsedCron.message}`);
}

/** Returns the cron expression and the time zone in the headers. Throws ApiError like `parseCronFields`. */
export const cronOf = (
  { Cron: cron, 'Cron-Timezone': timeZone }: Pick<ScheduleHeaders, 'Cron' | 'Cron-Timezone'>,
  { dialect }: RequestContext,
): Pick<Schedule, 'cron' | 'timeZone'> =>
  parseCronFields({ cron, timeZone }, DEFAULT_TIME_ZONE, {
    cronField: dialect.spell('Cron'),
    timeZoneField: dialect.spell('Cron-Timezone'),
    code: 'bad-header',
  });

/** Creates or replaces a schedule. Throws ApiError when the limit is reached; replacing a schedule is always possible. */
export async function putSchedule(context: ApiContext, command: Omit<ScheduleCommand, 'max'>): Promise<Schedule> {
  const { limits, service } = context;
  const { instanceId } = command;
  const plan = limits?.plan(instanceId) ?? null;
  const planMax = plan?.maxSchedules ?? null;
  const max = Math.min(planMax ?? LIMITS.maxSchedules, LIMITS.maxSchedules);
  const schedule = await service.schedules.put({ ...command, max });
  if (schedule !== 'too-many-schedules') return schedule;
  if (plan && planMax !== null) {
    const message = `the queue instance has reached the limit of schedules of the plan ${plan.name} (maxSchedules: ${planMax}); delete one, or ask the operator for another plan`;
    throw tooManySchedules(context, instanceId, message);
  }
  throw new ApiError(
    'too-many-schedules',
    `the queue instance has reached the limit of ${LIMITS.maxSchedules} schedules; delete one first`,
  );
}

const createSchedule = operation({
  operationId: 'createSchedule',
  audit: change('schedule.put', 'scheduleId'),
  tag: TAG,
  summary: 'Create or replace a schedule',
  description:
    'At each run time, Everstep starts a run of the workflow with this body and these headers. Run times that were missed while the server was down start a single run. Each run gets its own id, so `Workflow-RunId` and deduplication are not supported, nor are `Not-Before` and `Wait-For-Result`.',
  method: 'POST',
  path: `${SCHEDULE_PATH}{destination}`,
  unknownQuery: 'part-of-path',
  pathParameters: Type.Object({
    destination: Type.String({
      description:
        'Absolute http or https URL of the workflow, raw or percent-encoded. The query of the request is part of the URL.',
    }),
  }),
  headers: ScheduleHeaders,
  headerFamilies: TRIGGER_FAMILIES,
  body: { kind: 'bytes', description: 'Payload of the runs: any bytes with any content type.' },
  responses: { 200: ScheduleReference },
  errors: [
    'bad-header',
    'bad-url',
    'bad-expression',
    'blocked-address',
    'budget-exceeded',
    'storage-quota-exceeded',
    'too-many-flow-control-keys',
    'too-many-queues',
    'body-too-large',
    'too-many-schedules',
  ],
  async handle({ headers, headersByFamily, body, request }, context, { instanceId }) {
    const destination = destinationOf(request.target, SCHEDULE_PATH);
    const workflowUrl = workflowUrlOf({ destination, destinationName: 'the workflow URL' });
    const destinationContext = { context, request, instanceId };
    checkDestination(workflowUrl, null, destinationContext);
    const scheduleId = headers['Schedule-Id'] ?? null;
    const command = {
      instanceId,
      dialect: dialectFor(workflowUrl, request),
      scheduleId,
      ...cronOf(headers, request),
      workflowUrl,
      payload: {
        body,
        contentType: stringOrNull(request.headers['content-type']),
        forwardHeaders: headersByFamily[FORWARD] ?? {},
      },
      settings: scheduledSettings(settingsOf({ headers, headersByFamily }, destinationContext)),
      delayMs: headers.Delay ?? 0,
      callerIp: request.callerIp,
    };
    allowSize(context, instanceId, body);
    await allowNamedObjects(context, instanceId, [command.settings]);
    await allowSpending(context, instanceId);
    const schedule = await putSchedule(context, command);
    return respond(200, { scheduleId: schedule.scheduleId });
  },
});

const listOperation = operation({
  operationId: 'listSchedules',
  tag: TAG,
  summary: 'List schedules',
  description: `Returns schedules, oldest first. A payload larger than ${LIMITS.maxListedBodyBytes} bytes is omitted, as \`bodyLeftOut\` indicates; get the schedule to read it.`,
  method: 'GET',
  path: '/v2/schedules',
  unknownQuery: 'ignore',
  responses: { 200: ScheduleList },
  errors: [],
  handle: async ({ request }, { reads }, { instanceId }) =>
    respond(200, await listSchedules(reads.schedules, instanceId, request.reserve, presentSchedule)),
});

const getSchedule = operation({
  operationId: 'getSchedule',
  tag: TAG,
  summary: 'Get a schedule',
  description: 'Returns the schedule with its whole payload.',
  method: 'GET',
  path: '/v2/schedules/{scheduleId}',
  unknownQuery: 'ignore',
  pathParameters: SchedulePath,
  responses: { 200: ScheduleEntry },
  errors: ['bad-parameter', 'not-found'],
  async handle({ path: { scheduleId } }, { reads }, { instanceId }) {
    const schedule = await reads.schedules.findSchedule({ instanceId, scheduleId });
    if (!schedule) throw scheduleNotFound(scheduleId);
    return respond(200, presentSchedule(schedule));
  },
});

const deleteSchedule = operation({
  operationId: 'deleteSchedule',
  audit: change('schedule.delete', 'scheduleId'),
  tag: TAG,
  summary: 'Delete a schedule',
  description: 'Runs that have started continue.',
  method: 'DELETE',
  path: '/v2/schedules/{scheduleId}',
  unknownQuery: 'refuse',
  pathParameters: SchedulePath,
  responses: { 200: DeletedSchedule },
  errors: ['bad-parameter', 'not-found'],
  async handle({ path: { scheduleId } }, { service }, { instanceId }) {
    if (!(await service.schedules.delete({ instanceId, scheduleId }))) throw scheduleNotFound(scheduleId);
    return respond(200, { deleted: 1 });
  },
});

const pauseOperation = (verb: 'pause' | 'resume', summary: string, description: string): Operation =>
  operation({
    operationId: `${verb}Schedule`,
    audit: change(`schedule.${verb}`, 'scheduleId'),
    tag: TAG,
    summary,
    description,
    method: 'PATCH',
    path: `/v2/schedules/{scheduleId}/${verb}`,
    unknownQuery: 'refuse',
    pathParameters: SchedulePath,
    responses: { 200: ScheduleEntry },
    errors: ['bad-parameter', 'not-found'],
    async handle({ path: { scheduleId } }, { service }, { instanceId }) {
      const schedule = await service.schedules.pause({ instanceId, scheduleId, paused: verb === 'pause' });
      if (!schedule) throw scheduleNotFound(scheduleId);
      return respond(200, presentSchedule(schedule));
    },
  });

export const scheduleOperations: readonly Operation[] = [
  createSchedule,
  listOperation,
  getSchedule,
  deleteSchedule,
  pauseOperation(
    'pause',
    'Pause a schedule',
    'The schedule does not start runs until it is resumed. Runs that have started continue.',
  ),
  pauseOperation(
    'resume',
    'Resume a schedule',
    'The schedule continues at its next regular time. Times that it missed are skipped.',
  ),
];
