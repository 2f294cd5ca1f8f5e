/** Wire schemas of repairs: bulk jobs over dead letters that are planned, tried on a few, and then run at a set rate. */
import Type, { type Static } from 'typebox';
import { LIMITS } from '../config/limits.js';
import { FailureFunctionStateSchema } from './dead-letters.js';
import { like } from './patterns.js';

const CLOSED = { additionalProperties: false } as const;
const unixMs = (description: string) => Type.Integer({ format: 'int64', description: `${description}, Unix ms` });
const given = (description: string) => Type.Integer({ minimum: 0, format: 'int64', description });
const orNull = <T extends Parameters<typeof Type.Union>[0][number]>(schema: T) => Type.Union([schema, Type.Null()]);
const textOrNull = (description: string) => Type.Union([Type.String(), Type.Null()], { description });

export const REPAIR_ACTIONS = ['resume', 'restart', 'delete'] as const;
export const REPAIR_STATES = [
  'planning',
  'planned',
  'canary',
  'canary-passed',
  'running',
  'paused',
  'stopped',
  'undo-window',
  'aborted',
  'done',
] as const;
export const REPAIR_ITEM_STATES = ['pending', 'started', 'succeeded', 'failed', 'canceled', 'gone'] as const;
export const REPAIR_STOP_REASONS = [
  'canary-failed',
  'budget-exceeded',
  'daily-limit-reached',
  'storage-quota-exceeded',
  'too-many-active-runs',
  'paused-by-hand',
  'aborted-by-hand',
  'undone',
] as const;

export const RepairAction = Type.Enum([...REPAIR_ACTIONS], { type: 'string' });
export const RepairState = Type.Enum([...REPAIR_STATES], { type: 'string' });
export const RepairItemState = Type.Enum([...REPAIR_ITEM_STATES], { type: 'string' });

const anyOf = (what: string, maxLength: number) =>
  Type.Array(Type.String({ minLength: 1, maxLength }), {
    minItems: 1,
    maxItems: LIMITS.maxFilterValues,
    description: `${what}; any of these.`,
  });

/** Filters are combined with AND; the values of one with OR. */
export const RepairFilter = Type.Object(
  {
    dlqIds: Type.Optional(
      Type.Array(Type.String({ minLength: 1, maxLength: LIMITS.maxRunIdLength }), {
        minItems: 1,
        maxItems: LIMITS.repairNamedMax,
        description: 'These entries alone; those that are not in the queue are left out.',
      }),
    ),
    fromDate: Type.Optional(given('Entries of runs that failed at or after this time, Unix ms')),
    toDate: Type.Optional(given('Entries of runs that failed at or before this time, Unix ms')),
    workflowUrl: Type.Optional(anyOf('URL of the workflow', LIMITS.maxWorkflowUrlLength)),
    workflowRunId: Type.Optional(
      Type.String({ minLength: 1, maxLength: LIMITS.maxRunIdLength, description: 'ID of the run, or what it begins with' }),
    ),
    workflowCreatedAt: Type.Optional(given('Creation of the run, Unix ms')),
    label: Type.Optional(anyOf('Label of the run', LIMITS.maxLabelLength)),
    callerIp: Type.Optional(anyOf('IP address of the publisher', 64)),
    flowControlKey: Type.Optional(anyOf('Flow control key', LIMITS.maxFlowControlKeyLength)),
    failureFunctionState: Type.Optional(
      Type.Array(FailureFunctionStateSchema, {
        minItems: 1,
        maxItems: 4,
        description: 'State of the failure function; any of these',
      }),
    ),
    fingerprint: Type.Optional(anyOf('Fingerprint of the error', 128)),
  },
  {
    ...CLOSED,
    description: 'Which entries of the dead letter queue: all that are there when it is planned, where nothing is named.',
  },
);
export type RepairFilter = Static<typeof RepairFilter>;

export const RepairOverrides = Type.Object(
  {
    retries: Type.Optional(Type.Integer({ minimum: 0, maximum: LIMITS.maxRetries, description: 'Retries for each step' })),
    retryDelay: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: LIMITS.maxRetryExpressionLength,
        description: 'Delay before a retry in ms: an expression over `retried`',
      }),
    ),
    labels: Type.Optional(
      Type.Array(Type.String({ minLength: 1, maxLength: LIMITS.maxLabelLength, ...like('label') }), {
        minItems: 1,
        maxItems: LIMITS.maxLabels,
        description: 'Labels of the new runs, in place of those that the failed ones had',
      }),
    ),
    flowControl: Type.Optional(
      Type.Object(
        {
          key: Type.Optional(Type.String({ minLength: 1, maxLength: LIMITS.maxFlowControlKeyLength, ...like('id') })),
          parallelism: Type.Optional(Type.Integer({ minimum: 1, maximum: LIMITS.maxParallelism })),
          rate: Type.Optional(Type.Integer({ minimum: 1, maximum: LIMITS.maxRate, description: 'Starts per period' })),
          periodMs: Type.Optional(
            Type.Integer({
              minimum: 1_000,
              maximum: LIMITS.maxPeriodMs,
              description: 'A second when absent; it goes with a rate',
            }),
          ),
        },
        { ...CLOSED, description: 'Without a key the limits are for the own key of each run' },
      ),
    ),
  },
  { ...CLOSED, description: 'What the new runs are to have otherwise than the failed ones; not for delete.' },
);
export type RepairOverrides = Static<typeof RepairOverrides>;

export const PlanRepair = Type.Object(
  { action: RepairAction, filter: Type.Optional(RepairFilter), overrides: Type.Optional(RepairOverrides) },
  CLOSED,
);
export type PlanRepair = Static<typeof PlanRepair>;

const Rate = Type.Number({
  minimum: LIMITS.repairMinRatePerSecond,
  maximum: LIMITS.repairMaxRatePerSecond,
  description: 'So many entries a second are begun, evenly over time; 0.1 is one every ten seconds.',
});

export const StartRepair = Type.Object(
  {
    ratePerSecond: Type.Optional(Rate),
    canary: Type.Optional(
      Type.Object(
        {
          count: Type.Integer({
            minimum: 1,
            maximum: LIMITS.repairMaxCanary,
            description: 'So many are begun first, spread over the workflows, and watched until they have ended.',
          }),
          maxFailurePercent: Type.Number({
            minimum: 0,
            maximum: 100,
            description: 'The repair stops by itself when more than this share of them fails again.',
          }),
          thenContinue: Type.Boolean({ description: 'True goes on by itself; false waits for continue.' }),
        },
        CLOSED,
      ),
    ),
    undoMs: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: LIMITS.repairMaxUndoMs,
        description: `Of a delete: nothing is deleted for so long, and abort undoes it; ${LIMITS.repairUndoMs} when absent.`,
      }),
    ),
  },
  { ...CLOSED, description: 'resume and restart need ratePerSecond; undoMs is for delete, and canary is not.' },
);
export type StartRepair = Static<typeof StartRepair>;

export const ContinueRepair = Type.Object({ ratePerSecond: Type.Optional(Rate) }, CLOSED);
export type ContinueRepair = Static<typeof ContinueRepair>;

const count = (description: string) => Type.Integer({ description });

export const RepairEntry = Type.Object(
  {
    repairId: Type.String(),
    action: RepairAction,
    filter: RepairFilter,
    overrides: RepairOverrides,
    state: RepairState,
    createdAt: unixMs('When it was planned'),
    createdBy: textOrNull('E-mail of the user, or the name of the token, who planned it; null when it is not known.'),
    startedAt: orNull(unixMs('When it was started')),
    endedAt: orNull(unixMs('When it was done, stopped or aborted')),
    undoUntil: orNull(unixMs('Of a delete: nothing is deleted before')),
    ratePerSecond: orNull(Type.Number()),
    canary: orNull(
      Type.Object(
        {
          count: count('How many there are at most.'),
          maxFailurePercent: Type.Number(),
          thenContinue: Type.Boolean(),
          total: count('How many were chosen.'),
          ended: count('How many have ended, in whatever way.'),
          succeeded: count('How many have succeeded.'),
          failed: count('How many have failed again.'),
        },
        CLOSED,
      ),
    ),
    counts: Type.Object(
      {
        total: count('Frozen entries.'),
        pending: count('Nothing was done with them yet.'),
        started: count('Their new runs are active.'),
        succeeded: count('Their new runs have succeeded; of a delete: deleted.'),
        failed: count('Their new runs have failed, and are in the queue again.'),
        canceled: count('Their new runs were canceled.'),
        gone: count('Handled by somebody else, or removed, before their turn.'),
      },
      CLOSED,
    ),
    plan: Type.Object(
      {
        workflows: Type.Array(Type.Object({ workflowUrl: Type.String(), count: Type.Integer() }, CLOSED), {
          description: `By count, at most ${LIMITS.repairPlanRows}.`,
        }),
        groups: Type.Array(Type.Object({ fingerprint: Type.String(), message: Type.String(), count: Type.Integer() }, CLOSED), {
          description: `By count, at most ${LIMITS.repairPlanRows}.`,
        }),
        oldestAt: orNull(unixMs('When the first of the runs failed')),
        newestAt: orNull(unixMs('When the last of the runs failed')),
        more: Type.Boolean({ description: `There were more entries than the ${LIMITS.repairMaxItems} that one repair takes.` }),
        stepsKept: count('Recorded steps that a resume does not run again.'),
        messagesAtLeast: count('Messages that this is billed for at the least: one for each run.'),
        expectedDurationMs: count('At the rate that was set; before that, at one a second.'),
      },
      CLOSED,
    ),
    stopReason: Type.Union([Type.Enum([...REPAIR_STOP_REASONS], { type: 'string' }), Type.Null()], {
      description: 'Why it does not go on.',
    }),
    stopMessage: textOrNull('The same in words.'),
  },
  CLOSED,
);
export type RepairEntry = Static<typeof RepairEntry>;

export const RepairPage = Type.Object(
  { cursor: Type.String({ description: 'Where the next page begins; empty at the end.' }), repairs: Type.Array(RepairEntry) },
  CLOSED,
);
export type RepairPage = Static<typeof RepairPage>;

export const RepairItem = Type.Object(
  {
    dlqId: Type.String(),
    workflowRunId: Type.String(),
    workflowUrl: Type.String(),
    state: RepairItemState,
    fingerprint: textOrNull('Of the error, where it had one when it was frozen.'),
    canary: Type.Boolean({ description: 'It is one of those that are tried first.' }),
    newWorkflowRunId: textOrNull('The run that was made of it.'),
    newDlqId: textOrNull('The entry of the new run, where that has failed again.'),
    error: textOrNull('What went wrong, in words.'),
    at: orNull(unixMs('When it came into this state')),
  },
  CLOSED,
);
export type RepairItem = Static<typeof RepairItem>;

export const RepairItemPage = Type.Object(
  { cursor: Type.String({ description: 'Where the next page begins; empty at the end.' }), items: Type.Array(RepairItem) },
  CLOSED,
);
export type RepairItemPage = Static<typeof RepairItemPage>;
