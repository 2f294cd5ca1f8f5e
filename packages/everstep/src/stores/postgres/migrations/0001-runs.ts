/**
 * Version 1: runs and what belongs to them.
 *
 * The first columns of each table are the instance and, if there is one, the key of the run, so that the tables can be sharded
 * by the instance. `run_directory` maps a key to its instance.
 *
 * The row of a run is written once. Two other tables store that it is active and how it ended, so that steps and ends do not change
 * a row with many indexes. `place` is the position in the order of creation; for an entry of the DLQ, in the order of arrival. It
 * is the microseconds of the database's clock times 1000, plus the number of the row in its statement.
 *
 * Plain messages are runs: their `message` is true. They are never listed with workflow runs, so the indexes of the
 * listings separate them. Values that are columns only so that they can be searched (queue, group, host and path of the
 * URL) are in the settings or the URL as well.
 *
 * `flow_key` of a run limits requests to its endpoint; that of a task limits a call, which has its own key or none.
 */
export const runs = `
CREATE TABLE clock_mark (
  -- There are many rows, so that commits do not wait for each other. The latest time counts.
  shard integer PRIMARY KEY,
  latest_time bigint NOT NULL
) WITH (fillfactor = 50);

CREATE TABLE run_directory (
  run_key text COLLATE "C" PRIMARY KEY,
  instance_id text COLLATE "C" NOT NULL
);

CREATE TABLE run (
  instance_id text COLLATE "C" NOT NULL,
  run_key text COLLATE "C" NOT NULL,
  place bigint NOT NULL,
  created_at bigint NOT NULL,
  workflow_run_id text COLLATE "C" NOT NULL,
  dialect text COLLATE "C" NOT NULL,
  workflow_url text COLLATE "C" NOT NULL,
  caller_ip text COLLATE "C" NOT NULL,
  flow_key text COLLATE "C",
  invoked_by_run_key text COLLATE "C",
  message boolean NOT NULL,
  queue text COLLATE "C",
  url_group text COLLATE "C",
  schedule_id text COLLATE "C",
  url_host text COLLATE "C" NOT NULL,
  url_path text COLLATE "C" NOT NULL,
  origin text,
  settings text NOT NULL,
  PRIMARY KEY (instance_id, run_key)
);
CREATE UNIQUE INDEX run_by_place ON run (instance_id, message, place) INCLUDE (created_at);
CREATE INDEX run_by_id ON run (instance_id, workflow_run_id, place) WHERE NOT message;
CREATE INDEX run_by_url ON run (instance_id, message, workflow_url, place) INCLUDE (created_at);
CREATE INDEX run_by_caller ON run (instance_id, message, caller_ip, place) INCLUDE (created_at);
CREATE INDEX run_by_flow_key ON run (instance_id, message, flow_key, place) INCLUDE (created_at) WHERE flow_key IS NOT NULL;
CREATE INDEX run_by_queue ON run (instance_id, queue, place) INCLUDE (created_at) WHERE queue IS NOT NULL;
CREATE INDEX run_by_url_group ON run (instance_id, url_group, place) INCLUDE (created_at) WHERE url_group IS NOT NULL;
CREATE INDEX run_by_schedule ON run (instance_id, schedule_id, place) INCLUDE (created_at) WHERE schedule_id IS NOT NULL;
CREATE INDEX run_by_invoker ON run (instance_id, invoked_by_run_key) WHERE invoked_by_run_key IS NOT NULL;
CREATE INDEX run_by_creation ON run (instance_id, message, created_at);

CREATE TABLE run_label (
  instance_id text COLLATE "C" NOT NULL,
  message boolean NOT NULL,
  label text COLLATE "C" NOT NULL,
  place bigint NOT NULL,
  run_key text COLLATE "C" NOT NULL,
  PRIMARY KEY (instance_id, message, label, place)
);
CREATE INDEX run_label_by_run ON run_label (instance_id, run_key);

-- One row for each active run. A transaction that changes the run locks the row first. The claim is empty for a run whose
-- id must be unique among active runs, and the key of the run otherwise: the index rejects a second empty claim.
CREATE TABLE active_run (
  instance_id text COLLATE "C" NOT NULL,
  run_key text COLLATE "C" NOT NULL,
  workflow_run_id text COLLATE "C" NOT NULL,
  claim text COLLATE "C" NOT NULL,
  place bigint NOT NULL,
  created_at bigint NOT NULL,
  message boolean NOT NULL,
  queue text COLLATE "C",
  -- Version of the state. A decision made on another version is rejected.
  version bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (instance_id, run_key)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);
CREATE UNIQUE INDEX active_run_claim ON active_run (instance_id, workflow_run_id, claim);
CREATE INDEX active_run_by_place ON active_run (instance_id, message, place);
CREATE INDEX active_run_by_queue ON active_run (instance_id, queue) WHERE queue IS NOT NULL;

-- The state is the status, except that it is deadLetter while a failed run has an entry in the DLQ.
CREATE TABLE ended_run (
  instance_id text COLLATE "C" NOT NULL,
  run_key text COLLATE "C" NOT NULL,
  place bigint NOT NULL,
  state text COLLATE "C" NOT NULL,
  created_at bigint NOT NULL,
  completed_at bigint NOT NULL,
  message boolean NOT NULL,
  result text,
  error text,
  became_kind text COLLATE "C",
  became_run_key text COLLATE "C",
  PRIMARY KEY (instance_id, run_key)
);
CREATE UNIQUE INDEX ended_workflow_by_place ON ended_run (instance_id, state, place) INCLUDE (created_at, completed_at)
  WHERE NOT message;
CREATE UNIQUE INDEX ended_message_by_place ON ended_run (instance_id, state, place) INCLUDE (created_at, completed_at)
  WHERE message;
CREATE INDEX ended_run_by_time ON ended_run (instance_id, state, completed_at);

-- Runs whose endpoint reported a failure function.
CREATE TABLE failure_function (
  instance_id text COLLATE "C" NOT NULL,
  run_key text COLLATE "C" NOT NULL,
  PRIMARY KEY (instance_id, run_key)
);

CREATE TABLE payload (
  instance_id text COLLATE "C" NOT NULL,
  run_key text COLLATE "C" NOT NULL,
  content_type text,
  forward_headers text NOT NULL,
  body bytea NOT NULL,
  PRIMARY KEY (instance_id, run_key)
);

CREATE TABLE step (
  instance_id text COLLATE "C" NOT NULL,
  run_key text COLLATE "C" NOT NULL,
  idx integer NOT NULL,
  step_id integer NOT NULL,
  first_of_group integer NOT NULL,
  concurrent integer NOT NULL,
  created_at bigint NOT NULL,
  completed_at bigint NOT NULL,
  sleep_ms bigint,
  wake_at bigint,
  name text NOT NULL,
  type text COLLATE "C" NOT NULL,
  message_id text COLLATE "C" NOT NULL,
  out text,
  PRIMARY KEY (instance_id, run_key, idx)
);
CREATE UNIQUE INDEX step_by_id ON step (instance_id, run_key, step_id);
CREATE INDEX step_of_webhook ON step (instance_id, run_key) WHERE type = 'CreateWebhook';

CREATE TABLE task (
  instance_id text COLLATE "C" NOT NULL,
  run_key text COLLATE "C" NOT NULL,
  slot integer NOT NULL,
  due_at bigint,
  created_at bigint NOT NULL,
  retried integer,
  first_of_group integer,
  concurrent integer,
  sleep_ms bigint,
  wake_at bigint,
  kind text COLLATE "C" NOT NULL,
  message_id text COLLATE "C" NOT NULL,
  name text,
  step_type text COLLATE "C",
  flow_key text COLLATE "C",
  queue text COLLATE "C",
  child_run_key text COLLATE "C",
  call_url text,
  detail text,
  PRIMARY KEY (instance_id, run_key, slot)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);
CREATE INDEX task_by_due_time ON task (due_at, run_key, slot) WHERE due_at IS NOT NULL;
CREATE INDEX task_retried_in_queue ON task (instance_id, queue) WHERE queue IS NOT NULL AND retried > 0 AND due_at IS NOT NULL;
CREATE INDEX task_by_child ON task (child_run_key) WHERE child_run_key IS NOT NULL;

CREATE TABLE attempt (
  instance_id text COLLATE "C" NOT NULL,
  run_key text COLLATE "C" NOT NULL,
  place bigint NOT NULL,
  slot integer NOT NULL,
  retried integer NOT NULL,
  at bigint NOT NULL,
  status integer,
  retry_at bigint,
  name text,
  message_id text COLLATE "C" NOT NULL,
  cause text COLLATE "C" NOT NULL,
  message text NOT NULL,
  PRIMARY KEY (instance_id, run_key, place)
);

-- Copies the columns of the run that filters use.
CREATE TABLE dead_letter (
  instance_id text COLLATE "C" NOT NULL,
  dlq_id text COLLATE "C" NOT NULL,
  run_key text COLLATE "C" NOT NULL,
  place bigint NOT NULL,
  created_at bigint NOT NULL,
  run_created_at bigint NOT NULL,
  response_status integer,
  failure_function_state text COLLATE "C",
  workflow_run_id text COLLATE "C" NOT NULL,
  workflow_url text COLLATE "C" NOT NULL,
  caller_ip text COLLATE "C" NOT NULL,
  flow_key text COLLATE "C",
  message boolean NOT NULL,
  queue text COLLATE "C",
  url_group text COLLATE "C",
  schedule_id text COLLATE "C",
  response_headers text NOT NULL,
  error text NOT NULL,
  response_body bytea NOT NULL,
  PRIMARY KEY (instance_id, dlq_id)
);
CREATE UNIQUE INDEX dead_letter_by_run ON dead_letter (instance_id, run_key);
CREATE UNIQUE INDEX dead_letter_by_place ON dead_letter (instance_id, place) INCLUDE (created_at);
CREATE INDEX dead_letter_by_kind ON dead_letter (instance_id, message, place) INCLUDE (created_at);
CREATE INDEX dead_letter_by_response ON dead_letter (instance_id, response_status, place) INCLUDE (created_at)
  WHERE response_status IS NOT NULL;
CREATE INDEX dead_letter_by_queue ON dead_letter (instance_id, queue, place) INCLUDE (created_at) WHERE queue IS NOT NULL;
CREATE INDEX dead_letter_by_url_group ON dead_letter (instance_id, url_group, place) INCLUDE (created_at)
  WHERE url_group IS NOT NULL;
CREATE INDEX dead_letter_by_schedule ON dead_letter (instance_id, schedule_id, place) INCLUDE (created_at)
  WHERE schedule_id IS NOT NULL;
CREATE INDEX dead_letter_by_run_id ON dead_letter (instance_id, workflow_run_id, place) INCLUDE (created_at);
CREATE INDEX dead_letter_by_url ON dead_letter (instance_id, workflow_url, place) INCLUDE (created_at);
CREATE INDEX dead_letter_by_caller ON dead_letter (instance_id, caller_ip, place) INCLUDE (created_at);
CREATE INDEX dead_letter_by_flow_key ON dead_letter (instance_id, flow_key, place) INCLUDE (created_at) WHERE flow_key IS NOT NULL;
CREATE INDEX dead_letter_by_state ON dead_letter (instance_id, failure_function_state, place) INCLUDE (created_at);
CREATE INDEX dead_letter_by_run_creation ON dead_letter (instance_id, run_created_at);
CREATE INDEX dead_letter_by_creation ON dead_letter (instance_id, created_at);

CREATE TABLE dead_letter_label (
  instance_id text COLLATE "C" NOT NULL,
  label text COLLATE "C" NOT NULL,
  place bigint NOT NULL,
  dlq_id text COLLATE "C" NOT NULL,
  PRIMARY KEY (instance_id, label, place)
);
CREATE INDEX dead_letter_label_by_entry ON dead_letter_label (instance_id, dlq_id);

CREATE TABLE deduplication (
  instance_id text COLLATE "C" NOT NULL,
  deduplication_id text COLLATE "C" NOT NULL,
  run_key text COLLATE "C" NOT NULL,
  expires_at bigint NOT NULL,
  PRIMARY KEY (instance_id, deduplication_id)
);
CREATE INDEX deduplication_by_expiry ON deduplication (expires_at);
CREATE INDEX deduplication_by_run ON deduplication (instance_id, run_key);

CREATE TABLE waiter (
  instance_id text COLLATE "C" NOT NULL,
  run_key text COLLATE "C" NOT NULL,
  slot integer NOT NULL,
  event_id text COLLATE "C" NOT NULL,
  since bigint NOT NULL,
  PRIMARY KEY (instance_id, run_key, slot, event_id)
);
CREATE INDEX waiter_by_event ON waiter (instance_id, event_id, since, run_key, slot);

CREATE TABLE kept_event (
  instance_id text COLLATE "C" NOT NULL,
  run_key text COLLATE "C" NOT NULL,
  place bigint NOT NULL,
  received_at bigint NOT NULL,
  event_key text COLLATE "C" NOT NULL,
  event_id text COLLATE "C" NOT NULL,
  content text NOT NULL,
  PRIMARY KEY (instance_id, run_key, place)
);
`;
