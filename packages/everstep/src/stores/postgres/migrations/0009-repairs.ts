/**
 * Version 9: repairs, and the dead letters that each of them froze.
 *
 * The row of a repair names the node that drives it, and until when no other node does. An item stores what a report
 * shows about its run, because the run may be removed before the report. `rank` is its position among the items of its
 * workflow; null for items too far behind to be canaries.
 */
export const repairs = `
CREATE TABLE repair (
  instance_id text COLLATE "C" NOT NULL,
  repair_id text COLLATE "C" NOT NULL,
  version bigint NOT NULL,
  created_at bigint NOT NULL,
  ended_at bigint,
  wake_at bigint,
  driven_until bigint,
  driver text COLLATE "C",
  phase text COLLATE "C" NOT NULL,
  data text NOT NULL,
  PRIMARY KEY (instance_id, repair_id)
) WITH (fillfactor = 70);
CREATE INDEX repair_to_drive ON repair (wake_at) WHERE wake_at IS NOT NULL;

CREATE TABLE repair_item (
  instance_id text COLLATE "C" NOT NULL,
  repair_id text COLLATE "C" NOT NULL,
  n integer NOT NULL,
  rank integer,
  at bigint,
  canary boolean NOT NULL,
  state text COLLATE "C" NOT NULL,
  dlq_id text COLLATE "C" NOT NULL,
  run_key text COLLATE "C" NOT NULL,
  workflow_run_id text COLLATE "C" NOT NULL,
  workflow_url text COLLATE "C" NOT NULL,
  new_run_key text COLLATE "C",
  new_workflow_run_id text COLLATE "C",
  new_dlq_id text COLLATE "C",
  error text,
  PRIMARY KEY (instance_id, repair_id, n)
) WITH (fillfactor = 80);
CREATE INDEX repair_item_by_state ON repair_item (instance_id, repair_id, state, n);
CREATE INDEX repair_item_by_rank ON repair_item (instance_id, repair_id, rank, n) WHERE rank IS NOT NULL;
CREATE INDEX repair_item_of_canary ON repair_item (instance_id, repair_id, n) WHERE canary;
`;
