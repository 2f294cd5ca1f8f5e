/**
 * Version 28: the workers that are connected to each node, and the address at which workers reach it. `lent_by` is the node
 * whose limits a task passed before it was handed to `wanted_by`.
 */
export const workerPools = `
ALTER TABLE node ADD COLUMN url text, ADD COLUMN workers_version bigint NOT NULL DEFAULT 0;
ALTER TABLE task ADD COLUMN lent_by text COLLATE "C";

CREATE TABLE worker_pool (
  node_id text COLLATE "C" NOT NULL REFERENCES node ON DELETE CASCADE,
  instance_id text COLLATE "C" NOT NULL,
  app text COLLATE "C" NOT NULL,
  places bigint NOT NULL,
  workflows text NOT NULL,
  -- Shown to users.
  connections text NOT NULL,
  PRIMARY KEY (node_id, instance_id, app)
);
CREATE INDEX worker_pool_by_instance ON worker_pool (instance_id);
`;
