/**
 * Version 14: a commit for one queue instance writes only rows of that instance, so it stays on one shard.
 *
 * Commits used to update `clock_mark`. Now a commit updates a row of its instance in `instance_clock`; only writes without an
 * instance update `clock_mark`. The lookup of the step that waits for an invoked run is limited to the instance.
 */
export const shardingByInstance = `
CREATE TABLE instance_clock (
  instance_id text COLLATE "C" NOT NULL,
  -- An instance has many rows, so that commits do not wait for each other. The latest time counts.
  shard integer NOT NULL,
  latest_time bigint NOT NULL,
  PRIMARY KEY (instance_id, shard)
) WITH (fillfactor = 50);

DROP INDEX task_by_child;
CREATE INDEX task_by_child ON task (child_run_key, instance_id) WHERE child_run_key IS NOT NULL;
`;
