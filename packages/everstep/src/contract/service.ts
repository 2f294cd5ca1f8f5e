/** Wire schemas of what is about the service or the queue instance, not about a run. */
import Type, { type Static } from 'typebox';
import { LIMITS } from '../config/limits.js';

const CLOSED = { additionalProperties: false } as const;

export const FlowControlEntry = Type.Object(
  {
    flowControlKey: Type.String(),
    waitListSize: Type.Integer({ minimum: 0, description: 'Messages that wait for the key.' }),
    parallelismMax: Type.Optional(Type.Integer({ description: 'How many may be in flight; absent when that is not limited.' })),
    parallelismCount: Type.Integer({ description: 'How many are in flight.' }),
    rateMax: Type.Optional(Type.Integer({ description: 'How many may start in a window; absent when that is not limited.' })),
    rateCount: Type.Optional(Type.Integer({ description: 'How many have started in the window; present when rateMax is.' })),
    ratePeriod: Type.Optional(Type.Number({ description: 'Length of a window, seconds; present when rateMax is.' })),
    ratePeriodStart: Type.Optional(
      Type.Integer({ description: 'When the window began, Unix seconds; absent while there is none.' }),
    ),
    isPaused: Type.Boolean(),
    isPinnedParallelism: Type.Boolean({ description: 'Triggers do not change parallelismMax.' }),
    isPinnedRate: Type.Boolean({ description: 'Triggers do not change rateMax and ratePeriod.' }),
  },
  CLOSED,
);
export type FlowControlEntry = Static<typeof FlowControlEntry>;
export const FlowControls = Type.Object({ flowControls: Type.Array(FlowControlEntry) }, CLOSED);

const FlowControlWaiter = Type.Object(
  {
    kind: Type.Enum(['workflow', 'message'], { type: 'string' }),
    workflowRunId: Type.String({ description: 'Of a plain message: its ID.' }),
    workflowCreatedAt: Type.Integer({ format: 'int64', description: 'Creation of the run, Unix ms' }),
    workflowUrl: Type.String(),
    stepName: Type.Optional(Type.String({ description: 'The step that is to be delivered, where it is one.' })),
    since: Type.Integer({ format: 'int64', description: 'When it fell due, Unix ms' }),
    place: Type.Integer({ description: 'From 1.' }),
  },
  CLOSED,
);
export type FlowControlWaiter = Static<typeof FlowControlWaiter>;
export const FlowControlWaitList = Type.Object(
  {
    waiting: Type.Array(FlowControlWaiter, { description: 'In the order in which they go.' }),
    waitListSize: Type.Integer({ description: 'How many wait in all.' }),
  },
  CLOSED,
);
export type FlowControlWaitList = Static<typeof FlowControlWaitList>;

export const GlobalParallelism = Type.Object(
  {
    parallelismMax: Type.Integer({ description: 'How many deliveries may be in flight.' }),
    parallelismCount: Type.Integer({ description: 'How many are.' }),
  },
  CLOSED,
);

export const DestinationEntry = Type.Object(
  {
    origin: Type.String({ description: 'Scheme, host and port.' }),
    isHeld: Type.Boolean(),
    heldBy: Type.Optional(Type.Enum(['breaker', 'hand'], { type: 'string' })),
    reason: Type.Optional(Type.String()),
    heldSince: Type.Optional(Type.Integer({ format: 'int64', description: 'Unix ms' })),
    failures: Type.Integer({ description: 'Failed deliveries in a row.' }),
    lastError: Type.Optional(Type.String()),
    waitListSize: Type.Integer({ description: 'Deliveries that wait for the destination.' }),
    nextProbeAt: Type.Optional(Type.Integer({ format: 'int64', description: 'When one delivery is let through next, Unix ms' })),
  },
  CLOSED,
);
export type DestinationEntry = Static<typeof DestinationEntry>;
export const Destinations = Type.Object({ destinations: Type.Array(DestinationEntry) }, CLOSED);
export const DestinationHeld = Type.Object({ origin: Type.String(), isHeld: Type.Boolean() }, CLOSED);

const BreakerFields = {
  enabled: Type.Boolean({ description: 'Whether a destination that keeps failing is held back.' }),
  failures: Type.Integer({
    minimum: 1,
    maximum: LIMITS.maxBreakerFailures,
    description: 'So many failed deliveries in a row hold it back.',
  }),
  probeEveryMs: Type.Integer({
    minimum: LIMITS.minProbeEveryMs,
    maximum: LIMITS.maxProbeEveryMs,
    description: 'How often one delivery is let through to see whether it is back.',
  }),
};
const RetentionFields = {
  maxAgeMs: Type.Union([Type.Integer({ minimum: 0, maximum: LIMITS.maxRetentionAgeMs }), Type.Null()], {
    description: 'How long after their end runs are kept; null for ever.',
  }),
  maxCount: Type.Union([Type.Integer({ minimum: 0, maximum: LIMITS.maxRetentionCount }), Type.Null()], {
    description: 'How many of the newest are kept; null for all.',
  }),
};
const RetentionRule = Type.Object(RetentionFields, CLOSED);
const RetentionRulePatch = Type.Partial(Type.Object(RetentionFields, CLOSED), CLOSED);

export const InstanceSettingsSchema = Type.Object(
  {
    breaker: Type.Object(BreakerFields, CLOSED),
    retention: Type.Object(
      { succeeded: RetentionRule, failed: RetentionRule, canceled: RetentionRule, deadLetter: RetentionRule },
      { ...CLOSED, description: 'By how the run ended; deadLetter: a failed run whose entry nobody has handled.' },
    ),
  },
  CLOSED,
);

/** What is absent stays as it is. */
export const InstanceSettingsPatch = Type.Object(
  {
    breaker: Type.Optional(Type.Partial(Type.Object(BreakerFields, CLOSED), CLOSED)),
    retention: Type.Optional(
      Type.Object(
        {
          succeeded: Type.Optional(RetentionRulePatch),
          failed: Type.Optional(RetentionRulePatch),
          canceled: Type.Optional(RetentionRulePatch),
          deadLetter: Type.Optional(RetentionRulePatch),
        },
        CLOSED,
      ),
    ),
  },
  CLOSED,
);
export type InstanceSettingsPatch = Static<typeof InstanceSettingsPatch>;

export const SigningKeysSchema = Type.Object(
  {
    current: Type.String({ description: 'Signs what the service sends.' }),
    next: Type.String({ description: 'Becomes the current one when the keys are rotated.' }),
  },
  CLOSED,
);

export const Health = Type.Object({ status: Type.Literal('ok'), version: Type.String() }, CLOSED);
export const Readiness = Type.Object({ status: Type.Literal('ready') }, CLOSED);
