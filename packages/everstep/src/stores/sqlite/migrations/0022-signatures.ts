/**
 * Version 22: signature settings of an instance. `key_pairs` and `signed_origins` are JSON, null if there are none.
 * `workflow_origins` is a JSON array of the origins of its workflows. It is filled from the runs in the store, with at
 * most 100 per instance.
 */
export const signatures = `
ALTER TABLE queue_instance ADD COLUMN key_pairs TEXT;
ALTER TABLE queue_instance ADD COLUMN workflow_origins TEXT;
ALTER TABLE queue_instance ADD COLUMN signed_origins TEXT;

WITH url AS (
  SELECT DISTINCT tenant, substr(workflow_url, 1, instr(workflow_url, '://') + 2) AS scheme,
    substr(workflow_url, instr(workflow_url, '://') + 3) || '/' AS rest
  FROM run WHERE json_extract(settings, '$.message') IS NULL
), workflow AS (
  SELECT DISTINCT tenant, lower(scheme || substr(rest, 1, instr(rest, '/') - 1)) AS origin FROM url
), counted AS (
  SELECT tenant, origin, row_number() OVER (PARTITION BY tenant ORDER BY origin) AS n FROM workflow
)
UPDATE queue_instance SET workflow_origins = seen.origins
FROM (
  SELECT instance_id, json_group_array(origin ORDER BY origin) AS origins
  FROM counted JOIN tenant ON tenant.seq = counted.tenant
  WHERE n <= 100 GROUP BY instance_id
) AS seen
WHERE seen.instance_id = queue_instance.instance_id;
`;
