/**
 * Version 3: data that controls runs (limits, schedules, holds, settings).
 *
 * `deduplication_by_run` finds the ids of a removed run.
 */
export const controls = `
ALTER TABLE flow_control ADD COLUMN paused INTEGER NOT NULL DEFAULT 0;
ALTER TABLE flow_control ADD COLUMN pinned INTEGER NOT NULL DEFAULT 0;
ALTER TABLE flow_control ADD COLUMN window_started_at INTEGER;
ALTER TABLE flow_control ADD COLUMN window_granted INTEGER;

CREATE TABLE schedule (
  seq INTEGER PRIMARY KEY,
  tenant INTEGER NOT NULL,
  schedule_id TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  next_at INTEGER,
  paused INTEGER NOT NULL,
  last_fired_at INTEGER,
  last_run_id TEXT,
  cron TEXT NOT NULL,
  time_zone TEXT NOT NULL,
  delay_ms INTEGER NOT NULL,
  dialect TEXT NOT NULL,
  workflow_url TEXT NOT NULL,
  caller_ip TEXT NOT NULL,
  settings TEXT NOT NULL,
  content_type TEXT,
  forward_headers TEXT NOT NULL,
  body BLOB NOT NULL
) STRICT;
CREATE UNIQUE INDEX schedule_by_id ON schedule (tenant, schedule_id);
CREATE INDEX schedule_by_creation ON schedule (tenant, created_at);
CREATE INDEX schedule_by_next_tick ON schedule (next_at) WHERE next_at IS NOT NULL;

CREATE TABLE destination_hold (
  tenant INTEGER NOT NULL,
  origin TEXT NOT NULL,
  held_by TEXT NOT NULL,
  reason TEXT NOT NULL,
  since INTEGER NOT NULL,
  PRIMARY KEY (tenant, origin)
) STRICT, WITHOUT ROWID;

CREATE TABLE instance_settings (
  tenant INTEGER PRIMARY KEY,
  settings TEXT NOT NULL
) STRICT;

CREATE INDEX deduplication_by_run ON deduplication (run_key);
`;
