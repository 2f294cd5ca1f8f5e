/** Wire schemas of the tools for single runs: fork, compare, lineage and check. */
import Type, { type Static } from 'typebox';
import { LIMITS } from '../config/limits.js';
import { NO_OTHER_PROPERTIES } from './fields/no-other-properties.js';
import { unixMs } from './fields/unix-ms.js';
import { patternOption } from './patterns.js';
import { RepairFilter } from './repairs.js';
import { RunReferenceSchema, RunStateSchema, ShownStepType } from './runs.js';

const orNull = <Schema extends Type.TSchema>(schema: Schema) => Type.Union([schema, Type.Null()]);

export const ForkRequest = Type.Object(
  {
    createdAt: Type.Optional(
      unixMs('Time when the run was created', 'Distinguishes runs that used the same id. Default: the latest run.'),
    ),
    fromStep: Type.Integer({
      minimum: 1,
      maximum: LIMITS.maxJournalSteps + 1,
      description: 'Position of a step. Steps recorded before it are kept. The step itself and all later steps run again.',
    }),
    input: Type.Optional(
      Type.Object(
        {
          body: Type.String({ description: 'Payload of the new run.' }),
          contentType: Type.Optional(
            Type.String({
              minLength: 1,
              maxLength: 256,
              ...patternOption('ascii'),
              description: 'Content type of the payload. Default: the content type of the original run.',
            }),
          ),
        },
        NO_OTHER_PROPERTIES,
      ),
    ),
    results: Type.Optional(
      Type.Array(
        Type.Object(
          {
            stepId: Type.Integer({ minimum: 1, maximum: LIMITS.maxJournalSteps }),
            result: Type.Optional(Type.Unknown({ description: 'Any JSON value. Omit it if the step has no result.' })),
          },
          NO_OTHER_PROPERTIES,
        ),
        {
          description:
            'Edited results. Each one replaces the result of a kept step. A result for the step at `fromStep` is recorded instead of running it.',
        },
      ),
    ),
    newWorkflowRunId: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: LIMITS.maxRunIdLength,
        ...patternOption('id'),
        description: 'Id of the new run. Must not be `.` or `..`. Default: a generated id.',
      }),
    ),
    note: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: LIMITS.maxNoteLength,
        description: 'Reason for the fork. Stored with the run and in the audit log.',
      }),
    ),
  },
  { ...NO_OTHER_PROPERTIES, description: 'Options of a fork. Absent options keep the value of the original run.' },
);
export type ForkRequest = Static<typeof ForkRequest>;

export const ForkedRun = Type.Object(
  { workflowRunId: Type.String(), workflowCreatedAt: unixMs('Time when the new run was created') },
  NO_OTHER_PROPERTIES,
);
export type ForkedRun = Static<typeof ForkedRun>;

const ComparedRun = Type.Object(
  {
    workflowRunId: Type.String(),
    workflowCreatedAt: unixMs('Time when the run was created'),
    workflowUrl: Type.String(),
    workflowState: RunStateSchema,
  },
  { ...NO_OTHER_PROPERTIES, description: 'One of the two compared runs.' },
);

const ComparedStep = Type.Object(
  {
    stepId: Type.Integer(),
    out: Type.Optional(
      Type.String({
        description: 'Result of the step as JSON text. Absent when the step has no result, and when both results are equal.',
      }),
    ),
    outLeftOut: Type.Optional(
      Type.Integer({
        description:
          'Size in bytes of the result that is omitted because the response would be too long. `getRunStep` returns it.',
      }),
    ),
    edited: Type.Optional(Type.Literal(true, { description: 'The result was edited in a fork.' })),
  },
  { ...NO_OTHER_PROPERTIES, description: 'Recorded step of one of the compared runs.' },
);

export const DIFFERENCE_KINDS = ['input', 'step', 'result', 'outcome', 'length'] as const;

const Difference = Type.Object(
  {
    kind: Type.Enum([...DIFFERENCE_KINDS], {
      type: 'string',
      description:
        'What differs. `input`: the payloads. `step`: the code requested different steps. `result`: the results of a step. `length`: one run has no step at this position. `outcome`: the runs ended differently.',
    }),
    index: orNull(Type.Integer({ description: 'Index in `steps`. Null when the difference is not about a step.' })),
    left: orNull(Type.String({ description: 'Value in the left run.' })),
    right: orNull(Type.String({ description: 'Value in the right run.' })),
    message: Type.String({ description: 'Description of the difference in one sentence.' }),
  },
  { ...NO_OTHER_PROPERTIES, description: 'Difference between two runs.' },
);

export const RunComparison = Type.Object(
  {
    left: ComparedRun,
    right: ComparedRun,
    firstDifference: orNull(Difference),
    differences: Type.Array(Difference, {
      description:
        'First difference of each kind (input, result, steps), in the order of occurrence. The outcome is compared when both runs have the same steps.',
    }),
    steps: Type.Array(
      Type.Object(
        {
          index: Type.Integer({ description: 'Index of the step, starting at 0.' }),
          stepName: Type.String(),
          stepType: ShownStepType,
          left: orNull(ComparedStep),
          right: orNull(ComparedStep),
          same: Type.Boolean({ description: 'Both runs have the step with the same result, as far as the result is shown.' }),
        },
        NO_OTHER_PROPERTIES,
      ),
      { description: 'Recorded steps of both runs, in the order in which the code requested them.' },
    ),
    shortened: Type.Optional(
      Type.Literal(true, {
        description: 'The runs have more steps than one response compares. Only the first steps are compared.',
      }),
    ),
  },
  { ...NO_OTHER_PROPERTIES, description: 'Result of a comparison of two runs.' },
);
export type RunComparison = Static<typeof RunComparison>;

export const RELATIVE_KINDS = ['resume', 'restart', 'fork', 'invoke', 'schedule'] as const;

const Relative = Type.Object(
  {
    kind: Type.Enum([...RELATIVE_KINDS], {
      type: 'string',
      description: 'How the later run was created from the earlier run.',
    }),
    workflowRunId: Type.Optional(Type.String({ description: 'Id of the run. Absent when a schedule started the run.' })),
    workflowCreatedAt: Type.Optional(unixMs('Time when the run was created')),
    workflowState: Type.Optional(RunStateSchema),
    stepId: Type.Optional(Type.Integer({ description: 'Step that invoked the run, or from which the fork continues.' })),
    stepName: Type.Optional(Type.String()),
    scheduleId: Type.Optional(Type.String()),
    note: Type.Optional(Type.String({ description: 'Reason for the fork.' })),
    of: Type.Optional(
      Type.Object(RunReferenceSchema.properties, {
        ...NO_OTHER_PROPERTIES,
        description: 'For a descendant: the run from which it was created.',
      }),
    ),
  },
  { ...NO_OTHER_PROPERTIES, description: 'Ancestor or descendant of a run.' },
);
export type Relative = Static<typeof Relative>;

export const RunLineage = Type.Object(
  {
    ancestors: Type.Array(Relative, { description: 'Runs from which this run was created, nearest first. At most 100.' }),
    descendants: Type.Array(Relative, {
      description: 'Runs that were created from this run, nearest first, then by creation time. At most 100.',
    }),
    complete: Type.Boolean({ description: '`false` when there are more related runs than the response contains.' }),
  },
  { ...NO_OTHER_PROPERTIES, description: 'Ancestors and descendants of a run.' },
);
export type RunLineage = Static<typeof RunLineage>;

export const CHECK_OUTCOMES = ['fits', 'differs', 'cannot-tell'] as const;

const RunCheck = Type.Object(
  {
    dlqId: orNull(Type.String()),
    workflowRunId: Type.String(),
    workflowCreatedAt: unixMs('Time when the run was created'),
    outcome: Type.Enum([...CHECK_OUTCOMES], {
      type: 'string',
      description: 'Whether the current code of the endpoint still requests the recorded steps.',
    }),
    stepId: orNull(Type.Integer({ description: 'Position of the first step that differs.' })),
    stepName: orNull(Type.String({ description: 'Name of the recorded step that differs.' })),
    message: Type.String({ description: 'Result of the check as a sentence. For `cannot-tell`, the reason and what to do.' }),
  },
  { ...NO_OTHER_PROPERTIES, description: 'Whether the current code of the endpoint of a run would replay the run.' },
);
export type RunCheck = Static<typeof RunCheck>;

export const RunChecks = Type.Object({ checks: Type.Array(RunCheck) }, NO_OTHER_PROPERTIES);
export const CheckDeadLetters = Type.Object(
  {
    filter: Type.Optional(RepairFilter),
    count: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: LIMITS.checksMax,
        default: LIMITS.checksMax,
        description: 'Maximum number of entries to check in this request.',
      }),
    ),
    cursor: Type.Optional(
      Type.String({
        description: 'Cursor from the previous response, for the same filter. Omit it to start from the beginning.',
      }),
    ),
  },
  { ...NO_OTHER_PROPERTIES, description: 'Options of a check of dead letters.' },
);
export const DeadLetterChecks = Type.Object(
  {
    cursor: Type.String({
      description: 'Cursor for the next request with the same filter. Empty when there are no more entries.',
    }),
    checks: Type.Array(RunCheck),
  },
  { ...NO_OTHER_PROPERTIES, description: 'One page of checks of dead letters.' },
);
export type DeadLetterChecks = Static<typeof DeadLetterChecks>;
export type RunChecks = Static<typeof RunChecks>;
