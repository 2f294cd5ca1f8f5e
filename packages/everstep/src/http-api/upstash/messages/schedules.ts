/** Schedules that publish messages to a URL, a URL group or a queue. Delete, and pause with PATCH, are shared operations. */

import Type from 'typebox';
import { LIMITS } from '../../../config/limits.js';
import { Empty } from '../../../contract/empty.js';
import { ApiError } from '../../../contract/error-codes.js';
import { ScheduleReference } from '../../../contract/schedules.js';
import type { RunStatus } from '../../../engine/runs/run.js';
import type { ListedSchedule } from '../../../ports/stores/store.js';
import type { MessageDestination } from '../../../runtime/services/workflow-service.js';
import { allowSize, allowSpending } from '../../admission/plan-limits.js';
import { allowPublication } from '../../admission/publication-size.js';
import { change } from '../../audited/audit-rule.js';
import { type ApiContext, type Operation, operation, respond } from '../../operation.js';
import { cronOf, putSchedule, SchedulePath, scheduleNotFound } from '../../operations/control/schedules.js';
import { FORWARD, ScheduleHeaders as NativeScheduleHeaders } from '../../operations/triggers/setting-headers.js';
import { destinationOf, stringOrNull } from '../../operations/triggers/trigger.js';
import { scheduledSettings } from '../../operations/triggers/trigger-command.js';
import { quoteValue } from '../../parameters/value-errors.js';
import { Text } from '../../parameters/values.js';
import { presentStartBody, sentHeaders } from '../../presenters/dead-letter.js';
import { optional } from '../../presenters/optional.js';
import { allowNamedObjects } from '../../quotas/named-objects.js';
import { listSchedules } from '../../read-models/schedule-list.js';
import { SCHEDULE_PATH } from '../../server/target.js';
import { ScheduleEntry } from '../shapes.js';
import { checkName, destinationFor, messageSettings } from './message-command.js';
import { MESSAGE_FAMILIES, sharedHeaders } from './message-headers.js';
import { presentLabels, presentLimits } from './present-message.js';

const TAG = 'Schedules';
const UTC = 'UTC';
const { Cron, 'Cron-Timezone': cronTimeZone, 'Schedule-Id': scheduleId } = NativeScheduleHeaders.properties;

export const ScheduleHeaders = Type.Object({
  ...sharedHeaders,
  Cron,
  'Cron-Timezone': cronTimeZone,
  'Schedule-Id': scheduleId,
  'Queue-Name': Type.Optional(Text(LIMITS.maxQueueNameLength, { description: 'Queue for the messages.' })),
});

/**
 * Returns the number of messages that a schedule to this destination publishes at a time. Throws ApiError if the destination is a
 * URL group that does not exist: a schedule with such a group would never publish anything.
 */
async function countMessages({ service }: ApiContext, instanceId: string, destination: MessageDestination): Promise<number> {
  if (destination.kind === 'url') return 1;
  const { name } = destination;
  const group = await service.urlGroups.find({ instanceId, name });
  if (!group) throw new ApiError('not-found', `URL group ${quoteValue(name)} does not exist; add an endpoint to it first`);
  return group.endpoints.length;
}

const createSchedule = operation({
  operationId: 'createMessageSchedule',
  audit: change('schedule.put', 'scheduleId'),
  tag: TAG,
  summary: 'Create or replace a message schedule',
  description:
    'Publishes a message with this body and these headers at each scheduled time: to the URL, to each endpoint of the URL group, or to the queue. A message to a workflow starts a run. If several scheduled times are missed during downtime, only one message is published.',
  method: 'POST',
  path: `${SCHEDULE_PATH}{destination}`,
  dialect: 'upstash',
  unknownQuery: 'part-of-path',
  pathParameters: Type.Object({
    destination: Type.String({
      description: 'Absolute http or https URL, raw or percent-encoded, or the name of a URL group.',
    }),
  }),
  headers: ScheduleHeaders,
  headerFamilies: MESSAGE_FAMILIES,
  body: { kind: 'bytes', description: 'Body of the messages: any bytes, of any content type.' },
  responses: { 200: ScheduleReference },
  errors: [
    'bad-parameter',
    'bad-header',
    'bad-url',
    'bad-expression',
    'blocked-address',
    'budget-exceeded',
    'storage-quota-exceeded',
    'too-many-flow-control-keys',
    'too-many-queues',
    'body-too-large',
    'not-found',
    'too-many-schedules',
  ],
  async handle({ headers, headersByFamily, body, request }, context, { instanceId }) {
    const destinationContext = { context, request, instanceId };
    const destination = destinationFor(destinationOf(request.target, SCHEDULE_PATH), destinationContext);
    const { settings, method, callback } = messageSettings(headers, headersByFamily, destinationContext);
    const queue = headers['Queue-Name'];
    const message = {
      method,
      ...optional('callback', callback),
      ...optional('queue', queue === undefined ? null : checkName(queue, 'the name of a queue')),
      ...optional('urlGroup', destination.kind === 'url-group' ? destination.name : null),
    };
    const requestedId = headers['Schedule-Id'] ?? null;
    const command = {
      instanceId,
      dialect: request.dialect.name,
      scheduleId: requestedId,
      ...cronOf(headers, request),
      workflowUrl: destination.kind === 'url' ? destination.url : destination.name,
      payload: {
        body,
        contentType: stringOrNull(request.headers['content-type']),
        forwardHeaders: headersByFamily[FORWARD] ?? {},
      },
      settings: { ...scheduledSettings(settings), message },
      delayMs: headers.Delay ?? 0,
      callerIp: request.callerIp,
    };
    allowSize(context, instanceId, body);
    allowPublication(command, await countMessages(context, instanceId, destination));
    await allowNamedObjects(context, instanceId, [command.settings]);
    await allowSpending(context, instanceId);
    const schedule = await putSchedule(context, command);
    return respond(200, { scheduleId: schedule.scheduleId });
  },
});

const STATES = { active: 'IN_PROGRESS', succeeded: 'SUCCESS', failed: 'FAIL', canceled: 'FAIL' } as const;

/** Presents a schedule. `lastStatus` is the status of the message or run of the last scheduled time. */
function present(schedule: ListedSchedule, lastStatus: RunStatus | null = null): ScheduleEntry {
  const { settings, payload, delayMs, timeZone, cron, callerIp, lastRunId } = schedule;
  const { redact, message } = settings;
  return {
    scheduleId: schedule.scheduleId,
    cron: timeZone === UTC ? cron : `CRON_TZ=${timeZone} ${cron}`,
    destination: message?.urlGroup ?? schedule.workflowUrl,
    createdAt: schedule.createdAt,
    method: message?.method ?? 'POST',
    header: sentHeaders(payload, redact),
    ...presentStartBody(payload, redact),
    ...optional('bodyLeftOut', schedule.bodyLeftOut),
    retries: settings.maxRetries,
    ...optional('retryDelayExpression', settings.retryDelay),
    ...optional('delay', delayMs === 0 ? null : delayMs / 1000),
    ...optional('callback', message?.callback?.url),
    ...optional('failureCallback', settings.failureCallback?.url),
    callerIP: callerIp,
    callerIp,
    isPaused: schedule.paused,
    ...optional('queueName', message?.queue),
    ...presentLimits(settings.flowControl),
    ...presentLabels(settings.labels),
    ...optional('lastScheduleTime', schedule.lastFiredAt),
    ...optional('nextScheduleTime', schedule.nextAt),
    ...optional('lastScheduleStates', lastStatus && lastRunId !== null ? { [lastRunId]: STATES[lastStatus] } : null),
  };
}

const listOperation = operation({
  operationId: 'listMessageSchedules',
  tag: TAG,
  summary: 'List schedules',
  description: `Oldest first. A body of more than ${LIMITS.maxListedBodyBytes} bytes is omitted, and bodyLeftOut is its size. Get the single schedule to see the body.`,
  method: 'GET',
  path: '/v2/schedules',
  dialect: 'upstash',
  unknownQuery: 'ignore',
  responses: { 200: Type.Array(ScheduleEntry) },
  errors: [],
  handle: async ({ request }, { reads }, { instanceId }) =>
    respond(200, await listSchedules(reads.schedules, instanceId, request.reserve, (schedule) => present(schedule))),
});

const getSchedule = operation({
  operationId: 'getMessageSchedule',
  tag: TAG,
  summary: 'Get a schedule',
  description: 'Returns the schedule, with the state of the last run or message that it started.',
  method: 'GET',
  path: '/v2/schedules/{scheduleId}',
  dialect: 'upstash',
  unknownQuery: 'ignore',
  pathParameters: SchedulePath,
  responses: { 200: ScheduleEntry },
  errors: ['bad-parameter', 'not-found'],
  async handle({ path }, { reads, service }, { instanceId }) {
    const schedule = await reads.schedules.findSchedule({ instanceId, scheduleId: path.scheduleId });
    if (!schedule) throw scheduleNotFound(path.scheduleId);
    const { lastRunId, settings } = schedule;
    if (lastRunId === null) return respond(200, present(schedule));
    const lastRun = settings.message
      ? (await service.messages.find({ instanceId, messageId: lastRunId }))?.run
      : await reads.runs.findRun({ instanceId, workflowRunId: lastRunId });
    return respond(200, present(schedule, lastRun?.status ?? null));
  },
});

/** Pause and resume as documented for this API. Its client uses PATCH, which is a shared operation. */
const pauseOperation = (action: 'pause' | 'resume', summary: string, description: string): Operation =>
  operation({
    operationId: `${action}MessageSchedule`,
    audit: change(`schedule.${action}`, 'scheduleId'),
    tag: TAG,
    summary,
    description,
    method: 'POST',
    path: `${SCHEDULE_PATH}{scheduleId}/${action}`,
    dialect: 'upstash',
    unknownQuery: 'refuse',
    pathParameters: SchedulePath,
    responses: { 200: Empty },
    errors: ['bad-parameter', 'not-found'],
    async handle({ path }, { service }, { instanceId }) {
      const schedule = await service.schedules.pause({ instanceId, scheduleId: path.scheduleId, paused: action === 'pause' });
      if (!schedule) throw scheduleNotFound(path.scheduleId);
      return respond(200, undefined);
    },
  });

export const scheduleOperations: readonly Operation[] = [
  // These come before the operation whose path matches anything that follows.
  pauseOperation(
    'pause',
    'Pause a schedule',
    'The schedule publishes nothing until it is resumed. Messages that it already published are still delivered.',
  ),
  pauseOperation('resume', 'Resume a schedule', 'The schedule continues at its next regular time. Missed times are skipped.'),
  createSchedule,
  listOperation,
  getSchedule,
];
