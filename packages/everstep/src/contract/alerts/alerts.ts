/** Wire schemas of alerts: destinations, rules, lifecycle webhooks, and the alerts themselves. */
import Type, { type Static } from 'typebox';
import { LIMITS } from '../../config/limits.js';
import { unixMs } from '../fields/unix-ms.js';
import { like } from '../patterns.js';

const CLOSED = { additionalProperties: false } as const;

const name = Type.String({ description: 'Unique name.' });
const enabled = Type.Boolean({ description: 'A disabled object is kept, but has no effect.' });
const DestinationName = Type.String({ minLength: 1, maxLength: LIMITS.maxAlertNameLength, ...like('name') });

export const AlertDestinationKind = Type.Enum(['webhook', 'slack'], {
  type: 'string',
  description: '`webhook`: a signed request. `slack`: a URL that accepts the messages of Slack webhooks.',
});

export const AlertDestinationEntry = Type.Object(
  {
    name,
    kind: AlertDestinationKind,
    url: Type.String({ description: 'URL of the destination. Of a Slack URL, only the host is shown.' }),
    secret: Type.Optional(
      Type.String({ description: 'Secret that signs the requests of a webhook. Present only in the response that creates it.' }),
    ),
    createdAt: unixMs('Time when the destination was created'),
  },
  { ...CLOSED, description: 'Destination of notices.' },
);
export type AlertDestinationEntry = Static<typeof AlertDestinationEntry>;
export const AlertDestinations = Type.Object({ destinations: Type.Array(AlertDestinationEntry) }, CLOSED);

export const PutAlertDestination = Type.Object(
  {
    kind: AlertDestinationKind,
    url: Type.String({ minLength: 1, maxLength: LIMITS.maxWorkflowUrlLength, description: 'Absolute http or https URL.' }),
    rotateSecret: Type.Optional(
      Type.Boolean({
        description: 'Creates a new secret for an existing webhook. Default: false. A new webhook always gets one.',
      }),
    ),
  },
  { ...CLOSED, description: 'Destination to create or replace.' },
);
export type PutAlertDestination = Static<typeof PutAlertDestination>;

const workflowUrl = Type.String({
  minLength: 1,
  maxLength: LIMITS.maxWorkflowUrlLength,
  ...like('withoutControls'),
  description: 'Exact URL of a workflow.',
});
const label = Type.String({ minLength: 1, maxLength: LIMITS.maxLabelLength, ...like('label'), description: 'Label of runs.' });

export const AlertConditionSchema = Type.Object(
  {
    kind: Type.Enum(['run-failed', 'error-group'], {
      type: 'string',
      description:
        '`run-failed`: a run or message failed after all retries. `error-group`: an error is new, or occurred again after it was resolved.',
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
  },
  { ...CLOSED, description: 'Condition of an alert rule. Fields that the kind does not use are rejected.' },
);
export type AlertConditionBody = Static<typeof AlertConditionSchema>;

const destinations = (options: object) => Type.Array(DestinationName, { maxItems: LIMITS.maxAlertDestinations, ...options });

export const AlertRuleEntry = Type.Object(
  {
    name,
    enabled,
    condition: AlertConditionSchema,
    destinations: Type.Array(Type.String(), { description: 'Names of the destinations that are notified.' }),
    createdAt: unixMs('Time when the rule was created'),
  },
  { ...CLOSED, description: 'Alert rule.' },
);
export type AlertRuleEntry = Static<typeof AlertRuleEntry>;
export const AlertRules = Type.Object({ rules: Type.Array(AlertRuleEntry) }, CLOSED);

export const PutAlertRule = Type.Object(
  {
    enabled: Type.Optional(Type.Boolean({ description: 'Default: true.' })),
    condition: AlertConditionSchema,
    destinations: destinations({
      description: 'Names of the destinations to notify. Without any, alerts are only listed.',
    }),
  },
  { ...CLOSED, description: 'Alert rule to create or replace.' },
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
  { ...CLOSED, description: 'Lifecycle webhook.' },
);
export type LifecycleWebhookEntry = Static<typeof LifecycleWebhookEntry>;
export const LifecycleWebhooks = Type.Object({ webhooks: Type.Array(LifecycleWebhookEntry) }, CLOSED);

export const PutLifecycleWebhook = Type.Object(
  {
    enabled: Type.Optional(Type.Boolean({ description: 'Default: true.' })),
    events: Type.Array(LifecycleEventSchema, { minItems: 1, maxItems: LIFECYCLE_EVENTS.length }),
    workflowUrl: Type.Optional(workflowUrl),
    label: Type.Optional(label),
    destination: DestinationName,
  },
  { ...CLOSED, description: 'Lifecycle webhook to create or replace.' },
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
    lastAt: unixMs('Time when the condition was last found'),
    endedAt: Type.Optional(unixMs('Time when the alert ended', 'Absent while it is open.')),
    occurrences: Type.Integer({ description: 'How often the condition was found.' }),
    workflowUrl: Type.Optional(Type.String()),
    workflowRunId: Type.Optional(Type.String({ description: 'Id of the run that caused it last.' })),
    stepName: Type.Optional(Type.String({ description: 'Name of the step that failed.' })),
    fingerprint: Type.Optional(Type.String({ description: 'Fingerprint of the error group.' })),
    error: Type.Optional(Type.String({ description: 'Error text. Absent if the run redacts data.' })),
    notifiedAt: Type.Optional(unixMs('Time when the last notice was created')),
    notifyAt: Type.Optional(unixMs('Time when the next notice is due')),
  },
  { ...CLOSED, description: 'Alert.' },
);
export type AlertEntry = Static<typeof AlertEntry>;

export type AlertPage = Static<typeof AlertPage>;
export const AlertPage = Type.Object(
  {
    cursor: Type.String({ description: 'Cursor for the next page; empty when there are no more results.' }),
    alerts: Type.Array(AlertEntry),
  },
  { ...CLOSED, description: 'One page of alerts.' },
);

export const DeletedAlertObject = Type.Object({ deleted: Type.Literal(1) }, CLOSED);
export const AlertTest = Type.Object(
  { messageId: Type.String({ description: 'Id of the message, whose delivery the message log shows.' }) },
  { ...CLOSED, description: 'Test notice that was sent.' },
);
