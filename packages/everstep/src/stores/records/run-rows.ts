/** Reads rows of runs as the types of the engine and the ports. Every store names the columns the same way. */
import type { FailedBy } from '../../engine/failures/error-details.js';
import {
  DIALECT_NAMES,
  type DialectName,
  FAILURE_FUNCTION_STATES,
  type KeptEvent,
  type RunOrigin,
  type RunPayload,
  type RunSettings,
  type RunStatus,
} from '../../engine/runs/run.js';
import type {
  DeadLetterBodies,
  DeadLetterRecord,
  Position,
  RunHistory,
  RunRecord,
  WaiterRecord,
} from '../../ports/stores/store.js';
import { bytes, integer, integerOrNull, json, type Row, text, textOrNull, word } from './columns.js';

export const DIALECTS: readonly DialectName[] = DIALECT_NAMES;
export const STATUSES: readonly RunStatus[] = ['active', 'succeeded', 'failed', 'canceled'];

/** Reads the fields that every view of a run has. */
export const runIdentityOf = (row: Row) => ({
  key: text(row, 'run_key'),
  instanceId: text(row, 'instance_id'),
  workflowRunId: text(row, 'workflow_run_id'),
  createdAt: integer(row, 'created_at'),
  dialect: word(row, 'dialect', DIALECTS),
  workflowUrl: text(row, 'workflow_url'),
  callerIp: text(row, 'caller_ip'),
  origin: row.origin === null ? null : json<RunOrigin>(row, 'origin'),
  settings: json<RunSettings>(row, 'settings'),
  status: word(row, 'status', STATUSES),
});

function resultOf(row: Row): RunRecord['result'] {
  const [result, resultBytes] = [textOrNull(row, 'result'), integerOrNull(row, 'result_bytes')];
  return result === null && resultBytes !== null ? { omittedBytes: resultBytes } : result;
}

export const runRecordOf = (row: Row): RunRecord => ({
  ...runIdentityOf(row),
  completedAt: integerOrNull(row, 'completed_at'),
  result: resultOf(row),
  error: textOrNull(row, 'error'),
  dlqId: textOrNull(row, 'dlq_id'),
  recoveredAs:
    row.became_key === null
      ? null
      : {
          kind: word(row, 'became_kind', ['resume', 'restart']),
          runKey: text(row, 'became_key'),
          workflowRunId: text(row, 'became_run_id'),
          createdAt: integer(row, 'became_created_at'),
        },
});

export const headersOf = (row: Row): Omit<RunPayload, 'body'> => ({
  contentType: textOrNull(row, 'content_type'),
  forwardHeaders: json<RunPayload['forwardHeaders']>(row, 'forward_headers'),
});

export const payloadOf = (row: Row): RunPayload => ({ body: bytes(row, 'body'), ...headersOf(row) });

/** Reads a dead letter from a row that also has columns of its run's payload. */
export const deadLetterRecordOf = (row: Row, run: RunRecord, position: Position): DeadLetterRecord => ({
  dlqId: text(row, 'dlq_id'),
  runKey: run.key,
  instanceId: run.instanceId,
  createdAt: integer(row, 'failed_at'),
  failureFunctionState: row.failure_function_state === null ? null : word(row, 'failure_function_state', FAILURE_FUNCTION_STATES),
  responseStatus: integerOrNull(row, 'response_status'),
  responseHeaders: json<DeadLetterRecord['responseHeaders']>(row, 'response_headers'),
  responseBytes: integer(row, 'response_bytes'),
  error: text(row, 'failure'),
  fingerprint: textOrNull(row, 'fingerprint'),
  run,
  payload: headersOf(row),
  bodyBytes: integer(row, 'body_bytes'),
  position,
});

/** Reads the request and response bodies of a dead letter, and the error that its run failed with. */
export const bodiesOf = (row: Row): DeadLetterBodies => ({
  body: bytes(row, 'body'),
  responseBody: bytes(row, 'response_body'),
  failedBy: row.failed_by === null ? null : json<FailedBy>(row, 'failed_by'),
});

export const invokedRunOf = (row: Row): RunHistory['invoked'][number] => ({
  runKey: text(row, 'run_key'),
  workflowRunId: text(row, 'workflow_run_id'),
  createdAt: integer(row, 'created_at'),
  stepId: json<Extract<RunOrigin, { readonly kind: 'invoke' }>>(row, 'origin').stepId,
  status: word(row, 'status', STATUSES),
});

export const waiterOf = (row: Row): WaiterRecord => ({
  eventId: text(row, 'event_id'),
  runKey: text(row, 'run_key'),
  slot: integer(row, 'slot'),
  workflowRunId: text(row, 'workflow_run_id'),
  workflowCreatedAt: integer(row, 'created_at'),
  workflowUrl: text(row, 'workflow_url'),
  dialect: word(row, 'dialect', DIALECTS),
  stepName: text(row, 'name'),
  deadlineAt: integer(row, 'wake_at'),
  since: integer(row, 'since'),
});

export const eventWithoutContentOf = (row: Row): Omit<KeptEvent, 'content'> => ({
  eventKey: text(row, 'event_key'),
  eventId: text(row, 'event_id'),
  receivedAt: integer(row, 'received_at'),
});

export const keptEventOf = (row: Row): KeptEvent => ({
  ...eventWithoutContentOf(row),
  content: json<KeptEvent['content']>(row, 'content'),
});
