/** Wire schemas of the server and of queue instance settings. */
import Type, { type Static } from 'typebox';
import { LIMITS } from '../config/limits.js';
import { NO_OTHER_PROPERTIES } from './fields/no-other-properties.js';
import { unixMs } from './fields/unix-ms.js';

export const FlowControlEntry = Type.Object(
  {
    flowControlKey: Type.String(),
    waitListSize: Type.Integer({ minimum: 0, description: 'Number of messages that wait for the key.' }),
    parallelismMax: Type.Optional(
      Type.Integer({ description: 'Maximum number of deliveries in flight. Absent when parallelism is not limited.' }),
    ),
    parallelismCount: Type.Integer({ description: 'Number of deliveries in flight.' }),
    rateMax: Type.Optional(
      Type.Integer({ description: 'Maximum number of starts per period. Absent when the rate is not limited.' }),
    ),
    rateCount: Type.Optional(
      Type.Integer({ description: 'Number of starts in the current period. Present when `rateMax` is present.' }),
    ),
    ratePeriod: Type.Optional(Type.Number({ description: 'Length of a period in seconds. Present when `rateMax` is present.' })),
    ratePeriodStart: Type.Optional(
      Type.Integer({ description: 'Time when the current period started, in Unix seconds. Absent when no period is active.' }),
    ),
    isPaused: Type.Boolean(),
    isPinnedParallelism: Type.Boolean({ description: 'Triggers do not change `parallelismMax`.' }),
    isPinnedRate: Type.Boolean({ description: 'Triggers do not change `rateMax` and `ratePeriod`.' }),
  },
  { ...NO_OTHER_PROPERTIES, description: 'Limits and current state of a flow control key.' },
);
export type FlowControlEntry = Static<typeof FlowControlEntry>;
export const FlowControls = Type.Object({ flowControls: Type.Array(FlowControlEntry) }, NO_OTHER_PROPERTIES);

const FlowControlWaiter = Type.Object(
  {
    kind: Type.Enum(['workflow', 'message'], { type: 'string' }),
    workflowRunId: Type.String({ description: 'Id of the run, or of a plain message.' }),
    workflowCreatedAt: Type.Integer({ format: 'int64', description: 'Time when the run was created, in Unix milliseconds.' }),
    workflowUrl: Type.String(),
    stepName: Type.Optional(Type.String({ description: 'Name of the step to deliver. Absent when the delivery is not a step.' })),
    since: Type.Integer({ format: 'int64', description: 'Time when the delivery became due, in Unix milliseconds.' }),
    place: Type.Integer({ description: 'Position in the wait list, starting at 1.' }),
  },
  { ...NO_OTHER_PROPERTIES, description: 'Delivery that waits for a flow control key.' },
);
export type FlowControlWaiter = Static<typeof FlowControlWaiter>;
export const FlowControlWaitList = Type.Object(
  {
    waiting: Type.Array(FlowControlWaiter, { description: 'Waiting deliveries in the order in which they start.' }),
    waitListSize: Type.Integer({ description: 'Total number of waiting deliveries.' }),
  },
  { ...NO_OTHER_PROPERTIES, description: 'Deliveries that wait for a flow control key.' },
);
export type FlowControlWaitList = Static<typeof FlowControlWaitList>;

export const GlobalParallelism = Type.Object(
  {
    parallelismMax: Type.Integer({ description: 'Maximum number of deliveries in flight.' }),
    parallelismCount: Type.Integer({ description: 'Number of deliveries in flight.' }),
  },
  { ...NO_OTHER_PROPERTIES, description: 'Limit and number of deliveries in flight, across all keys.' },
);

export const DestinationEntry = Type.Object(
  {
    origin: Type.String({ description: 'Scheme, host and port of the destination, or a whole worker URL.' }),
    isHeld: Type.Boolean(),
    heldBy: Type.Optional(Type.Enum(['breaker', 'hand'], { type: 'string' })),
    reason: Type.Optional(Type.String()),
    heldSince: Type.Optional(
      Type.Integer({ format: 'int64', description: 'Time when the destination was held, in Unix milliseconds.' }),
    ),
    noWorkerSince: Type.Optional(
      unixMs(
        'For a worker URL: time since which no connected worker has served it',
        'Its deliveries wait. Absent when a worker serves it.',
      ),
    ),
    failures: Type.Integer({ description: 'Number of consecutive failed deliveries.' }),
    lastError: Type.Optional(Type.String()),
    waitListSize: Type.Integer({ description: 'Number of deliveries that wait for the destination.' }),
    nextProbeAt: Type.Optional(
      Type.Integer({ format: 'int64', description: 'Time when the next probe delivery is sent, in Unix milliseconds.' }),
    ),
  },
  { ...NO_OTHER_PROPERTIES, description: 'State of a destination.' },
);
export type DestinationEntry = Static<typeof DestinationEntry>;
export const Destinations = Type.Object({ destinations: Type.Array(DestinationEntry) }, NO_OTHER_PROPERTIES);
export const DestinationHeld = Type.Object(
  { origin: Type.String(), isHeld: Type.Boolean() },
  { ...NO_OTHER_PROPERTIES, description: 'Whether a destination is held.' },
);

const BreakerFields = {
  enabled: Type.Boolean({ description: 'Whether Everstep holds a destination that fails repeatedly.' }),
  failures: Type.Integer({
    minimum: 1,
    maximum: LIMITS.maxBreakerFailures,
    description: 'Number of consecutive failed deliveries after which the destination is held.',
  }),
  probeEveryMs: Type.Integer({
    minimum: LIMITS.minProbeEveryMs,
    maximum: LIMITS.maxProbeEveryMs,
    description: 'Interval between probe deliveries in milliseconds. A probe checks whether the destination is available again.',
  }),
};
const RetentionFields = {
  maxAgeMs: Type.Union([Type.Integer({ minimum: 0, maximum: LIMITS.maxRetentionAgeMs }), Type.Null()], {
    description: 'How long runs are retained after they end, in milliseconds. Null retains them forever.',
  }),
  maxCount: Type.Union([Type.Integer({ minimum: 0, maximum: LIMITS.maxRetentionCount }), Type.Null()], {
    description: 'Maximum number of runs that are retained; older runs are removed. Null means no limit.',
  }),
};
const RetentionRule = Type.Object(RetentionFields, { ...NO_OTHER_PROPERTIES, description: 'How long ended runs are retained.' });
const RetentionRulePatch = Type.Partial(RetentionRule, {
  ...NO_OTHER_PROPERTIES,
  description: 'Retention to change. Absent settings keep their value.',
});

export const InstanceSettingsSchema = Type.Object(
  {
    breaker: Type.Object(BreakerFields, {
      ...NO_OTHER_PROPERTIES,
      description: 'Settings of the circuit breaker for destinations.',
    }),
    retention: Type.Object(
      { succeeded: RetentionRule, failed: RetentionRule, canceled: RetentionRule, deadLetter: RetentionRule },
      {
        ...NO_OTHER_PROPERTIES,
        description: 'Retention by outcome of the run. `deadLetter` applies to failed runs with an unhandled dead letter entry.',
      },
    ),
  },
  { ...NO_OTHER_PROPERTIES, description: 'Settings of a queue instance.' },
);

/** Fields that are absent keep their value. */
export const InstanceSettingsPatch = Type.Object(
  {
    breaker: Type.Optional(Type.Partial(Type.Object(BreakerFields, NO_OTHER_PROPERTIES), NO_OTHER_PROPERTIES)),
    retention: Type.Optional(
      Type.Object(
        {
          succeeded: Type.Optional(RetentionRulePatch),
          failed: Type.Optional(RetentionRulePatch),
          canceled: Type.Optional(RetentionRulePatch),
          deadLetter: Type.Optional(RetentionRulePatch),
        },
        NO_OTHER_PROPERTIES,
      ),
    ),
  },
  { ...NO_OTHER_PROPERTIES, description: 'Settings to change. Absent settings keep their value.' },
);
export type InstanceSettingsPatch = Static<typeof InstanceSettingsPatch>;

export const SigningKeysSchema = Type.Object(
  {
    current: Type.String({ description: 'Key that signs current requests.' }),
    next: Type.String({ description: 'Key that becomes current at the next rotation.' }),
  },
  { ...NO_OTHER_PROPERTIES, description: 'Current signing key, and the key that replaces it at the next rotation.' },
);

export const Health = Type.Object({ status: Type.Literal('ok'), version: Type.String() }, NO_OTHER_PROPERTIES);
export const Readiness = Type.Object({ status: Type.Literal('ready') }, NO_OTHER_PROPERTIES);
