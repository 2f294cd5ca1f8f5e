/** Wire schemas of schedules. */
import Type, { type Static } from 'typebox';

const CLOSED = { additionalProperties: false } as const;
const unixMs = (description: string) => Type.Integer({ format: 'int64', description: `${description}, Unix ms` });

export const ScheduleReference = Type.Object({ scheduleId: Type.String() }, CLOSED);

export const ScheduleEntry = Type.Object(
  {
    scheduleId: Type.String(),
    cron: Type.String({ description: 'Five fields, or six with seconds in front.' }),
    timezone: Type.String({ description: 'IANA name of the time zone in which it ticks.' }),
    destination: Type.String({ description: 'URL of the workflow.' }),
    method: Type.Literal('POST'),
    header: Type.Record(Type.String(), Type.Array(Type.String()), { description: 'What is sent on to the workflow.' }),
    body: Type.Optional(Type.String({ description: 'Payload of the runs, when that is UTF-8 text.' })),
    bodyBase64: Type.Optional(Type.String({ description: 'The same in base64, when it is no UTF-8 text.' })),
    bodyLeftOut: Type.Optional(
      Type.Integer({ description: 'Bytes of a payload that is too long for a list; the schedule alone shows it.' }),
    ),
    retries: Type.Integer(),
    retryDelay: Type.Optional(Type.String()),
    timeoutMs: Type.Integer({ description: 'How long one delivery may take, ms.' }),
    delay: Type.Optional(Type.Integer({ description: 'How long after its tick a run begins, seconds; absent for at once.' })),
    failureCallback: Type.Optional(Type.String()),
    callerIP: Type.String(),
    label: Type.Optional(Type.String({ description: 'The first of the labels.' })),
    labels: Type.Array(Type.String()),
    flowControlKey: Type.Optional(Type.String()),
    isPaused: Type.Boolean(),
    createdAt: unixMs('Creation of the schedule'),
    nextScheduleTime: Type.Optional(unixMs('The next tick; absent while it is paused')),
    lastScheduleTime: Type.Optional(unixMs('The last time that it started a run: by a tick, or by hand')),
    lastScheduleRunId: Type.Optional(Type.String({ description: 'The run that it started.' })),
  },
  CLOSED,
);
export type ScheduleEntry = Static<typeof ScheduleEntry>;
export const ScheduleList = Type.Array(ScheduleEntry);
export const DeletedSchedule = Type.Object({ deleted: Type.Literal(1) }, CLOSED);

export const ScheduleFires = Type.Object(
  { fires: Type.Array(Type.Integer({ format: 'int64' }), { description: 'Its next ticks from now, Unix ms; paused or not.' }) },
  CLOSED,
);
export const ScheduleRunStarted = Type.Object(
  {
    workflowRunId: Type.String({ description: 'Of the run, or of the message; of several messages the last.' }),
    workflowCreatedAt: unixMs('Creation of the run'),
    started: Type.Integer({ description: 'How many were started: several when a message goes to a group.' }),
  },
  CLOSED,
);
