/** Rows as the types of the engine and the ports: the one place that knows both. */
import { STEP_TYPES } from '@everstep/sdk/protocol';
import { LIMITS } from '../../../config/limits.js';
import type { KeptExchange, KeptRequest } from '../../../engine/runs/exchanges.js';
import {
  DIALECT_NAMES,
  type DialectName,
  FAILURE_CAUSES,
  FAILURE_FUNCTION_STATES,
  type FailedAttempt,
  type RecordedStep,
  type RunOrigin,
  type RunPayload,
  type RunSettings,
  type RunStatus,
} from '../../../engine/runs/run.js';
import type { DeadLetterRecord, RunRecord } from '../../../ports/stores/store.js';
import { bytes, integer, integerOrNull, json, type Row, text, textOrNull, word } from '../connection/columns.js';

export const DIALECTS: readonly DialectName[] = DIALECT_NAMES;
export const STATUSES: readonly RunStatus[] = ['active', 'succeeded', 'failed', 'canceled'];

/** Of a run `r` that may have ended, `e`. */
export const STATUS = `CASE WHEN e.state IS NULL THEN 'active' WHEN e.state = 'deadLetter' THEN 'failed' ELSE e.state END`;

/** Columns for runIdentityOf: of the run and of how it ended, if it has. */
export const RUN_IDENTITY_COLUMNS = `
  r.run_key, r.instance_id, r.workflow_run_id, r.created_at, r.dialect, r.workflow_url, r.caller_ip, r.origin, r.settings,
  ${STATUS} AS status`;
export const RUN_IDENTITY_TABLES = `run r
  LEFT JOIN ended_run e ON e.instance_id = r.instance_id AND e.run_key = r.run_key`;

/** Columns and tables for runRecordOf, up to the WHERE. */
export const RUN_RECORD_COLUMNS = `${RUN_IDENTITY_COLUMNS}, r.place::text AS place, e.completed_at, e.error,
  CASE WHEN octet_length(e.result) <= ${LIMITS.maxInlineBytes} THEN e.result END AS result, octet_length(e.result) AS result_bytes,
  d.dlq_id, e.became_kind, b.run_key AS became_key, b.workflow_run_id AS became_run_id, b.created_at AS became_created_at`;
export const RUN_RECORD_TABLES = `${RUN_IDENTITY_TABLES}
  LEFT JOIN dead_letter d ON d.instance_id = r.instance_id AND d.run_key = r.run_key
  LEFT JOIN run b ON b.instance_id = r.instance_id AND b.run_key = e.became_run_key`;

/** What a run is, without how it goes. */
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

function resultOf(row: Row): Pick<RunRecord, 'result' | 'resultLeftOut'> {
  const [result, bytes] = [textOrNull(row, 'result'), integerOrNull(row, 'result_bytes')];
  return result === null && bytes !== null ? { result, resultLeftOut: bytes } : { result };
}

export const runRecordOf = (row: Row): RunRecord => ({
  ...runIdentityOf(row),
  completedAt: integerOrNull(row, 'completed_at'),
  ...resultOf(row),
  error: textOrNull(row, 'error'),
  dlqId: textOrNull(row, 'dlq_id'),
  became:
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

/** Columns of an entry for deadLetterRecordOf, with the payload `p` of its run. */
export const DEAD_LETTER_COLUMNS = `d.dlq_id, d.created_at AS failed_at, d.failure_function_state, d.response_status,
  d.response_headers, octet_length(d.response_body) AS response_bytes, d.error AS failure, d.fingerprint,
  d.place::text AS entry_place, p.content_type, p.forward_headers, octet_length(p.body) AS body_bytes`;

/** From a row of the dead letter with its run and the payload. */
export function deadLetterRecordOf(row: Row): DeadLetterRecord {
  const run = runRecordOf(row);
  return {
    dlqId: text(row, 'dlq_id'),
    runKey: run.key,
    instanceId: run.instanceId,
    createdAt: integer(row, 'failed_at'),
    failureFunctionState:
      row.failure_function_state === null ? null : word(row, 'failure_function_state', FAILURE_FUNCTION_STATES),
    responseStatus: integerOrNull(row, 'response_status'),
    responseHeaders: json<DeadLetterRecord['responseHeaders']>(row, 'response_headers'),
    responseBytes: integer(row, 'response_bytes'),
    error: text(row, 'failure'),
    fingerprint: textOrNull(row, 'fingerprint'),
    run,
    payload: headersOf(row),
    bodyBytes: integer(row, 'body_bytes'),
    position: text(row, 'entry_place'),
  };
}

export const recordedStepOf = (row: Row): RecordedStep => ({
  index: integer(row, 'idx'),
  stepId: integer(row, 'step_id'),
  name: text(row, 'name'),
  type: word(row, 'type', STEP_TYPES),
  out: textOrNull(row, 'out'),
  messageId: text(row, 'message_id'),
  group: integer(row, 'first_of_group'),
  concurrent: integer(row, 'concurrent'),
  createdAt: integer(row, 'created_at'),
  completedAt: integer(row, 'completed_at'),
  ...(row.started_at === null ? {} : { startedAt: integer(row, 'started_at') }),
  sleepMs: integerOrNull(row, 'sleep_ms'),
  wakeAt: integerOrNull(row, 'wake_at'),
  ...(row.edited === null ? {} : { edited: true }),
  ...(typeof row.sent === 'string' ? { sent: json<KeptRequest>(row, 'sent') } : {}),
});

export const failedAttemptOf = (row: Row): FailedAttempt => ({
  slot: integer(row, 'slot'),
  name: textOrNull(row, 'name'),
  messageId: text(row, 'message_id'),
  retried: integer(row, 'retried'),
  at: integer(row, 'at'),
  cause: word(row, 'cause', FAILURE_CAUSES),
  message: text(row, 'message'),
  status: integerOrNull(row, 'status'),
  retryAt: integerOrNull(row, 'retry_at'),
  ...(typeof row.exchange === 'string' ? { exchange: json<KeptExchange>(row, 'exchange') } : {}),
});
