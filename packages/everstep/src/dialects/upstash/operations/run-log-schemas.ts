/** Wire schemas of the run log of this dialect. */
import Type, { type Static } from 'typebox';
import { FAILURE_FUNCTION_STATES, RunStateSchema, SHOWN_STEP_TYPES, STEP_STATES } from '../../../contract/runs.js';

const unixMs = (description: string) => Type.Integer({ format: 'int64', description: `${description}, Unix ms` });
const HeaderMap = Type.Record(Type.String(), Type.Array(Type.String()));

const leftOut = (what: string) =>
  Type.Optional(Type.Integer({ description: `Bytes of ${what} that is left out because the answer would be too long.` }));

const StepError = Type.Object({
  error: Type.String(),
  body: Type.String({ description: 'What was answered, of the attempt with which the run failed; else empty.' }),
  headers: HeaderMap,
  status: Type.Integer({ description: '0 when there was no answer.' }),
  time: unixMs('When the attempt failed'),
});

export const LoggedStep = Type.Object({
  stepId: Type.Optional(Type.Integer()),
  stepName: Type.Optional(Type.String({ description: 'Absent where the step that is attempted is not known yet.' })),
  stepType: Type.Optional(Type.Enum([...SHOWN_STEP_TYPES], { type: 'string' })),
  callType: Type.Literal('step'),
  messageId: Type.String(),
  out: Type.Optional(Type.String({ description: 'The result as text: JSON, or what an event carried.' })),
  outLeftOut: leftOut('a result, or of the payload,'),
  retries: Type.Integer({ description: 'How often an attempt that fails is followed by another.' }),
  retryDelay: Type.Optional(Type.String()),
  concurrent: Type.Integer(),
  state: Type.Enum([...STEP_STATES], { type: 'string' }),
  createdAt: unixMs('When the step was planned'),
  headers: HeaderMap,
  sleepFor: Type.Optional(Type.Integer({ description: 'ms' })),
  sleepUntil: Type.Optional(unixMs('When a sleep ends')),
  waitEventId: Type.Optional(Type.String()),
  waitTimeoutDuration: Type.Optional(Type.String({ description: 'Of an open wait, such as 1h30m.' })),
  waitTimeoutDeadline: Type.Optional(unixMs('When an open wait times out')),
  waitTimeout: Type.Optional(Type.Boolean({ description: 'Whether a wait that has ended timed out.' })),
  notifyEventId: Type.Optional(Type.String()),
  callUrl: Type.Optional(Type.String({ description: 'Of an open call.' })),
  callMethod: Type.Optional(Type.String()),
  callHeaders: Type.Optional(HeaderMap),
  callBody: Type.Optional(Type.String()),
  callBodyLeftOut: leftOut('a body'),
  callResponseStatus: Type.Optional(Type.Integer({ description: '0 when there was no answer.' })),
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
    description: 'next: what is attempted without a step being known yet, or was when the run ended.',
  }),
  steps: Type.Array(LoggedStep),
});
export type StepGroup = Static<typeof StepGroup>;

const FailureFunction = Type.Object({
  messageId: Type.Optional(Type.String({ description: 'Absent when the first attempt was taken.' })),
  url: Type.String(),
  state: Type.Optional(Type.Enum([...FAILURE_FUNCTION_STATES], { type: 'string' })),
  failHeaders: HeaderMap,
  failStatus: Type.Integer(),
  failResponse: Type.String(),
  dlqId: Type.Optional(Type.String()),
  errors: Type.Optional(Type.Array(StepError)),
  responseStatus: Type.Optional(Type.Integer({ description: 'Of the last answer that was a failure.' })),
  nextDeliveryTime: Type.Optional(unixMs('When it is told next')),
});
export type FailureFunction = Static<typeof FailureFunction>;

export const LoggedRun = Type.Object({
  workflowRunId: Type.String(),
  workflowUrl: Type.String(),
  workflowState: RunStateSchema,
  workflowRunCreatedAt: unixMs('Creation of the run'),
  workflowRunCompletedAt: Type.Optional(unixMs('End of the run')),
  workflowRunResponse: Type.Optional(Type.String({ description: 'What the workflow returned, as JSON text.' })),
  workflowRunResponseLeftOut: leftOut('a response'),
  failureFunction: Type.Optional(FailureFunction),
  steps: Type.Array(StepGroup),
  invoker: Type.Optional(
    Type.Object({
      workflowRunId: Type.String(),
      workflowUrl: Type.String(),
      workflowRunCreatedAt: unixMs('Creation of that run'),
    }),
  ),
  dlqId: Type.Optional(Type.String()),
  callerIP: Type.String(),
  label: Type.Optional(Type.String()),
  labels: Type.Array(Type.String()),
  flowControlKey: Type.Optional(Type.String()),
  shortened: Type.Optional(
    Type.Literal(true, { description: 'Steps or failed attempts are left out because the answer would be too long.' }),
  ),
});
export type LoggedRun = Static<typeof LoggedRun>;

export const LoggedRunPage = Type.Object({
  cursor: Type.Optional(Type.String({ description: 'Cursor for the next page; absent when there are no more results.' })),
  runs: Type.Array(LoggedRun),
});
