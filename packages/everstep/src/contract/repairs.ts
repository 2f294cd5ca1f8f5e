/**
 * Wire schemas of repairs. A repair is a bulk job over dead letters: you plan it, try it on a few entries (canary) and then
 * run it at a set rate.
 */
import Type, { type Static } from 'typebox';
import { LIMITS } from '../config/limits.js';
import { NO_OTHER_PROPERTIES } from './fields/no-other-properties.js';
import { unixMs } from './fields/unix-ms.js';
import { bodyFilters } from './filters/body-filters.js';
import { REPAIR_FILTERS } from './filters/dead-letter-filters.js';
import { patternOption } from './patterns.js';

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

export const RepairAction = Type.Enum([...REPAIR_ACTIONS], {
  type: 'string',
  description: 'Action that a repair applies to each entry.',
});
export const RepairState = Type.Enum([...REPAIR_STATES], {
  type: 'string',
  description:
    'State of a repair. `canary-passed`: waits for `continue`. `stopped`: too many canary runs failed again. `undo-window`: a delete that has not deleted anything yet.',
});
export const RepairItemState = Type.Enum([...REPAIR_ITEM_STATES], {
  type: 'string',
  description: 'State of an entry of a repair. `gone`: the entry left the queue before the repair reached it.',
});

/** Filters are combined with AND, the values of one filter with OR. */
export const RepairFilter = Type.Object(bodyFilters(REPAIR_FILTERS), {
  ...NO_OTHER_PROPERTIES,
  description:
    'Selects entries of the dead letter queue. Without filters, it selects all entries that are in the queue when the repair is planned.',
});
export type RepairFilter = Static<typeof RepairFilter>;

export const RepairOverrides = Type.Object(
  {
    retries: Type.Optional(
      Type.Integer({ minimum: 0, maximum: LIMITS.maxRetries, description: 'Number of retries of each step.' }),
    ),
    retryDelay: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: LIMITS.maxRetryExpressionLength,
        description: 'Delay before a retry in milliseconds: an expression over `retried`.',
      }),
    ),
    labels: Type.Optional(
      Type.Array(Type.String({ minLength: 1, maxLength: LIMITS.maxLabelLength, ...patternOption('label') }), {
        minItems: 1,
        maxItems: LIMITS.maxLabels,
        description: 'Labels of the new runs. They replace the labels of the failed runs.',
      }),
    ),
    flowControl: Type.Optional(
      Type.Object(
        {
          key: Type.Optional(Type.String({ minLength: 1, maxLength: LIMITS.maxFlowControlKeyLength, ...patternOption('id') })),
          parallelism: Type.Optional(Type.Integer({ minimum: 1, maximum: LIMITS.maxParallelism })),
          rate: Type.Optional(Type.Integer({ minimum: 1, maximum: LIMITS.maxRate, description: 'Number of starts per period.' })),
          periodMs: Type.Optional(
            Type.Integer({
              minimum: 1_000,
              maximum: LIMITS.maxPeriodMs,
              description: 'Length of the period in milliseconds. Requires `rate`. Default: one second.',
            }),
          ),
        },
        {
          ...NO_OTHER_PROPERTIES,
          description: 'Flow control settings. Without `key`, the limits apply to the existing key of each run.',
        },
      ),
    ),
  },
  { ...NO_OTHER_PROPERTIES, description: 'Settings of the new runs that differ from the failed runs. Not allowed for `delete`.' },
);
export type RepairOverrides = Static<typeof RepairOverrides>;

export const PlanRepair = Type.Object(
  { action: RepairAction, filter: Type.Optional(RepairFilter), overrides: Type.Optional(RepairOverrides) },
  NO_OTHER_PROPERTIES,
);
export type PlanRepair = Static<typeof PlanRepair>;

const Rate = Type.Number({
  minimum: LIMITS.repairMinRatePerSecond,
  maximum: LIMITS.repairMaxRatePerSecond,
  description: 'Number of entries to start per second, spread evenly. For example, 0.1 is one entry every ten seconds.',
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
            description:
              'Number of entries to start first: one from each workflow and group first, then a second from each, and so on. Everstep waits until they have ended.',
          }),
          maxFailurePercent: Type.Optional(
            Type.Number({
              minimum: 0,
              maximum: 100,
              description: `Stops a group when more than this percentage of its canary runs fails again, and the repair when the other groups have their verdict. One failure among three or more runs of a group is tolerated, unless the value is 0. Default: ${LIMITS.repairCanaryMaxFailurePercent}.`,
            }),
          ),
          thenContinue: Type.Optional(
            Type.Boolean({
              description: '`true` continues automatically after the canary. `false` waits for `continue`. Default: false.',
            }),
          ),
        },
        { ...NO_OTHER_PROPERTIES, description: 'Settings of a canary: a few entries that are tried first.' },
      ),
    ),
    undoMs: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: LIMITS.repairMaxUndoMs,
        description: `For \`delete\`: time in milliseconds before anything is deleted, during which \`abort\` undoes the delete. Default: ${LIMITS.repairUndoMs}.`,
      }),
    ),
  },
  {
    ...NO_OTHER_PROPERTIES,
    description:
      '`resume` and `restart` require `ratePerSecond`. `undoMs` is for `delete` only. `canary` is not allowed for `delete`.',
  },
);
export type StartRepair = Static<typeof StartRepair>;

export const ContinueRepair = Type.Object({ ratePerSecond: Type.Optional(Rate) }, NO_OTHER_PROPERTIES);
export type ContinueRepair = Static<typeof ContinueRepair>;

const count = (description: string) => Type.Integer({ description });

export const RepairEntry = Type.Object(
  {
    repairId: Type.String(),
    action: RepairAction,
    filter: RepairFilter,
    overrides: RepairOverrides,
    state: RepairState,
    createdAt: unixMs('Time when the repair was planned'),
    createdBy: textOrNull('Email of the user, or id and name of the token, that planned the repair. Null when unknown.'),
    startedAt: orNull(unixMs('Time when the repair was started')),
    endedAt: orNull(unixMs('Time when the repair was completed, stopped or aborted')),
    undoUntil: orNull(unixMs('For `delete`: earliest time when entries are deleted')),
    ratePerSecond: orNull(Type.Number()),
    canary: orNull(
      Type.Object(
        {
          count: count('Maximum number of canary entries.'),
          maxFailurePercent: Type.Number(),
          thenContinue: Type.Boolean(),
          total: count('Number of entries that were selected.'),
          ended: count('Number of entries that have ended in any state.'),
          succeeded: count('Number of entries that succeeded.'),
          failed: count('Number of entries that failed again.'),
          groups: Type.Array(
            Type.Object(
              {
                fingerprint: textOrNull('Fingerprint of the group. Null for entries without a group.'),
                message: Type.String({ description: 'Message of the group. Empty when it is not among the groups of the plan.' }),
                verdict: Type.Enum(['open', 'passed', 'failed', 'untried'], {
                  type: 'string',
                  description: '`open`: not decided yet. `untried`: all entries were already handled.',
                }),
                total: count('Number of entries that were selected.'),
                ended: count('Number of entries that have ended in any state.'),
                failed: count('Number of entries that failed again.'),
              },
              NO_OTHER_PROPERTIES,
            ),
            { description: 'Verdict on each failure group. Empty until the canary has started.' },
          ),
        },
        NO_OTHER_PROPERTIES,
      ),
    ),
    counts: Type.Object(
      {
        total: count('Entries in the repair.'),
        pending: count('Entries that are not processed yet.'),
        started: count('Entries whose new runs are active.'),
        succeeded: count('Entries whose new runs succeeded. For `delete`: deleted entries.'),
        failed: count('Entries whose new runs failed and are in the dead letter queue again.'),
        canceled: count('Entries whose new runs were canceled.'),
        gone: count('Entries that were handled in another way or removed before the repair reached them.'),
      },
      NO_OTHER_PROPERTIES,
    ),
    plan: Type.Object(
      {
        workflows: Type.Array(Type.Object({ workflowUrl: Type.String(), count: Type.Integer() }, NO_OTHER_PROPERTIES), {
          description: `Entries by workflow, highest count first. At most ${LIMITS.repairPlanRows} workflows.`,
        }),
        groups: Type.Array(
          Type.Object({ fingerprint: Type.String(), message: Type.String(), count: Type.Integer() }, NO_OTHER_PROPERTIES),
          {
            description: `Entries by error, highest count first, with the newest message of each error. At most ${LIMITS.repairPlanRows} errors.`,
          },
        ),
        oldestAt: orNull(unixMs('Time of the oldest failure')),
        newestAt: orNull(unixMs('Time of the newest failure')),
        more: Type.Boolean({
          description: `More entries matched than the ${LIMITS.repairMaxItems} that one repair can process.`,
        }),
        stepsKept: count('Number of recorded steps that a resume does not run again.'),
        messagesAtLeast: count('Minimum number of billed messages: one for each run.'),
        expectedDurationMs: count('Expected duration at the set rate. Before a rate is set, at one entry per second.'),
      },
      NO_OTHER_PROPERTIES,
    ),
    stopReason: orNull(
      Type.Enum([...REPAIR_STOP_REASONS], { type: 'string', description: 'Why a repair is paused or stopped.' }),
    ),
    stopMessage: textOrNull('Why the repair stopped, as a sentence.'),
  },
  { ...NO_OTHER_PROPERTIES, description: 'Repair: a bulk job over dead letters.' },
);
export type RepairEntry = Static<typeof RepairEntry>;

export const RepairPage = Type.Object(
  {
    cursor: Type.String({ description: 'Cursor for the next page; empty when there are no more results.' }),
    repairs: Type.Array(RepairEntry),
  },
  { ...NO_OTHER_PROPERTIES, description: 'One page of repairs.' },
);
export type RepairPage = Static<typeof RepairPage>;

export const RepairItem = Type.Object(
  {
    dlqId: Type.String(),
    workflowRunId: Type.String(),
    workflowUrl: Type.String(),
    state: RepairItemState,
    fingerprint: textOrNull('Fingerprint of the error, if the entry had one when the repair was planned.'),
    canary: Type.Boolean({ description: 'The entry is part of the canary.' }),
    newWorkflowRunId: textOrNull('Id of the run that the repair created.'),
    newDlqId: textOrNull('Id of the dead letter entry of the new run, if it failed again.'),
    error: textOrNull('Error message.'),
    at: orNull(unixMs('Time when the entry entered this state')),
  },
  { ...NO_OTHER_PROPERTIES, description: 'Entry of a repair and its outcome.' },
);
export type RepairItem = Static<typeof RepairItem>;

export const RepairItemPage = Type.Object(
  {
    cursor: Type.String({ description: 'Cursor for the next page; empty when there are no more results.' }),
    items: Type.Array(RepairItem),
  },
  { ...NO_OTHER_PROPERTIES, description: 'One page of entries of a repair.' },
);
export type RepairItemPage = Static<typeof RepairItemPage>;
