/** Wire schemas of the responses in this dialect: messages, queues, URL groups, schedules, dead letters and logs. */
import Type, { type Static } from 'typebox';
import { FailureFunctionStateSchema } from '../../contract/dead-letters.js';
import { NO_OTHER_PROPERTIES } from '../../contract/fields/no-other-properties.js';
import { MESSAGE_STATES } from '../../runtime/services/workflow-service.js';

const unixMs = (description: string) => Type.Integer({ format: 'int64', description: `${description}, Unix ms` });
const HeaderMap = Type.Record(Type.String(), Type.Array(Type.String()), {
  description: 'Header names with their values.',
});

export const Published = Type.Object(
  {
    messageId: Type.String({ description: 'Id of the message, or of the earlier message that it duplicates.' }),
    url: Type.Optional(Type.String({ description: 'URL of the destination.' })),
    deduplicated: Type.Optional(
      Type.Literal(true, { description: 'The message is a duplicate of an earlier one and is not sent again.' }),
    ),
  },
  NO_OTHER_PROPERTIES,
);
export type Published = Static<typeof Published>;
export const PublishedToGroup = Type.Array(Published, { description: 'One message for each endpoint of the URL group.' });
export const CanceledMessages = Type.Object(
  { cancelled: Type.Integer({ description: 'Number of canceled messages.' }) },
  { ...NO_OTHER_PROPERTIES, description: 'Canceled.' },
);

const limits = {
  flowControlKey: Type.Optional(Type.String()),
  parallelism: Type.Optional(Type.Integer({ description: 'Limit of the flow control key.' })),
  rate: Type.Optional(Type.Integer({ description: 'Limit of the flow control key.' })),
  period: Type.Optional(Type.Number({ description: 'Period of the rate, in seconds.' })),
};
const labels = {
  label: Type.Optional(Type.String({ description: 'The first label.' })),
  labels: Type.Optional(Type.Array(Type.String())),
};
const payload = {
  header: Type.Optional(HeaderMap),
  body: Type.Optional(Type.String({ description: 'Present if the body is UTF-8 text.' })),
  bodyBase64: Type.Optional(Type.String({ description: 'Replaces body if the content is not UTF-8 text.' })),
};
const messageFields = {
  messageId: Type.String(),
  url: Type.String(),
  topicName: Type.Optional(Type.String({ description: 'URL group to which it was published.' })),
  endpointName: Type.Optional(Type.String()),
  method: Type.String(),
  ...payload,
  maxRetries: Type.Integer(),
  retryDelayExpression: Type.Optional(Type.String()),
  timeout: Type.Integer({ description: 'Maximum duration of one request, in ms.' }),
  notBefore: unixMs('When it is first sent'),
  createdAt: unixMs('When it was published'),
  callback: Type.Optional(Type.String()),
  failureCallback: Type.Optional(Type.String()),
  queueName: Type.Optional(Type.String()),
  scheduleId: Type.Optional(Type.String()),
  callerIP: Type.String(),
  callerIp: Type.String({ description: 'Alias of callerIP.' }),
  ...limits,
  ...labels,
};

export const MessageEntry = Type.Object(
  {
    ...messageFields,
    retried: Type.Integer({ description: 'Number of failed attempts.' }),
    nextDeliveryTime: Type.Optional(unixMs('Next attempt')),
  },
  NO_OTHER_PROPERTIES,
);
export type MessageEntry = Static<typeof MessageEntry>;

const FailureCallbackInfo = Type.Object(
  {
    state: FailureFunctionStateSchema,
    responseStatus: Type.Optional(Type.Integer({ description: 'Status of the last failed response.' })),
  },
  NO_OTHER_PROPERTIES,
);

export const DlqMessage = Type.Object(
  {
    dlqId: Type.String(),
    ...messageFields,
    responseStatus: Type.Optional(
      Type.Integer({ description: 'Status of the last response. Without a response, 0 for a run and absent for a message.' }),
    ),
    responseHeader: Type.Optional(HeaderMap),
    responseBody: Type.Optional(Type.String()),
    responseBodyBase64: Type.Optional(Type.String({ description: 'Replaces responseBody if the content is not UTF-8 text.' })),
    error: Type.String({ description: 'Error message.' }),
    failedAt: unixMs('When the last retry failed'),
    workflowRunId: Type.Optional(Type.String({ description: 'Id of the failed run; absent for a plain message.' })),
    workflowCreatedAt: Type.Optional(unixMs('Creation of the run')),
    workflowUrl: Type.Optional(Type.String()),
    failureFunctionState: Type.Optional(FailureFunctionStateSchema),
    failureCallbackInfo: Type.Optional(FailureCallbackInfo),
  },
  NO_OTHER_PROPERTIES,
);
export type DlqMessage = Static<typeof DlqMessage>;

const cursor = Type.Optional(Type.String({ description: 'Cursor for the next page; absent on the last page.' }));
export const DlqPage = Type.Object({ cursor, messages: Type.Array(DlqMessage) }, NO_OTHER_PROPERTIES);
export type DlqPage = Static<typeof DlqPage>;
export const DlqDeleted = Type.Object({ cursor, deleted: Type.Integer() }, NO_OTHER_PROPERTIES);
export const DlqRetried = Type.Object(
  { cursor, responses: Type.Array(Published) },
  { ...NO_OTHER_PROPERTIES, description: 'Retried.' },
);

export const LogEntry = Type.Object(
  {
    time: unixMs('When it happened'),
    state: Type.Enum([...MESSAGE_STATES], { type: 'string' }),
    messageId: Type.String(),
    createdAt: unixMs('Publication of the message'),
    url: Type.String(),
    topicName: Type.Optional(Type.String()),
    endpointName: Type.Optional(Type.String()),
    queueName: Type.Optional(Type.String()),
    scheduleId: Type.Optional(Type.String()),
    method: Type.String(),
    nextDeliveryTime: Type.Optional(unixMs('Next attempt')),
    error: Type.Optional(Type.String()),
    responseStatus: Type.Optional(Type.Integer()),
    timeout: Type.Integer({ description: 'Maximum duration of one request, in ms.' }),
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
  NO_OTHER_PROPERTIES,
);
export type LogEntry = Static<typeof LogEntry>;
export const EventPage = Type.Object({ cursor, events: Type.Array(LogEntry) }, NO_OTHER_PROPERTIES);
export const LogPage = Type.Object({ cursor, logs: Type.Array(LogEntry) }, NO_OTHER_PROPERTIES);

export const QueueEntry = Type.Object(
  {
    name: Type.String(),
    createdAt: unixMs('Creation of the queue'),
    updatedAt: unixMs('Last change to the queue'),
    parallelism: Type.Integer({ description: 'Number of messages sent at the same time.' }),
    paused: Type.Boolean(),
    lag: Type.Integer({ description: 'Number of messages that have not ended.' }),
  },
  NO_OTHER_PROPERTIES,
);

const Endpoint = Type.Object({ name: Type.Optional(Type.String()), url: Type.String() }, NO_OTHER_PROPERTIES);
export const UrlGroupEntry = Type.Object(
  {
    name: Type.String(),
    createdAt: unixMs('Creation of the group'),
    updatedAt: unixMs('Last change to the group'),
    endpoints: Type.Array(Endpoint),
  },
  NO_OTHER_PROPERTIES,
);
export type UrlGroupEntry = Static<typeof UrlGroupEntry>;

export const ScheduleEntry = Type.Object(
  {
    scheduleId: Type.String(),
    cron: Type.String({ description: 'Starts with CRON_TZ if the time zone is not UTC.' }),
    destination: Type.String({ description: 'A URL, or the name of a URL group.' }),
    createdAt: unixMs('Creation of the schedule'),
    method: Type.String(),
    ...payload,
    bodyLeftOut: Type.Optional(
      Type.Integer({ description: 'Size in bytes of a payload that is too long for a list. Get the single schedule to see it.' }),
    ),
    retries: Type.Integer(),
    retryDelayExpression: Type.Optional(Type.String()),
    delay: Type.Optional(Type.Number({ description: 'Delay between the scheduled time and sending the message, in seconds.' })),
    callback: Type.Optional(Type.String()),
    failureCallback: Type.Optional(Type.String()),
    callerIP: Type.String(),
    callerIp: Type.String({ description: 'Alias of callerIP.' }),
    isPaused: Type.Boolean(),
    queueName: Type.Optional(Type.String()),
    ...limits,
    ...labels,
    lastScheduleTime: Type.Optional(unixMs('Last scheduled time')),
    nextScheduleTime: Type.Optional(unixMs('Next scheduled time; absent while the schedule is paused')),
    lastScheduleStates: Type.Optional(
      Type.Record(Type.String(), Type.Enum(['IN_PROGRESS', 'SUCCESS', 'FAIL'], { type: 'string' }), {
        description: 'Status of the last message, by its id.',
      }),
    ),
  },
  NO_OTHER_PROPERTIES,
);
export type ScheduleEntry = Static<typeof ScheduleEntry>;

export const FlowControlEntry = Type.Object(
  {
    flowControlKey: Type.String(),
    waitListSize: Type.Integer(),
    parallelismMax: Type.Integer({ description: '0: not limited.' }),
    parallelismCount: Type.Integer(),
    rateMax: Type.Integer({ description: '0: not limited.' }),
    rateCount: Type.Integer(),
    ratePeriod: Type.Number({ description: 'Seconds' }),
    ratePeriodStart: Type.Integer({ description: 'Unix seconds; 0 if no window is open.' }),
    isPaused: Type.Boolean(),
    isPinnedParallelism: Type.Boolean(),
    isPinnedRate: Type.Boolean(),
  },
  NO_OTHER_PROPERTIES,
);
export type FlowControlEntry = Static<typeof FlowControlEntry>;
