/**
 * Version 5: nodes and their claims.
 *
 * Only the node in `claimed_by` handles a claimed task. A task with `wanted_by` was handed to that node, and no other node claims
 * it. Both are released when the lease of the node has ended.
 */
export const nodes = `
CREATE TABLE node (
  node_id text COLLATE "C" PRIMARY KEY,
  lease_until timestamptz NOT NULL,
  joined_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- Shown to operators.
  host text NOT NULL,
  version text NOT NULL
) WITH (fillfactor = 50);

ALTER TABLE task ADD COLUMN claimed_by text COLLATE "C", ADD COLUMN wanted_by text COLLATE "C";
DROP INDEX task_by_due_time;
CREATE INDEX task_unclaimed ON task (due_at, run_key, slot) WHERE due_at IS NOT NULL AND claimed_by IS NULL;
CREATE INDEX task_claimed ON task (claimed_by, due_at, run_key, slot) WHERE due_at IS NOT NULL AND claimed_by IS NOT NULL;
CREATE INDEX task_wanted ON task (wanted_by) WHERE wanted_by IS NOT NULL;

-- The node that owns the limits of an instance, and their current use.
CREATE TABLE gate_lease (
  instance_id text COLLATE "C" PRIMARY KEY,
  node_id text COLLATE "C" NOT NULL,
  standing text
) WITH (fillfactor = 50);
CREATE INDEX gate_lease_by_node ON gate_lease (node_id);
`;
