/** Wire schemas of the explanation of why a run is waiting. */
import Type, { type Static } from 'typebox';
import { NO_OTHER_PROPERTIES } from './fields/no-other-properties.js';
import { Reason } from './fields/wait-reason.js';
import { RunStateSchema, ShownStepType } from './runs.js';

export { Reason };

const ExplainedTask = Type.Object(
  {
    stepId: Type.Optional(
      Type.Integer({
        description: 'Position of the step. Absent for the code between steps, plain messages and failure callbacks.',
      }),
    ),
    stepName: Type.Optional(Type.String()),
    stepType: Type.Optional(ShownStepType),
    what: Type.Enum(['workflow', 'step', 'message', 'failure-callback'], { type: 'string' }),
    reasons: Type.Array(Reason, {
      description: 'What the task waits for. Each reason must be resolved before the next one applies.',
    }),
  },
  NO_OTHER_PROPERTIES,
);

export const ExplanationSchema = Type.Object(
  {
    workflowRunId: Type.String(),
    workflowCreatedAt: Type.Integer({ format: 'int64', description: 'Time when the run was created, in Unix milliseconds.' }),
    workflowState: RunStateSchema,
    summary: Type.String({ description: 'Summary in a few words.' }),
    tasks: Type.Array(ExplainedTask, { description: 'Pending tasks of the run. Empty when nothing is pending.' }),
    shortened: Type.Optional(
      Type.Literal(true, { description: 'Present when the run has more pending tasks than fit into the response.' }),
    ),
  },
  { ...NO_OTHER_PROPERTIES, description: 'Explains why a run is waiting.' },
);
export type ExplanationResponse = Static<typeof ExplanationSchema>;
