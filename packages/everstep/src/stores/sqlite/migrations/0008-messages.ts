/**
 * Version 8: plain messages, which are runs, and their targets: queues and URL groups.
 *
 * `run.queue` is the queue of a message, and so is `task.queue`. Both indexes are partial: workflow runs are in neither.
 */
export const messages = `
ALTER TABLE run ADD COLUMN queue TEXT;
CREATE INDEX run_of_queue ON run (tenant, queue) WHERE queue IS NOT NULL AND status = 'active';

ALTER TABLE task ADD COLUMN queue TEXT;
CREATE INDEX task_retried_in_queue ON task (queue, run_seq) WHERE queue IS NOT NULL AND retried > 0 AND due_at IS NOT NULL;

CREATE TABLE queue (
  tenant INTEGER NOT NULL,
  name TEXT NOT NULL,
  parallelism INTEGER NOT NULL,
  paused INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (tenant, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE url_group (
  tenant INTEGER NOT NULL,
  name TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  endpoints TEXT NOT NULL,
  PRIMARY KEY (tenant, name)
) STRICT, WITHOUT ROWID;
`;
