/** Wire schemas of what helps to put one run right: fork, compare, lineage, check. */
import Type, { type Static } from 'typebox';
import { LIMITS } from '../config/limits.js';
import { like } from './patterns.js';
import { RepairFilter } from './repairs.js';
import { RunStateSchema, SHOWN_STEP_TYPES } from './runs.js';

const CLOSED = { additionalProperties: false } as const;
const unixMs = (description: string) => Type.Integer({ format: 'int64', description: `${description}, Unix ms` });
const StepTypeSchema = Type.Enum([...SHOWN_STEP_TYPES], { type: 'string' });
const orNull = <Schema extends Type.TSchema>(schema: Schema) => Type.Union([schema, Type.Null()]);

export const ForkRequest = Type.Object(
  {
    createdAt: Type.Optional(unixMs('Creation of the run: tells runs apart that had the same ID; the latest when absent')),
    fromStep: Type.Integer({
      minimum: 1,
      maximum: LIMITS.maxJournalSteps + 1,
      description: 'Position of a step. What was recorded before it is kept; it, and what was recorded after it, is done again.',
    }),
    input: Type.Optional(
      Type.Object(
        {
          body: Type.String({ description: 'What the new run is triggered with, instead.' }),
          contentType: Type.Optional(
            Type.String({
              minLength: 1,
              maxLength: 256,
              ...like('ascii'),
              description: 'That of the run when absent.',
            }),
          ),
        },
        CLOSED,
      ),
    ),
    results: Type.Optional(
      Type.Array(
        Type.Object(
          {
            stepId: Type.Integer({ minimum: 1, maximum: LIMITS.maxJournalSteps }),
            result: Type.Optional(Type.Unknown({ description: 'Any JSON value; absent: none.' })),
          },
          CLOSED,
        ),
        { description: 'Results of steps that are kept, which replace theirs; or of the step itself, which is then not done.' },
      ),
    ),
    newWorkflowRunId: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: LIMITS.maxRunIdLength,
        ...like('id'),
        description: 'ID of the new run, not "." or ".."; one is made when absent.',
      }),
    ),
    note: Type.Optional(
      Type.String({ minLength: 1, maxLength: LIMITS.maxNoteLength, description: 'Why, for the run and the audit log.' }),
    ),
  },
  CLOSED,
);
export type ForkRequest = Static<typeof ForkRequest>;

export const ForkedRun = Type.Object(
  { workflowRunId: Type.String(), workflowCreatedAt: unixMs('Creation of the new run') },
  CLOSED,
);
export type ForkedRun = Static<typeof ForkedRun>;

/** One of two runs that are compared. */
const ComparedRun = Type.Object(
  {
    workflowRunId: Type.String(),
    workflowCreatedAt: unixMs('Creation of the run'),
    workflowUrl: Type.String(),
    workflowState: RunStateSchema,
  },
  CLOSED,
);

/** A recorded step of one of the runs. */
const ComparedStep = Type.Object(
  {
    stepId: Type.Integer(),
    out: Type.Optional(
      Type.String({ description: 'Result of the step as JSON text; absent when it has none, and where both are the same.' }),
    ),
    outLeftOut: Type.Optional(
      Type.Integer({
        description: 'Bytes of a result that is left out because the answer would be too long; getRunStep returns it.',
      }),
    ),
    edited: Type.Optional(Type.Literal(true, { description: 'The result was edited in a fork.' })),
  },
  CLOSED,
);

export const DIFFERENCE_KINDS = ['input', 'step', 'result', 'outcome', 'length'] as const;

const Difference = Type.Object(
  {
    kind: Type.Enum([...DIFFERENCE_KINDS], {
      type: 'string',
      description:
        'input: they were triggered with something else; step: one asked for another step; result: a step came to something else; length: one has no step there; outcome: they ended in another way.',
    }),
    index: orNull(Type.Integer({ description: 'Place in steps; null when it is not about a step.' })),
    left: orNull(Type.String({ description: 'What it is in the left run.' })),
    right: orNull(Type.String({ description: 'What it is in the right run.' })),
    message: Type.String({ description: 'The difference in words.' }),
  },
  CLOSED,
);

export const RunComparison = Type.Object(
  {
    left: ComparedRun,
    right: ComparedRun,
    firstDifference: orNull(Difference),
    differences: Type.Array(Difference, {
      description:
        'Where they first differ in each way, the first difference first: in the input, in a result, in the steps; in the outcome when they have the same steps.',
    }),
    steps: Type.Array(
      Type.Object(
        {
          index: Type.Integer({ description: 'From 0.' }),
          stepName: Type.String(),
          stepType: StepTypeSchema,
          left: orNull(ComparedStep),
          right: orNull(ComparedStep),
          same: Type.Boolean({ description: 'Both have it, with the same result, as far as it is shown.' }),
        },
        CLOSED,
      ),
      { description: 'Recorded steps of both, in the order in which the code asked for them.' },
    ),
    shortened: Type.Optional(
      Type.Literal(true, { description: 'The runs have more steps than one answer compares; the first ones are compared.' }),
    ),
  },
  CLOSED,
);
export type RunComparison = Static<typeof RunComparison>;

export const RELATIVE_KINDS = ['resume', 'restart', 'fork', 'invoke', 'schedule'] as const;

const Relative = Type.Object(
  {
    kind: Type.Enum([...RELATIVE_KINDS], { type: 'string', description: 'How the later of the two came of the earlier.' }),
    workflowRunId: Type.Optional(Type.String({ description: 'Absent where a schedule started the run.' })),
    workflowCreatedAt: Type.Optional(unixMs('Creation of that run')),
    workflowState: Type.Optional(RunStateSchema),
    stepId: Type.Optional(Type.Integer({ description: 'The step that invoked, or from which the fork goes on.' })),
    stepName: Type.Optional(Type.String()),
    scheduleId: Type.Optional(Type.String()),
    note: Type.Optional(Type.String({ description: 'Why it was forked.' })),
    of: Type.Optional(
      Type.Object(
        { workflowRunId: Type.String(), workflowCreatedAt: unixMs('Creation of that run') },
        { ...CLOSED, description: 'Of a descendant: the run that it came of.' },
      ),
    ),
  },
  CLOSED,
);
export type Relative = Static<typeof Relative>;

export const RunLineage = Type.Object(
  {
    ancestors: Type.Array(Relative, { description: 'Nearest first; at most 100.' }),
    descendants: Type.Array(Relative, { description: 'Nearest first, then by creation; at most 100.' }),
    complete: Type.Boolean({ description: 'False: there are more than are shown.' }),
  },
  CLOSED,
);
export type RunLineage = Static<typeof RunLineage>;

export const CHECK_OUTCOMES = ['fits', 'differs', 'cannot-tell'] as const;

const RunCheck = Type.Object(
  {
    dlqId: orNull(Type.String()),
    workflowRunId: Type.String(),
    workflowCreatedAt: unixMs('Creation of the run'),
    outcome: Type.Enum([...CHECK_OUTCOMES], {
      type: 'string',
      description: 'Whether the present code of the endpoint still asks for the steps that are recorded.',
    }),
    stepId: orNull(Type.Integer({ description: 'Where it differs.' })),
    stepName: orNull(Type.String({ description: 'The recorded step where it differs.' })),
    message: Type.String({ description: 'What was found, in words; for cannot-tell why, and what to do.' }),
  },
  CLOSED,
);
export type RunCheck = Static<typeof RunCheck>;

export const RunChecks = Type.Object({ checks: Type.Array(RunCheck) }, CLOSED);
export const CheckDeadLetters = Type.Object(
  {
    filter: Type.Optional(RepairFilter),
    count: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: LIMITS.checksMax,
        default: LIMITS.checksMax,
        description: 'Entries to ask about in this request.',
      }),
    ),
    cursor: Type.Optional(
      Type.String({ description: 'Goes on where the last request ended, with the same filter; empty begins.' }),
    ),
  },
  CLOSED,
);
export const DeadLetterChecks = Type.Object(
  {
    cursor: Type.String({ description: 'For the next request, with the same filter; empty when there are no more entries.' }),
    checks: Type.Array(RunCheck),
  },
  CLOSED,
);
export type DeadLetterChecks = Static<typeof DeadLetterChecks>;
export type RunChecks = Static<typeof RunChecks>;
