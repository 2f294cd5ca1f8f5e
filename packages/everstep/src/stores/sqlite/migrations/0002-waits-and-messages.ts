/**
 * Version 2: waits for events, calls, notifications, invocations, and messages about failures.
 *
 * A wait has a row in `waiter` for each of its events while it is open and not parked. Data of a new kind of task is in
 * `detail`, a JSON text that may be long, at the end of the row. `run.flow_key` limits requests to the run's endpoint;
 * `task.flow_key` limits a call, which has its own key or none.
 *
 * All new indexes are partial or belong to new tables, so a run that does not use these features costs the same as
 * before.
 */
export const waitsAndMessages = `
ALTER TABLE run ADD COLUMN failure_function INTEGER NOT NULL DEFAULT 0;
ALTER TABLE run ADD COLUMN flow_key TEXT;
ALTER TABLE run ADD COLUMN invoked_by_run_key TEXT;
UPDATE run SET flow_key = json_extract(settings, '$.flowControl.key')
  WHERE json_extract(settings, '$.flowControl.key') IS NOT NULL;
CREATE INDEX run_by_invoker ON run (invoked_by_run_key) WHERE invoked_by_run_key IS NOT NULL;

ALTER TABLE task ADD COLUMN flow_key TEXT;
ALTER TABLE task ADD COLUMN child_run_key TEXT;
ALTER TABLE task ADD COLUMN call_url TEXT;
ALTER TABLE task ADD COLUMN detail TEXT;
CREATE INDEX task_by_child ON task (child_run_key) WHERE child_run_key IS NOT NULL;

CREATE INDEX step_of_webhook ON step (run_seq) WHERE type = 'CreateWebhook';

CREATE TABLE waiter (
  run_seq INTEGER NOT NULL,
  slot INTEGER NOT NULL,
  event_id TEXT NOT NULL,
  tenant INTEGER NOT NULL,
  since INTEGER NOT NULL,
  PRIMARY KEY (run_seq, slot, event_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX waiter_by_event ON waiter (tenant, event_id, since, run_seq, slot);

CREATE TABLE kept_event (
  seq INTEGER PRIMARY KEY,
  run_seq INTEGER NOT NULL,
  event_key TEXT NOT NULL,
  event_id TEXT NOT NULL,
  received_at INTEGER NOT NULL,
  content TEXT NOT NULL
) STRICT;
CREATE INDEX kept_event_by_run ON kept_event (run_seq);
`;
