/** SQL of the statements that read runs. */
import { LIMITS } from '../../../config/limits.js';

/** Columns and tables of a statement whose rows `runRecordOf` reads. */
export const RUN_RECORD_COLUMNS = `
  r.seq, r.key AS run_key, t.instance_id, r.workflow_run_id, r.created_at, r.dialect, r.workflow_url, r.caller_ip, r.origin,
  r.settings, r.status, r.completed_at, r.error, d.dlq_id, r.became_kind,
  CASE WHEN octet_length(r.result) <= ${LIMITS.maxInlineBytes} THEN r.result END AS result, octet_length(r.result) AS result_bytes,
  b.key AS became_key, b.workflow_run_id AS became_run_id, b.created_at AS became_created_at`;
export const RUN_RECORD_TABLES = `run r
  JOIN tenant t ON t.seq = r.tenant
  LEFT JOIN dead_letter d ON d.seq = r.dead_letter_seq
  LEFT JOIN run b ON b.key = r.became_run_key`;
