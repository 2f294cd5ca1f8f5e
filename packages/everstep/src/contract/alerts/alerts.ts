/** Wire schemas of alerts: destinations, rules, lifecycle webhooks, and the alerts themselves. */
import Type, { type Static } from 'typebox';
import { LIMITS } from '../../config/limits.js';
import { NO_OTHER_PROPERTIES } from '../fields/no-other-properties.js';
import { unixMs } from '../fields/unix-ms.js';
import { patternOption } from '../patterns.js';

const name = Type.String({ description: 'Unique name.' });
const enabled = Type.Boolean({ description: 'A disabled object remains stored, but has no effect.' });
const DestinationName = Type.String({ minLength: 1, maxLength: LIMITS.maxAlertNameLength, ...patternOption('name') });

export const AlertDestinationKind = Type.Enum(['webhook', 'slack', 'email'], {
  type: 'string',
  description:
    '`webhook`: a signed request. `slack`: a URL that accepts Slack webhook messages. `email`: email through the SMTP server of the installation.',
});

export const AlertDestinationEntry = Type.Object(
  {
    name,
    kind: AlertDestinationKind,
    url: Type.String({
      description: 'URL of the destination. For Slack, only the host is shown. For email, the URL starts with `mailto:`.',
    }),
    to: Type.Optional(Type.Array(Type.String(), { description: 'Addresses that receive the email.' })),
    secret: Type.Optional(
      Type.String({ description: 'Secret that signs the requests of a webhook. Present only in the response that creates it.' }),
    ),
    createdAt: unixMs('Time when the destination was created'),
  },
  { ...NO_OTHER_PROPERTIES, description: 'Destination that receives notices.' },
);
export type AlertDestinationEntry = Static<typeof AlertDestinationEntry>;
export const AlertDestinations = Type.Object(
  {
    destinations: Type.Array(AlertDestinationEntry),
    mailAvailable: Type.Boolean({
      description: 'Whether the installation has an SMTP server. Without one, destinations of the kind `email` cannot be saved.',
    }),
  },
  NO_OTHER_PROPERTIES,
);

export const PutAlertDestination = Type.Object(
  {
    kind: AlertDestinationKind,
    url: Type.Optional(
      Type.String({
        ...{ minLength: 1, maxLength: LIMITS.maxWorkflowUrlLength },
        description: 'Absolute http or https URL. Required for `webhook` and `slack`.',
      }),
    ),
    to: Type.Optional(
      Type.Array(Type.String({ minLength: 1, maxLength: LIMITS.maxMailAddressLength, ...patternOption('mailAddress') }), {
        ...{ minItems: 1, maxItems: LIMITS.maxMailAddresses },
        description: 'Addresses that receive the email. Required for `email`.',
      }),
    ),
    rotateSecret: Type.Optional(
      Type.Boolean({
        description: 'Creates a new secret for an existing webhook. Default: false. A new webhook always gets one.',
      }),
    ),
  },
  { ...NO_OTHER_PROPERTIES, description: 'Destination to create or replace.' },
);
export type PutAlertDestination = Static<typeof PutAlertDestination>;

const workflowUrl = Type.String({
  minLength: 1,
  maxLength: LIMITS.maxWorkflowUrlLength,
  ...patternOption('withoutControls'),
  description: 'Exact URL of a workflow.',
});
const label = Type.String({
  minLength: 1,
  maxLength: LIMITS.maxLabelLength,
  ...patternOption('label'),
  description: 'Label of runs.',
});

const ALERT_KINDS = [
  'run-failed',
  'error-group',
  'failure-rate',
  'pending-age',
  'schedule-missed',
  'run-age',
  'no-worker',
  'budget',
  'store-trouble',
] as const;
const optionalTimeMs = (description: string) =>
  Type.Optional(Type.Integer({ minimum: LIMITS.minAlertTimeMs, maximum: LIMITS.maxAlertTimeMs, description }));

export const AlertConditionSchema = Type.Object(
  {
    kind: Type.Enum([...ALERT_KINDS], {
      type: 'string',
      description:
        '`run-failed`: a run or message failed after all retries. `error-group`: an error is new, or occurred again after it was resolved or its snooze ended. `failure-rate`: too many runs failed. `pending-age`: a delivery of a flow control key, or a message of a queue, has waited too long. `schedule-missed`: a schedule is late. `run-age`: a run has been active for too long. `no-worker`: no worker serves a worker URL. `budget`: a share of the budget is spent. `store-trouble`: the store rejected writes.',
    }),
    workflowUrl: Type.Optional(workflowUrl),
    label: Type.Optional(label),
    endAfterMs: Type.Optional(
      Type.Integer({
        minimum: LIMITS.minAlertEndAfterMs,
        maximum: LIMITS.maxAlertEndAfterMs,
        description: `For \`run-failed\`: the alert ends when nothing has failed for this time, in milliseconds. Default: ${LIMITS.defaultAlertEndAfterMs}.`,
      }),
    ),
    percent: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 100, description: 'For `failure-rate` and `budget`: the share, in percent.' }),
    ),
    windowMs: Type.Optional(
      Type.Integer({
        minimum: LIMITS.minAlertTimeMs,
        maximum: LIMITS.maxAlertWindowMs,
        description: `For \`failure-rate\`: the window in milliseconds, rounded up to whole minutes. Default: ${LIMITS.defaultAlertWindowMs}.`,
      }),
    ),
    minRuns: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: LIMITS.maxAlertMinRuns,
        description: `For \`failure-rate\`: the minimum number of runs that ended in the window. Default: ${LIMITS.defaultAlertMinRuns}.`,
      }),
    ),
    flowControlKey: Type.Optional(
      Type.String({
        ...{ minLength: 1, maxLength: LIMITS.maxFlowControlKeyLength, ...patternOption('withoutControls') },
        description: 'For `pending-age`: a flow control key. Either this or `queue` is required.',
      }),
    ),
    queue: Type.Optional(
      Type.String({
        ...{ minLength: 1, maxLength: LIMITS.maxQueueNameLength, ...patternOption('withoutControls') },
        description: 'For `pending-age`: a queue of messages.',
      }),
    ),
    maxAgeMs: optionalTimeMs('For `pending-age` and `run-age`: the age in milliseconds.'),
    forMs: optionalTimeMs('For `schedule-missed` and `no-worker`: how long the condition must hold, in milliseconds.'),
  },
  { ...NO_OTHER_PROPERTIES, description: 'Condition of an alert rule. Fields that the kind does not use are rejected.' },
);
export type AlertConditionBody = Static<typeof AlertConditionSchema>;

const timeOfDay = Type.String({ ...patternOption('timeOfDay'), description: 'Local time, such as `22:00`.' });
export const QuietHoursSchema = Type.Object(
  {
    from: timeOfDay,
    to: timeOfDay,
    timeZone: Type.String({
      minLength: 1,
      maxLength: LIMITS.maxTimeZoneLength,
      description: 'IANA name, such as `Europe/Berlin`.',
    }),
  },
  {
    ...NO_OTHER_PROPERTIES,
    description:
      'Daily period during which notices are delayed. No notice is sent for an alert that opens and ends during this time.',
  },
);

const destinations = (options: object) => Type.Array(DestinationName, { maxItems: LIMITS.maxAlertDestinations, ...options });

export const AlertRuleEntry = Type.Object(
  {
    name,
    enabled,
    condition: AlertConditionSchema,
    destinations: Type.Array(Type.String(), { description: 'Names of the destinations that are notified.' }),
    quietHours: Type.Optional(QuietHoursSchema),
    createdAt: unixMs('Time when the rule was created'),
  },
  { ...NO_OTHER_PROPERTIES, description: 'Alert rule.' },
);
export type AlertRuleEntry = Static<typeof AlertRuleEntry>;
export const AlertRules = Type.Object({ rules: Type.Array(AlertRuleEntry) }, NO_OTHER_PROPERTIES);

export const PutAlertRule = Type.Object(
  {
    enabled: Type.Optional(Type.Boolean({ description: 'Default: true.' })),
    condition: AlertConditionSchema,
    destinations: destinations({
      description: 'Names of the destinations to notify. If the list is empty, alerts are only listed.',
    }),
    quietHours: Type.Optional(QuietHoursSchema),
  },
  { ...NO_OTHER_PROPERTIES, description: 'Alert rule to create or replace.' },
);
export type PutAlertRule = Static<typeof PutAlertRule>;

const LIFECYCLE_EVENTS = ['run.started', 'run.succeeded', 'run.failed', 'run.canceled'] as const;
export const LifecycleEventSchema = Type.Enum([...LIFECYCLE_EVENTS], { type: 'string', description: 'Event of a run.' });

export const LifecycleWebhookEntry = Type.Object(
  {
    name,
    enabled,
    events: Type.Array(LifecycleEventSchema),
    workflowUrl: Type.Optional(Type.String({ description: 'Only runs of this workflow.' })),
    label: Type.Optional(Type.String({ description: 'Only runs with this label.' })),
    destination: Type.String({ description: 'Name of a destination of the kind `webhook`.' }),
    createdAt: unixMs('Time when the webhook was created'),
  },
  { ...NO_OTHER_PROPERTIES, description: 'Lifecycle webhook.' },
);
export type LifecycleWebhookEntry = Static<typeof LifecycleWebhookEntry>;
export const LifecycleWebhooks = Type.Object({ webhooks: Type.Array(LifecycleWebhookEntry) }, NO_OTHER_PROPERTIES);

export const PutLifecycleWebhook = Type.Object(
  {
    enabled: Type.Optional(Type.Boolean({ description: 'Default: true.' })),
    events: Type.Array(LifecycleEventSchema, { minItems: 1, maxItems: LIFECYCLE_EVENTS.length }),
    workflowUrl: Type.Optional(workflowUrl),
    label: Type.Optional(label),
    destination: DestinationName,
  },
  { ...NO_OTHER_PROPERTIES, description: 'Lifecycle webhook to create or replace.' },
);
export type PutLifecycleWebhook = Static<typeof PutLifecycleWebhook>;

export const AlertEntry = Type.Object(
  {
    alertId: Type.String(),
    rule: Type.String({ description: 'Name of the rule that opened it.' }),
    kind: AlertConditionSchema.properties.kind,
    subject: Type.String({ description: 'What the alert is about, such as the URL of a workflow.' }),
    summary: Type.String({ description: 'One sentence that describes the alert.' }),
    openedAt: unixMs('Time when the alert was opened'),
    lastAt: unixMs('Time when the condition was last met'),
    endedAt: Type.Optional(unixMs('Time when the alert ended', 'Absent while it is open.')),
    occurrences: Type.Integer({ description: 'Number of times the condition was met.' }),
    workflowUrl: Type.Optional(Type.String()),
    workflowRunId: Type.Optional(Type.String({ description: 'Id of the run that caused it last.' })),
    stepName: Type.Optional(Type.String({ description: 'Name of the step that failed.' })),
    fingerprint: Type.Optional(Type.String({ description: 'Fingerprint of the error group.' })),
    error: Type.Optional(Type.String({ description: 'Error text. Absent if the run redacts data.' })),
    dashboardPath: Type.String({ description: 'Path of the dashboard page that shows the subject of the alert.' }),
    notifiedAt: Type.Optional(unixMs('Time when the last notice was created')),
    notifyAt: Type.Optional(unixMs('Time when the next notice is due')),
  },
  { ...NO_OTHER_PROPERTIES, description: 'Alert.' },
);
export type AlertEntry = Static<typeof AlertEntry>;

export type AlertPage = Static<typeof AlertPage>;
export const AlertPage = Type.Object(
  {
    cursor: Type.String({ description: 'Cursor for the next page; empty when there are no more results.' }),
    alerts: Type.Array(AlertEntry),
  },
  { ...NO_OTHER_PROPERTIES, description: 'One page of alerts.' },
);

export const DeletedAlertObject = Type.Object({ deleted: Type.Literal(1) }, NO_OTHER_PROPERTIES);
export const AlertTest = Type.Object(
  { messageId: Type.String({ description: 'Id of the message. The message log shows its delivery.' }) },
  { ...NO_OTHER_PROPERTIES, description: 'Test notice that was sent.' },
);
