/**
 * Version 24: stored bytes and active runs of each instance, and journals that are copied in slices.
 *
 * `instance_totals` is updated in the transactions that change it; its initial values are computed from existing data.
 * `staged_journal` has a row for each run that will be created with a journal that is being copied to its key. `gone`
 * means that this run will not be created: its steps are deleted later.
 */
export const storedBytes = `
CREATE TABLE instance_totals (
  instance_id text COLLATE "C" NOT NULL,
  -- An instance has several rows, so that commits do not wait for each other. The value is their sum.
  shard integer NOT NULL,
  bytes bigint NOT NULL,
  active_runs bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (instance_id, shard)
) WITH (fillfactor = 50);

WITH record AS (
  SELECT instance_id, 512 + octet_length(forward_headers) + octet_length(body) AS bytes FROM payload
  UNION ALL
  SELECT instance_id, octet_length(result) FROM ended_run WHERE result IS NOT NULL
  UNION ALL
  SELECT instance_id, 512 + coalesce(octet_length(out), 0) + coalesce(octet_length(sent), 0) FROM step
  UNION ALL
  SELECT instance_id, 512 + coalesce(octet_length(exchange), 0) FROM attempt
  UNION ALL
  SELECT instance_id, 512 + octet_length(content) FROM kept_event
  UNION ALL
  SELECT instance_id, 512 + octet_length(response_body) FROM dead_letter
  UNION ALL
  SELECT instance_id, 512 + octet_length(forward_headers) + octet_length(body) FROM schedule
)
INSERT INTO instance_totals (instance_id, shard, bytes, active_runs)
  SELECT instance_id, 0, sum(bytes), (SELECT count(*) FROM active_run a WHERE a.instance_id = record.instance_id)
  FROM record GROUP BY instance_id;

ALTER TABLE search_namespace ADD COLUMN bytes bigint NOT NULL DEFAULT 0;
DO $$
DECLARE
  one record;
BEGIN
  FOR one IN SELECT number FROM search_collection WHERE NOT dropped LOOP
    IF to_regclass('search_document_' || one.number) IS NOT NULL THEN
      EXECUTE format('UPDATE search_namespace n SET bytes = d.bytes FROM (
        SELECT namespace, sum(512 + octet_length(content) + coalesce(octet_length(metadata), 0)) AS bytes FROM %I GROUP BY namespace
        ) d WHERE n.number = d.namespace', 'search_document_' || one.number);
    END IF;
  END LOOP;
END $$;

CREATE TABLE staged_journal (
  instance_id text COLLATE "C" NOT NULL,
  run_key text COLLATE "C" NOT NULL,
  -- Unix ms by the clock of the database, of the last slice.
  staged_at bigint NOT NULL,
  gone boolean NOT NULL DEFAULT false,
  PRIMARY KEY (instance_id, run_key)
);
`;
