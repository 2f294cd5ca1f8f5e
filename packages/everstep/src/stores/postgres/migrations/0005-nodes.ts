/**
 * Version 5: nodes and their claims.
 *
 * A claimed task is handled by its node; a task that is wanted by a node was handed to it, and no other node claims it. Both are
 * released when the lease of the node has ended.
 */
export const nodes = `
CREATE TABLE node (
  node_id text COLLATE "C" PRIMARY KEY,
  lease_until timestamptz NOT NULL,
  joined_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- For people who look.
  host text NOT NULL,
  version text NOT NULL
) WITH (fillfactor = 50);

ALTER TABLE task ADD COLUMN claimed_by text COLLATE "C", ADD COLUMN wanted_by text COLLATE "C";
DROP INDEX task_by_due_time;
CREATE INDEX task_unclaimed ON task (due_at, run_key, slot) WHERE due_at IS NOT NULL AND claimed_by IS NULL;
CREATE INDEX task_claimed ON task (claimed_by, due_at, run_key, slot) WHERE due_at IS NOT NULL AND claimed_by IS NOT NULL;
CREATE INDEX task_wanted ON task (wanted_by) WHERE wanted_by IS NOT NULL;

-- To whom the gates of an instance belong, and what goes on there.
CREATE TABLE gate_lease (
  instance_id text COLLATE "C" PRIMARY KEY,
  node_id text COLLATE "C" NOT NULL,
  standing text
) WITH (fillfactor = 50);
CREATE INDEX gate_lease_by_node ON gate_lease (node_id);
`;
