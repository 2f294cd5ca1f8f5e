/**
 * Version 22: signature settings of an instance. `key_pairs` and `signed_origins` are JSON, null if there are none.
 * `workflow_origins` is a JSON array of the origins of its workflows. It is filled from the runs in the store, with at
 * most 100 per instance.
 */
export const signatures = `
ALTER TABLE queue_instance ADD COLUMN key_pairs text;
ALTER TABLE queue_instance ADD COLUMN workflow_origins text;
ALTER TABLE queue_instance ADD COLUMN signed_origins text;

WITH workflow AS (
  SELECT DISTINCT instance_id, lower(substring(workflow_url from '^[a-zA-Z]+://[^/?#]+')) AS origin
  FROM run WHERE NOT message
), counted AS (
  SELECT instance_id, origin, row_number() OVER (PARTITION BY instance_id ORDER BY origin) AS n FROM workflow WHERE origin IS NOT NULL
)
UPDATE queue_instance SET workflow_origins = seen.origins
FROM (
  SELECT instance_id, json_agg(origin ORDER BY origin)::text AS origins FROM counted WHERE n <= 100 GROUP BY instance_id
) AS seen
WHERE seen.instance_id = queue_instance.instance_id;
`;
