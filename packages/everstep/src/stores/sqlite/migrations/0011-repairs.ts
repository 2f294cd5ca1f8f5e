/**
 * Version 11: repairs, and the dead letters that each of them froze.
 *
 * An item stores the data of its run that a report shows, because the run may be removed before the report. `rank` is its
 * position among the items of its workflow; null for items too far behind to be canaries.
 */
export const repairs = `
CREATE TABLE repair (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  tenant INTEGER NOT NULL,
  repair_id TEXT NOT NULL UNIQUE,
  phase TEXT NOT NULL,
  version INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  ended_at INTEGER,
  wake_at INTEGER,
  data TEXT NOT NULL
) STRICT;
CREATE INDEX repair_of_instance ON repair (tenant, seq);
CREATE INDEX repair_to_drive ON repair (wake_at) WHERE wake_at IS NOT NULL;

CREATE TABLE repair_item (
  repair_seq INTEGER NOT NULL,
  n INTEGER NOT NULL,
  state TEXT NOT NULL,
  canary INTEGER NOT NULL,
  rank INTEGER,
  at INTEGER,
  dlq_id TEXT NOT NULL,
  run_key TEXT NOT NULL,
  workflow_run_id TEXT NOT NULL,
  workflow_url TEXT NOT NULL,
  new_run_key TEXT,
  new_workflow_run_id TEXT,
  new_dlq_id TEXT,
  error TEXT,
  PRIMARY KEY (repair_seq, n)
) STRICT, WITHOUT ROWID;
CREATE INDEX repair_item_by_state ON repair_item (repair_seq, state, n);
CREATE INDEX repair_item_by_rank ON repair_item (repair_seq, rank, n) WHERE rank IS NOT NULL;
CREATE INDEX repair_item_of_canary ON repair_item (repair_seq, n) WHERE canary = 1;
`;
