/** Wire schemas of what this dialect answers: messages, queues, URL groups, schedules, dead letters and logs. */
import Type, { type Static } from 'typebox';
import { FailureFunctionStateSchema } from '../../../contract/dead-letters.js';
import { MESSAGE_STATES } from '../../../runtime/workflow-service.js';

const CLOSED = { additionalProperties: false } as const;
const unixMs = (description: string) => Type.Integer({ format: 'int64', description: `${description}, Unix ms` });
const HeaderMap = Type.Record(Type.String(), Type.Array(Type.String()), {
  description: 'Header names, and the values of each.',
});

export const Published = Type.Object(
  {
    messageId: Type.String({ description: 'Of the message, or of the one that was published before it.' }),
    url: Type.Optional(Type.String({ description: 'Where it goes.' })),
    deduplicated: Type.Optional(Type.Literal(true, { description: 'It was published before, and is not sent again.' })),
  },
  CLOSED,
);
export type Published = Static<typeof Published>;
export const PublishedToGroup = Type.Array(Published, { description: 'To a URL group: a message for each endpoint.' });
export const Cancelled = Type.Object(
  { cancelled: Type.Integer({ description: 'How many messages were canceled.' }) },
  { ...CLOSED, description: 'Canceled.' },
);

const limits = {
  flowControlKey: Type.Optional(Type.String()),
  parallelism: Type.Optional(Type.Integer({ description: 'Limit of the flow control key.' })),
  rate: Type.Optional(Type.Integer({ description: 'Limit of the flow control key.' })),
  period: Type.Optional(Type.Number({ description: 'Of the rate, seconds.' })),
};
const labels = {
  label: Type.Optional(Type.String({ description: 'The first of the labels.' })),
  labels: Type.Optional(Type.Array(Type.String())),
};
const payload = {
  header: Type.Optional(HeaderMap),
  body: Type.Optional(Type.String({ description: 'When it is UTF-8 text.' })),
  bodyBase64: Type.Optional(Type.String({ description: 'Instead of body, when that is no UTF-8 text.' })),
};
const messageFields = {
  messageId: Type.String(),
  url: Type.String(),
  topicName: Type.Optional(Type.String({ description: 'The URL group that it was published to.' })),
  endpointName: Type.Optional(Type.String()),
  method: Type.String(),
  ...payload,
  maxRetries: Type.Integer(),
  retryDelayExpression: Type.Optional(Type.String()),
  timeout: Type.Integer({ description: 'How long one request may take, ms.' }),
  notBefore: unixMs('When it is sent first'),
  createdAt: unixMs('When it was published'),
  callback: Type.Optional(Type.String()),
  failureCallback: Type.Optional(Type.String()),
  queueName: Type.Optional(Type.String()),
  scheduleId: Type.Optional(Type.String()),
  callerIP: Type.String(),
  callerIp: Type.String({ description: 'The same as callerIP.' }),
  ...limits,
  ...labels,
};

export const MessageEntry = Type.Object(
  {
    ...messageFields,
    retried: Type.Integer({ description: 'Failed attempts so far.' }),
    nextDeliveryTime: Type.Optional(unixMs('The next attempt')),
  },
  CLOSED,
);
export type MessageEntry = Static<typeof MessageEntry>;

const FailureCallbackInfo = Type.Object(
  {
    state: FailureFunctionStateSchema,
    responseStatus: Type.Optional(Type.Integer({ description: 'Status of the last answer that was a failure.' })),
  },
  CLOSED,
);

export const DlqMessage = Type.Object(
  {
    dlqId: Type.String(),
    ...messageFields,
    responseStatus: Type.Optional(
      Type.Integer({ description: 'Status of the last answer; when there was none, 0 of a run and absent of a message.' }),
    ),
    responseHeader: Type.Optional(HeaderMap),
    responseBody: Type.Optional(Type.String()),
    responseBodyBase64: Type.Optional(Type.String({ description: 'Instead of responseBody, when that is no UTF-8 text.' })),
    error: Type.String({ description: 'What went wrong, in words.' }),
    failedAt: unixMs('When it failed for good'),
    workflowRunId: Type.Optional(Type.String({ description: 'Of a run that failed; absent for a plain message.' })),
    workflowCreatedAt: Type.Optional(unixMs('Creation of the run')),
    workflowUrl: Type.Optional(Type.String()),
    failureFunctionState: Type.Optional(FailureFunctionStateSchema),
    failureCallbackInfo: Type.Optional(FailureCallbackInfo),
  },
  CLOSED,
);
export type DlqMessage = Static<typeof DlqMessage>;

const cursor = Type.Optional(Type.String({ description: 'Cursor for the next page; absent when there are no more results.' }));
export const DlqPage = Type.Object({ cursor, messages: Type.Array(DlqMessage) }, CLOSED);
export type DlqPage = Static<typeof DlqPage>;
export const DlqDeleted = Type.Object({ cursor, deleted: Type.Integer() }, CLOSED);
export const DlqRetried = Type.Object(
  { cursor, responses: Type.Array(Published) },
  { ...CLOSED, description: 'Published anew.' },
);

export const LogEntry = Type.Object(
  {
    time: unixMs('When it happened'),
    state: Type.Enum([...MESSAGE_STATES], { type: 'string' }),
    messageId: Type.String(),
    url: Type.String(),
    topicName: Type.Optional(Type.String()),
    endpointName: Type.Optional(Type.String()),
    queueName: Type.Optional(Type.String()),
    scheduleId: Type.Optional(Type.String()),
    method: Type.String(),
    nextDeliveryTime: Type.Optional(unixMs('The next attempt')),
    error: Type.Optional(Type.String()),
    responseStatus: Type.Optional(Type.Integer()),
    timeout: Type.Integer({ description: 'How long one request may take, ms.' }),
    callback: Type.Optional(Type.String()),
    callbackHeaders: Type.Optional(HeaderMap),
    failureCallback: Type.Optional(Type.String()),
    failureCallbackHeaders: Type.Optional(HeaderMap),
    maxRetries: Type.Integer(),
    retryDelayExpression: Type.Optional(Type.String()),
    callerIP: Type.String(),
    flowControlKey: Type.Optional(Type.String()),
    ...labels,
  },
  CLOSED,
);
export type LogEntry = Static<typeof LogEntry>;
export const EventPage = Type.Object({ cursor, events: Type.Array(LogEntry) }, CLOSED);
export const LogPage = Type.Object({ cursor, logs: Type.Array(LogEntry) }, CLOSED);

export const QueueEntry = Type.Object(
  {
    name: Type.String(),
    createdAt: unixMs('Creation of the queue'),
    updatedAt: unixMs('Last change of the queue'),
    parallelism: Type.Integer({ description: 'Messages that are sent at a time.' }),
    paused: Type.Boolean(),
    lag: Type.Integer({ description: 'Messages that have not ended.' }),
  },
  CLOSED,
);

const Endpoint = Type.Object({ name: Type.Optional(Type.String()), url: Type.String() }, CLOSED);
export const UrlGroupEntry = Type.Object(
  {
    name: Type.String(),
    createdAt: unixMs('Creation of the group'),
    updatedAt: unixMs('Last change of the group'),
    endpoints: Type.Array(Endpoint),
  },
  CLOSED,
);
export type UrlGroupEntry = Static<typeof UrlGroupEntry>;

export const ScheduleShown = Type.Object(
  {
    scheduleId: Type.String(),
    cron: Type.String({ description: 'With CRON_TZ in front where its time zone is not UTC.' }),
    destination: Type.String({ description: 'A URL, or the name of a URL group.' }),
    createdAt: unixMs('Creation of the schedule'),
    method: Type.String(),
    ...payload,
    bodyLeftOut: Type.Optional(
      Type.Integer({ description: 'Bytes of a payload that is too long for a list; the schedule alone shows it.' }),
    ),
    retries: Type.Integer(),
    retryDelayExpression: Type.Optional(Type.String()),
    delay: Type.Optional(Type.Number({ description: 'How long after its tick a message is sent, seconds.' })),
    callback: Type.Optional(Type.String()),
    failureCallback: Type.Optional(Type.String()),
    callerIP: Type.String(),
    callerIp: Type.String({ description: 'The same as callerIP.' }),
    isPaused: Type.Boolean(),
    queueName: Type.Optional(Type.String()),
    ...limits,
    ...labels,
    lastScheduleTime: Type.Optional(unixMs('The last tick')),
    nextScheduleTime: Type.Optional(unixMs('The next tick; absent while it is paused')),
    lastScheduleStates: Type.Optional(
      Type.Record(Type.String(), Type.Enum(['IN_PROGRESS', 'SUCCESS', 'FAIL'], { type: 'string' }), {
        description: 'How the message of the last tick stands, by its id.',
      }),
    ),
  },
  CLOSED,
);
export type ScheduleShown = Static<typeof ScheduleShown>;

export const FlowControlShown = Type.Object(
  {
    flowControlKey: Type.String(),
    waitListSize: Type.Integer(),
    parallelismMax: Type.Integer({ description: '0: not limited.' }),
    parallelismCount: Type.Integer(),
    rateMax: Type.Integer({ description: '0: not limited.' }),
    rateCount: Type.Integer(),
    ratePeriod: Type.Number({ description: 'Seconds' }),
    ratePeriodStart: Type.Integer({ description: 'Unix seconds; 0 while there is no window.' }),
    isPaused: Type.Boolean(),
    isPinnedParallelism: Type.Boolean(),
    isPinnedRate: Type.Boolean(),
  },
  CLOSED,
);
export type FlowControlShown = Static<typeof FlowControlShown>;
