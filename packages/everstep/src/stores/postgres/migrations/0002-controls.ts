/**
 * Version 2: data that controls runs (limits, queues, schedules, holds, settings), and counts.
 *
 * `usage` and `day_count` have a row for each connection that counts, so that commits of one instance do not wait for
 * each other; the sum of the rows is the value. `usage.account_id` is empty for an instance without an owner,
 * because a key column cannot be null.
 */
export const controls = `
CREATE TABLE flow_control (
  instance_id text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  parallelism integer,
  rate integer,
  period_ms bigint,
  paused boolean NOT NULL DEFAULT false,
  pinned boolean NOT NULL DEFAULT false,
  window_started_at bigint,
  window_granted bigint,
  PRIMARY KEY (instance_id, key)
) WITH (fillfactor = 70);

CREATE TABLE schedule (
  instance_id text COLLATE "C" NOT NULL,
  schedule_id text COLLATE "C" NOT NULL,
  seq bigint GENERATED ALWAYS AS IDENTITY,
  created_at bigint NOT NULL,
  next_at bigint,
  last_fired_at bigint,
  delay_ms bigint NOT NULL,
  paused boolean NOT NULL,
  last_run_id text COLLATE "C",
  cron text NOT NULL,
  time_zone text NOT NULL,
  dialect text COLLATE "C" NOT NULL,
  workflow_url text COLLATE "C" NOT NULL,
  caller_ip text COLLATE "C" NOT NULL,
  settings text NOT NULL,
  content_type text,
  forward_headers text NOT NULL,
  body bytea NOT NULL,
  PRIMARY KEY (instance_id, schedule_id)
);
CREATE INDEX schedule_by_next_tick ON schedule (next_at, seq) WHERE next_at IS NOT NULL;

CREATE TABLE destination_hold (
  instance_id text COLLATE "C" NOT NULL,
  origin text COLLATE "C" NOT NULL,
  held_by text COLLATE "C" NOT NULL,
  reason text NOT NULL,
  since bigint NOT NULL,
  PRIMARY KEY (instance_id, origin)
);

CREATE TABLE instance_settings (
  instance_id text COLLATE "C" PRIMARY KEY,
  settings text NOT NULL
);

CREATE TABLE queue (
  instance_id text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  parallelism integer NOT NULL,
  paused boolean NOT NULL,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  PRIMARY KEY (instance_id, name)
);

CREATE TABLE url_group (
  instance_id text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  endpoints text NOT NULL,
  PRIMARY KEY (instance_id, name)
);

CREATE TABLE usage (
  instance_id text COLLATE "C" NOT NULL,
  month text COLLATE "C" NOT NULL,
  account_id text COLLATE "C" NOT NULL,
  -- Dollars per 100,000 messages; -1 while the instance had no price.
  price double precision NOT NULL,
  shard integer NOT NULL,
  messages bigint NOT NULL,
  PRIMARY KEY (instance_id, month, account_id, price, shard)
) WITH (fillfactor = 50);

-- \`day\` is the number of days since 1970.
CREATE TABLE day_count (
  instance_id text COLLATE "C" NOT NULL,
  day integer NOT NULL,
  what text COLLATE "C" NOT NULL,
  shard integer NOT NULL,
  count bigint NOT NULL,
  last_at bigint NOT NULL,
  PRIMARY KEY (instance_id, day, what, shard)
) WITH (fillfactor = 50);
CREATE INDEX day_count_by_day ON day_count (day);

-- Runs admitted on a day with a limit. All nodes share the row, so that they cannot exceed the limit together.
CREATE TABLE day_taken (
  instance_id text COLLATE "C" NOT NULL,
  day integer NOT NULL,
  runs bigint NOT NULL,
  PRIMARY KEY (instance_id, day)
) WITH (fillfactor = 50);
`;
