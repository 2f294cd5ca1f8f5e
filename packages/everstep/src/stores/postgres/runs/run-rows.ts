/** Columns and tables of the statements that read runs and dead letters. */
import { LIMITS } from '../../../config/limits.js';
import type { DeadLetterRecord } from '../../../ports/stores/store.js';
import { type Row, text } from '../../records/columns.js';
import { deadLetterRecordOf, runRecordOf } from '../../records/run-rows.js';

/** SQL for the status of a run. `e` is its row in `ended_run`, if it has ended. */
export const STATUS = `CASE WHEN e.state IS NULL THEN 'active' WHEN e.state = 'deadLetter' THEN 'failed' ELSE e.state END`;

/** Columns and tables for `runIdentityOf`. */
export const RUN_IDENTITY_COLUMNS = `
  r.run_key, r.instance_id, r.workflow_run_id, r.created_at, r.dialect, r.workflow_url, r.caller_ip, r.origin, r.settings,
  ${STATUS} AS status`;
export const RUN_IDENTITY_TABLES = `run r
  LEFT JOIN ended_run e ON e.instance_id = r.instance_id AND e.run_key = r.run_key`;

/** Columns and tables for `runRecordOf`. */
export const RUN_RECORD_COLUMNS = `${RUN_IDENTITY_COLUMNS}, r.place::text AS place, e.completed_at, e.error,
  CASE WHEN octet_length(e.result) <= ${LIMITS.maxInlineBytes} THEN e.result END AS result, octet_length(e.result) AS result_bytes,
  d.dlq_id, e.became_kind, b.run_key AS became_key, b.workflow_run_id AS became_run_id, b.created_at AS became_created_at`;
export const RUN_RECORD_TABLES = `${RUN_IDENTITY_TABLES}
  LEFT JOIN dead_letter d ON d.instance_id = r.instance_id AND d.run_key = r.run_key
  LEFT JOIN run b ON b.instance_id = r.instance_id AND b.run_key = e.became_run_key`;

/** Columns of a dead letter `d` and the payload `p` of its run, for `joinedDeadLetterOf`. */
export const DEAD_LETTER_COLUMNS = `d.dlq_id, d.created_at AS failed_at, d.failure_function_state, d.response_status,
  d.response_headers, octet_length(d.response_body) + coalesce(octet_length(d.failed_by), 0) AS response_bytes, d.error AS failure, d.fingerprint,
  d.place::text AS entry_place, p.content_type, p.forward_headers, octet_length(p.body) AS body_bytes`;

/** Reads a dead letter from a row that is joined with its run and the payload of the run. */
export const joinedDeadLetterOf = (row: Row): DeadLetterRecord =>
  deadLetterRecordOf(row, runRecordOf(row), text(row, 'entry_place'));
