/** Wire schemas of the dead letter queue. */
import Type, { type Static } from 'typebox';
import { NO_OTHER_PROPERTIES } from './fields/no-other-properties.js';
import { ThrownError } from './fields/thrown-error.js';
import { FailureFunctionInfo, RunReferenceSchema } from './runs.js';
import { FAILURE_FUNCTION_STATES } from './states.js';

export const FailureFunctionStateSchema = Type.Enum([...FAILURE_FUNCTION_STATES], {
  type: 'string',
  description: 'State of the failure callback or failure function of a failed run.',
});
export type FailureFunctionState = Static<typeof FailureFunctionStateSchema>;

const HeaderMap = Type.Record(Type.String(), Type.Array(Type.String()), {
  description: 'Header names with their values.',
});

export const DeadLetterEntry = Type.Object(
  {
    dlqId: Type.String(),
    workflowUrl: Type.String(),
    workflowRunId: Type.String(),
    workflowCreatedAt: Type.Integer({ format: 'int64', description: 'Time when the run was created, in Unix milliseconds.' }),
    url: Type.String({ description: 'URL that the failed message was sent to: the workflow URL.' }),
    method: Type.String(),
    header: HeaderMap,
    body: Type.Optional(Type.String({ description: 'Payload that the run was triggered with, when it is UTF-8 text.' })),
    bodyBase64: Type.Optional(Type.String({ description: 'Payload in Base64, when it is not UTF-8 text.' })),
    maxRetries: Type.Integer(),
    createdAt: Type.Integer({ format: 'int64', description: 'Time when the run failed, in Unix milliseconds.' }),
    failureCallback: Type.Optional(Type.String()),
    callerIP: Type.String(),
    label: Type.Optional(Type.String({ description: 'First label of the run.' })),
    labels: Type.Array(Type.String()),
    flowControlKey: Type.Optional(Type.String()),
    failureFunctionState: Type.Optional(FailureFunctionStateSchema),
    failureFunctionInfo: Type.Optional(FailureFunctionInfo),
    responseStatus: Type.Optional(
      Type.Integer({ description: 'HTTP status of the last response. Absent when there was no response.' }),
    ),
    responseHeader: Type.Optional(HeaderMap),
    responseBody: Type.Optional(Type.String()),
    responseBodyBase64: Type.Optional(
      Type.String({ description: 'Body of the last response in Base64, when it is not UTF-8 text.' }),
    ),
    error: Type.String({ description: 'Error message.' }),
    failedBy: Type.Optional(
      Type.Object(
        {
          stepName: Type.Union([Type.String(), Type.Null()], {
            description: 'Name of the step that failed. Null for the code between steps and for messages.',
          }),
          message: Type.String({ description: 'Error message of the last attempt, without the name of the step.' }),
          thrown: Type.Optional(ThrownError),
        },
        { ...NO_OTHER_PROPERTIES, description: 'How the last attempt failed. Absent when it was not stored.' },
      ),
    ),
    fingerprint: Type.Optional(
      Type.String({
        description: 'Group of the entry. Temporarily absent for entries that were created by a version without groups.',
      }),
    ),
    deletionAt: Type.Optional(
      Type.Integer({
        format: 'int64',
        description:
          'Time when a delete job removes the entry, in Unix milliseconds. Absent when no delete job includes the entry.',
      }),
    ),
    deletionRepairId: Type.Optional(
      Type.String({ description: 'Id of the repair that will delete the entry. Abort the repair to keep the entry.' }),
    ),
  },
  { ...NO_OTHER_PROPERTIES, description: 'Entry of the dead letter queue: a failed run or message.' },
);
export type DeadLetterEntry = Static<typeof DeadLetterEntry>;

export const DeadLetterPage = Type.Object(
  {
    cursor: Type.String({ description: 'Cursor for the next page; empty when there are no more results.' }),
    messages: Type.Array(DeadLetterEntry),
  },
  { ...NO_OTHER_PROPERTIES, description: 'One page of dead letters.' },
);
export type DeadLetterPage = Static<typeof DeadLetterPage>;

export const RecoveredRuns = Type.Object(
  {
    workflowRuns: Type.Array(RunReferenceSchema, { description: 'The new runs.' }),
    cursor: Type.String({
      description: 'Cursor for the next request with the same filters. Empty when all matching entries have been processed.',
    }),
  },
  { ...NO_OTHER_PROPERTIES, description: 'Runs that a bulk resume or restart created.' },
);

export const DeletedDeadLetters = Type.Object(
  {
    deleted: Type.Integer({ description: 'Number of entries that this request deleted.' }),
    cursor: Type.String({
      description: 'Cursor for the next request with the same filters. Empty when all matching entries have been processed.',
    }),
  },
  { ...NO_OTHER_PROPERTIES, description: 'Result of a bulk deletion.' },
);

export const DeletedDeadLetter = Type.Object({ deleted: Type.Literal(1) }, NO_OTHER_PROPERTIES);

export const FailureFunctionChanged = Type.Object(
  { failureFunctionState: FailureFunctionStateSchema },
  { ...NO_OTHER_PROPERTIES, description: 'New state of the failure callback or failure function.' },
);
