/** Wire schemas of schedules. */
import Type, { type Static } from 'typebox';
import { LIMITS } from '../config/limits.js';
import { NO_OTHER_PROPERTIES } from './fields/no-other-properties.js';
import { unixMs } from './fields/unix-ms.js';
import { patternOption } from './patterns.js';

export const ScheduleReference = Type.Object({ scheduleId: Type.String() }, NO_OTHER_PROPERTIES);

export const ScheduleEntry = Type.Object(
  {
    scheduleId: Type.String(),
    cron: Type.String({ description: 'Cron expression: five fields, or six with seconds first.' }),
    timezone: Type.String({ description: 'IANA name of the time zone of the cron expression.' }),
    destination: Type.String({ description: 'URL of the workflow.' }),
    method: Type.Literal('POST'),
    header: Type.Record(Type.String(), Type.Array(Type.String()), { description: 'Headers that are forwarded to the workflow.' }),
    body: Type.Optional(Type.String({ description: 'Payload of the runs, when it is UTF-8 text.' })),
    bodyBase64: Type.Optional(Type.String({ description: 'Payload in Base64, when it is not UTF-8 text.' })),
    bodyLeftOut: Type.Optional(
      Type.Integer({ description: 'Size in bytes of a payload that is too long for a list. `getSchedule` returns the payload.' }),
    ),
    retries: Type.Integer(),
    retryDelay: Type.Optional(Type.String()),
    timeoutMs: Type.Integer({ description: 'Maximum duration of one delivery, in milliseconds.' }),
    delay: Type.Optional(
      Type.Integer({
        description: 'Delay between a scheduled time and the start of its run, in seconds. Absent when runs start immediately.',
      }),
    ),
    failureCallback: Type.Optional(Type.String()),
    callerIP: Type.String(),
    label: Type.Optional(Type.String({ description: 'First label of the runs.' })),
    labels: Type.Array(Type.String()),
    flowControlKey: Type.Optional(Type.String()),
    isPaused: Type.Boolean(),
    createdAt: unixMs('Time when the schedule was created'),
    nextScheduleTime: Type.Optional(unixMs('Next run time', 'Absent while the schedule is paused.')),
    lastScheduleTime: Type.Optional(unixMs('Time when the schedule last started a run, automatically or manually')),
    lastScheduleRunId: Type.Optional(Type.String({ description: 'Id of the last run that the schedule started.' })),
  },
  { ...NO_OTHER_PROPERTIES, description: 'Schedule.' },
);
export type ScheduleEntry = Static<typeof ScheduleEntry>;
export const ScheduleList = Type.Array(ScheduleEntry);
export const DeletedSchedule = Type.Object({ deleted: Type.Literal(1) }, NO_OTHER_PROPERTIES);

export const ScheduleChange = Type.Object(
  {
    cron: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: LIMITS.maxCronLength,
        description: 'Cron expression: five fields, or six with seconds first.',
      }),
    ),
    timezone: Type.Optional(
      Type.String({ minLength: 1, maxLength: 64, description: 'IANA name of the time zone of the cron expression.' }),
    ),
    body: Type.Optional(
      Type.String({ description: 'Payload of the runs, as text. Its content type stays the same; only the body changes.' }),
    ),
    retries: Type.Optional(
      Type.Integer({ minimum: 0, maximum: LIMITS.maxRetries, description: 'Retries of each step of the runs.' }),
    ),
    labels: Type.Optional(
      Type.Array(Type.String({ minLength: 1, maxLength: LIMITS.maxLabelLength, ...patternOption('storable') }), {
        maxItems: LIMITS.maxLabels,
        uniqueItems: true,
        description: 'Labels of the runs. A label contains no comma.',
      }),
    ),
  },
  {
    ...NO_OTHER_PROPERTIES,
    minProperties: 1,
    description: 'Parts of a schedule to change. Fields that are absent keep their value.',
  },
);
export type ScheduleChange = Static<typeof ScheduleChange>;

export const ScheduleTicks = Type.Object(
  {
    fires: Type.Array(Type.Integer({ format: 'int64' }), {
      description: 'The next run times, in Unix milliseconds, whether or not the schedule is paused.',
    }),
  },
  NO_OTHER_PROPERTIES,
);
export const ScheduleRunStarted = Type.Object(
  {
    workflowRunId: Type.String({ description: 'Id of the run or message. The last one when there are several messages.' }),
    workflowCreatedAt: unixMs('Time when the run was created'),
    started: Type.Integer({
      description: 'Number of runs or messages that were started. A message to a URL group starts several.',
    }),
  },
  { ...NO_OTHER_PROPERTIES, description: 'Run that was started manually from a schedule.' },
);
