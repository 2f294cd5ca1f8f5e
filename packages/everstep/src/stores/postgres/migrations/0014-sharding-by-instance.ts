/**
 * Version 14: a commit for one queue instance writes only rows of that instance, so it stays on one shard.
 *
 * Where every commit raised `clock_mark`, it now raises a row of its instance; a write that belongs to no instance
 * still raises it. The invocation that waits for a run is searched within its instance.
 */
export const shardingByInstance = `
CREATE TABLE instance_clock (
  instance_id text COLLATE "C" NOT NULL,
  -- Rows of an instance are many, so that commits do not wait for each other; the latest of them counts.
  shard integer NOT NULL,
  latest_time bigint NOT NULL,
  PRIMARY KEY (instance_id, shard)
) WITH (fillfactor = 50);

DROP INDEX task_by_child;
CREATE INDEX task_by_child ON task (child_run_key, instance_id) WHERE child_run_key IS NOT NULL;
`;
