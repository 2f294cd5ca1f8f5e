/** Wire schemas of the dead letter queue. */
import Type, { type Static } from 'typebox';
import { FAILURE_FUNCTION_STATES, FailureFunctionInfo, RunReferenceSchema } from './runs.js';

const CLOSED = { additionalProperties: false } as const;

export const FailureFunctionStateSchema = Type.Enum([...FAILURE_FUNCTION_STATES], { type: 'string' });
export type FailureFunctionState = Static<typeof FailureFunctionStateSchema>;

const HeaderMap = Type.Record(Type.String(), Type.Array(Type.String()), {
  description: 'Header names, and the values of each.',
});

export const DeadLetterEntry = Type.Object(
  {
    dlqId: Type.String(),
    workflowUrl: Type.String(),
    workflowRunId: Type.String(),
    workflowCreatedAt: Type.Integer({ format: 'int64', description: 'Creation of the run, Unix ms' }),
    url: Type.String({ description: 'Where the message that failed was sent: the workflow URL.' }),
    method: Type.String(),
    header: HeaderMap,
    body: Type.Optional(Type.String({ description: 'What the run was triggered with, when that is UTF-8 text.' })),
    bodyBase64: Type.Optional(Type.String({ description: 'The same in base64, when it is no UTF-8 text.' })),
    maxRetries: Type.Integer(),
    createdAt: Type.Integer({ format: 'int64', description: 'When the run failed, Unix ms' }),
    failureCallback: Type.Optional(Type.String()),
    callerIP: Type.String(),
    label: Type.Optional(Type.String({ description: 'The first of the labels.' })),
    labels: Type.Array(Type.String()),
    flowControlKey: Type.Optional(Type.String()),
    failureFunctionState: Type.Optional(FailureFunctionStateSchema),
    failureFunctionInfo: Type.Optional(FailureFunctionInfo),
    responseStatus: Type.Optional(Type.Integer({ description: 'Status of the last answer; absent when there was none.' })),
    responseHeader: Type.Optional(HeaderMap),
    responseBody: Type.Optional(Type.String()),
    responseBodyBase64: Type.Optional(Type.String({ description: 'Instead of responseBody, when that is no UTF-8 text.' })),
    error: Type.String({ description: 'What went wrong, in words.' }),
    fingerprint: Type.Optional(
      Type.String({ description: 'Group of the entry; absent for a while on entries of versions before there were groups.' }),
    ),
    deletionAt: Type.Optional(
      Type.Integer({
        format: 'int64',
        description: 'When a delete that was started will remove it, Unix ms, unless it is undone before; absent otherwise.',
      }),
    ),
    deletionRepairId: Type.Optional(Type.String({ description: 'The repair that will delete it: aborting it is the undo.' })),
  },
  CLOSED,
);
export type DeadLetterEntry = Static<typeof DeadLetterEntry>;

export const DeadLetterPage = Type.Object(
  {
    cursor: Type.String({ description: 'Where the next page begins; empty at the end.' }),
    messages: Type.Array(DeadLetterEntry),
  },
  CLOSED,
);
export type DeadLetterPage = Static<typeof DeadLetterPage>;

export const RecoveredRuns = Type.Object(
  {
    workflowRuns: Type.Array(RunReferenceSchema, { description: 'The new runs.' }),
    cursor: Type.String({ description: 'For the next request, with the same filters; empty when everything is done.' }),
  },
  CLOSED,
);

export const DeletedDeadLetters = Type.Object(
  {
    deleted: Type.Integer({ description: 'How many entries were deleted by this request.' }),
    cursor: Type.String({ description: 'For the next request, with the same filters; empty when everything is done.' }),
  },
  CLOSED,
);

export const DeletedDeadLetter = Type.Object({ deleted: Type.Literal(1) }, CLOSED);

/** The state that a failure callback has now. */
export const FailureFunctionChanged = Type.Object({ failureFunctionState: FailureFunctionStateSchema }, CLOSED);
