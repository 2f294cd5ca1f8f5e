/**
 * Version 24: stored bytes and active runs of each instance, and journals that are copied in slices.
 *
 * `instance_totals` is updated in the transactions that change it; its initial values are computed from existing data.
 * `staged_journal` has a row for each run that will be created with a journal that is being copied to `run_seq`, a
 * number reserved for it. `gone` is 1 if that run will not be created: its steps are deleted later.
 */
export const storedBytes = `
CREATE TABLE instance_totals (
  tenant INTEGER PRIMARY KEY,
  bytes INTEGER NOT NULL,
  active_runs INTEGER NOT NULL
) STRICT;

WITH record AS (
  SELECT r.tenant, 512 + octet_length(p.forward_headers) + octet_length(p.body) + coalesce(octet_length(r.result), 0) AS bytes
    FROM run r JOIN payload p ON p.run_seq = r.seq
  UNION ALL
  SELECT r.tenant, 512 + coalesce(octet_length(s.out), 0) + coalesce(octet_length(s.sent), 0) FROM step s JOIN run r ON r.seq = s.run_seq
  UNION ALL
  SELECT r.tenant, 512 + coalesce(octet_length(a.exchange), 0) FROM attempt a JOIN run r ON r.seq = a.run_seq
  UNION ALL
  SELECT r.tenant, 512 + octet_length(k.content) FROM kept_event k JOIN run r ON r.seq = k.run_seq
  UNION ALL
  SELECT d.tenant, 512 + octet_length(d.response_body) FROM dead_letter d
  UNION ALL
  SELECT s.tenant, 512 + octet_length(s.forward_headers) + octet_length(s.body) FROM schedule s
)
INSERT INTO instance_totals (tenant, bytes, active_runs)
  SELECT tenant, sum(bytes), (SELECT count(*) FROM run r WHERE r.tenant = record.tenant AND r.status = 'active')
  FROM record GROUP BY tenant;

CREATE TABLE staged_journal (
  run_key TEXT PRIMARY KEY,
  run_seq INTEGER NOT NULL,
  tenant INTEGER NOT NULL,
  listed_at INTEGER NOT NULL,
  gone INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
CREATE INDEX staged_journal_by_state ON staged_journal (gone);
`;
