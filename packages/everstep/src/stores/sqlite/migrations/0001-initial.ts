/**
 * Version 1: the initial schema.
 *
 * Rows belong to their run by `run_seq`, the run's position in the order of creation: at most eight bytes, where the key has
 * 26. Wide columns come last in a row, so that reading the others does not touch their pages.
 *
 * `listed_at` is `created_at`, but never below that of an earlier row, so a time is found in the order of creation by binary
 * search.
 */
export const initial = `
CREATE TABLE counter (
  name TEXT PRIMARY KEY,
  value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE tenant (
  seq INTEGER PRIMARY KEY,
  instance_id TEXT NOT NULL UNIQUE
) STRICT;

CREATE TABLE run (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  key TEXT NOT NULL,
  tenant INTEGER NOT NULL,
  status TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  listed_at INTEGER NOT NULL,
  completed_at INTEGER,
  dead_letter_seq INTEGER,
  became_kind TEXT,
  became_run_key TEXT,
  workflow_run_id TEXT NOT NULL,
  dialect TEXT NOT NULL,
  workflow_url TEXT NOT NULL,
  caller_ip TEXT NOT NULL,
  origin TEXT,
  settings TEXT NOT NULL,
  error TEXT,
  result TEXT
) STRICT;
CREATE UNIQUE INDEX run_by_key ON run (key);

CREATE TABLE payload (
  run_seq INTEGER PRIMARY KEY,
  content_type TEXT,
  forward_headers TEXT NOT NULL,
  body BLOB NOT NULL
) STRICT;

CREATE TABLE step (
  run_seq INTEGER NOT NULL,
  idx INTEGER NOT NULL,
  step_id INTEGER NOT NULL,
  name TEXT NOT NULL,
  type TEXT NOT NULL,
  message_id TEXT NOT NULL,
  first_of_group INTEGER NOT NULL,
  concurrent INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  completed_at INTEGER NOT NULL,
  sleep_ms INTEGER,
  wake_at INTEGER,
  out TEXT
) STRICT;
CREATE UNIQUE INDEX step_by_index ON step (run_seq, idx);
CREATE UNIQUE INDEX step_by_id ON step (run_seq, step_id);

CREATE TABLE task (
  run_seq INTEGER NOT NULL,
  slot INTEGER NOT NULL,
  kind TEXT NOT NULL,
  message_id TEXT NOT NULL,
  due_at INTEGER,
  created_at INTEGER NOT NULL,
  retried INTEGER,
  name TEXT,
  first_of_group INTEGER,
  concurrent INTEGER,
  step_type TEXT,
  sleep_ms INTEGER,
  wake_at INTEGER,
  PRIMARY KEY (run_seq, slot)
) STRICT, WITHOUT ROWID;
CREATE INDEX task_by_due_time ON task (due_at, run_seq, slot) WHERE due_at IS NOT NULL;

CREATE TABLE attempt (
  seq INTEGER PRIMARY KEY,
  run_seq INTEGER NOT NULL,
  slot INTEGER NOT NULL,
  name TEXT,
  message_id TEXT NOT NULL,
  retried INTEGER NOT NULL,
  at INTEGER NOT NULL,
  cause TEXT NOT NULL,
  status INTEGER,
  retry_at INTEGER,
  message TEXT NOT NULL
) STRICT;
CREATE INDEX attempt_by_run ON attempt (run_seq);

CREATE TABLE dead_letter (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  dlq_id TEXT NOT NULL,
  tenant INTEGER NOT NULL,
  run_seq INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  listed_at INTEGER NOT NULL,
  failure_function_state TEXT,
  response_status INTEGER,
  response_headers TEXT NOT NULL,
  error TEXT NOT NULL,
  response_body BLOB NOT NULL
) STRICT;
CREATE UNIQUE INDEX dead_letter_by_id ON dead_letter (dlq_id);

CREATE TABLE facet (
  tenant INTEGER NOT NULL,
  facet INTEGER NOT NULL,
  value TEXT NOT NULL,
  block INTEGER NOT NULL,
  members BLOB NOT NULL,
  PRIMARY KEY (tenant, facet, value, block)
) STRICT, WITHOUT ROWID;

CREATE TABLE deduplication (
  seq INTEGER PRIMARY KEY,
  tenant INTEGER NOT NULL,
  deduplication_id TEXT NOT NULL,
  run_key TEXT NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX deduplication_by_id ON deduplication (tenant, deduplication_id);
CREATE INDEX deduplication_by_expiry ON deduplication (expires_at);

CREATE TABLE flow_control (
  tenant INTEGER NOT NULL,
  key TEXT NOT NULL,
  parallelism INTEGER,
  rate INTEGER,
  period_ms INTEGER,
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (tenant, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE secret (
  name TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE queue_instance (
  seq INTEGER PRIMARY KEY,
  instance_id TEXT NOT NULL UNIQUE,
  region TEXT NOT NULL,
  name TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  current_signing_key TEXT NOT NULL,
  next_signing_key TEXT NOT NULL
) STRICT;

CREATE TABLE token (
  seq INTEGER PRIMARY KEY,
  token_id TEXT NOT NULL UNIQUE,
  instance_id TEXT NOT NULL,
  access TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  revoked_at INTEGER
) STRICT;
CREATE INDEX token_by_instance ON token (instance_id);

CREATE TABLE account_user (
  seq INTEGER PRIMARY KEY,
  user_id TEXT NOT NULL UNIQUE,
  email TEXT NOT NULL UNIQUE,
  created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE api_key (
  seq INTEGER PRIMARY KEY,
  api_key_id TEXT NOT NULL UNIQUE,
  user_id TEXT NOT NULL,
  name TEXT NOT NULL,
  key_hash TEXT NOT NULL UNIQUE,
  created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX api_key_by_user ON api_key (user_id);
`;
