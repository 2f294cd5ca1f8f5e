/** Wire schemas of the run log in this dialect. */
import Type, { type Static } from 'typebox';
import { RunStateSchema, SHOWN_STEP_TYPES } from '../../../contract/runs.js';
import { FAILURE_FUNCTION_STATES, STEP_STATES } from '../../../contract/states.js';

const unixMs = (description: string) => Type.Integer({ format: 'int64', description: `${description}, Unix ms` });
const HeaderMap = Type.Record(Type.String(), Type.Array(Type.String()));

const omittedSize = (subject: string) =>
  Type.Optional(
    Type.Integer({ description: `Size in bytes of ${subject}, which is omitted because the response would be too large.` }),
  );

const StepError = Type.Object({
  error: Type.String(),
  body: Type.String({ description: 'Response body of the attempt that failed the run; empty for other attempts.' }),
  headers: HeaderMap,
  status: Type.Integer({ description: '0 if there was no response.' }),
  time: unixMs('When the attempt failed'),
});

export const LoggedStep = Type.Object({
  stepId: Type.Optional(Type.Integer()),
  stepName: Type.Optional(Type.String({ description: 'Absent while the step is unknown.' })),
  stepType: Type.Optional(Type.Enum([...SHOWN_STEP_TYPES], { type: 'string' })),
  callType: Type.Literal('step'),
  messageId: Type.String(),
  out: Type.Optional(Type.String({ description: 'The result as text: JSON, or the data of an event.' })),
  outLeftOut: omittedSize('a result or payload'),
  retries: Type.Integer({ description: 'Maximum number of retries after a failed attempt.' }),
  retryDelay: Type.Optional(Type.String()),
  concurrent: Type.Integer(),
  state: Type.Enum([...STEP_STATES], { type: 'string' }),
  createdAt: unixMs('When the step was planned'),
  headers: HeaderMap,
  sleepFor: Type.Optional(Type.Integer({ description: 'ms' })),
  sleepUntil: Type.Optional(unixMs('When a sleep ends')),
  waitEventId: Type.Optional(Type.String()),
  waitTimeoutDuration: Type.Optional(Type.String({ description: 'Timeout of a pending wait, such as 1h30m.' })),
  waitTimeoutDeadline: Type.Optional(unixMs('When a pending wait times out')),
  waitTimeout: Type.Optional(Type.Boolean({ description: 'Whether a completed wait timed out.' })),
  notifyEventId: Type.Optional(Type.String()),
  callUrl: Type.Optional(Type.String({ description: 'URL of a pending call.' })),
  callMethod: Type.Optional(Type.String()),
  callHeaders: Type.Optional(HeaderMap),
  callBody: Type.Optional(Type.String()),
  callBodyLeftOut: omittedSize('a body'),
  callResponseStatus: Type.Optional(Type.Integer({ description: '0 if there was no response.' })),
  callResponseBody: Type.Optional(Type.String()),
  callResponseHeaders: Type.Optional(HeaderMap),
  invokedWorkflowRunId: Type.Optional(Type.String()),
  invokedWorkflowUrl: Type.Optional(Type.String()),
  invokedWorkflowCreatedAt: Type.Optional(unixMs('Creation of the invoked run')),
  invokedWorkflowRunBody: Type.Optional(Type.String()),
  invokedWorkflowRunHeaders: Type.Optional(HeaderMap),
  errors: Type.Optional(Type.Array(StepError, { description: 'Failed attempts, oldest first.' })),
});
export type LoggedStep = Static<typeof LoggedStep>;

export const StepGroup = Type.Object({
  type: Type.Enum(['sequential', 'parallel', 'next'], {
    type: 'string',
    description: 'next: an attempt whose step is not known yet, or was not known when the run ended.',
  }),
  steps: Type.Array(LoggedStep),
});
export type StepGroup = Static<typeof StepGroup>;

const FailureFunction = Type.Object({
  messageId: Type.Optional(Type.String({ description: 'Absent if the first attempt succeeded.' })),
  url: Type.String(),
  state: Type.Optional(Type.Enum([...FAILURE_FUNCTION_STATES], { type: 'string' })),
  failHeaders: HeaderMap,
  failStatus: Type.Integer(),
  failResponse: Type.String(),
  dlqId: Type.Optional(Type.String()),
  errors: Type.Optional(Type.Array(StepError)),
  responseStatus: Type.Optional(Type.Integer({ description: 'Status of the last failed response.' })),
  nextDeliveryTime: Type.Optional(unixMs('When the failure function is called next')),
});
export type FailureFunction = Static<typeof FailureFunction>;

export const LoggedRun = Type.Object({
  workflowRunId: Type.String(),
  workflowUrl: Type.String(),
  workflowState: RunStateSchema,
  workflowRunCreatedAt: unixMs('Creation of the run'),
  workflowRunCompletedAt: Type.Optional(unixMs('End of the run')),
  workflowRunResponse: Type.Optional(Type.String({ description: 'Return value of the workflow as JSON text.' })),
  workflowRunResponseLeftOut: omittedSize('a response'),
  failureFunction: Type.Optional(FailureFunction),
  steps: Type.Array(StepGroup),
  invoker: Type.Optional(
    Type.Object({
      workflowRunId: Type.String(),
      workflowUrl: Type.String(),
      workflowRunCreatedAt: unixMs('Creation of the invoking run'),
    }),
  ),
  dlqId: Type.Optional(Type.String()),
  callerIP: Type.String(),
  label: Type.Optional(Type.String()),
  labels: Type.Array(Type.String()),
  flowControlKey: Type.Optional(Type.String()),
  shortened: Type.Optional(
    Type.Literal(true, { description: 'Steps or failed attempts are omitted because the response would be too large.' }),
  ),
});
export type LoggedRun = Static<typeof LoggedRun>;

export const LoggedRunPage = Type.Object({
  cursor: Type.Optional(Type.String({ description: 'Cursor for the next page; absent on the last page.' })),
  runs: Type.Array(LoggedRun),
});
