/**
 * Version 35: the counters of a workflow, or of all workflows, are adjacent in the table, so that a chart reads one range. An index
 * has the counters of all workflows by time. `period` is 2 for a day. There is also an index of triaged groups.
 */
export const insightsAtScale = `
CREATE TABLE ordered_insight (
  tenant INTEGER NOT NULL,
  period INTEGER NOT NULL,
  scope INTEGER NOT NULL,
  workflow TEXT NOT NULL,
  start INTEGER NOT NULL,
  started INTEGER NOT NULL,
  succeeded INTEGER NOT NULL,
  failed INTEGER NOT NULL,
  canceled INTEGER NOT NULL,
  durations TEXT NOT NULL,
  steps TEXT NOT NULL,
  PRIMARY KEY (tenant, period, scope, workflow, start)
) STRICT, WITHOUT ROWID;
INSERT INTO ordered_insight (tenant, period, scope, workflow, start, started, succeeded, failed, canceled, durations, steps)
  SELECT tenant, period, scope, workflow, start, started, succeeded, failed, canceled, durations, steps FROM insight;
DROP TABLE insight;
ALTER TABLE ordered_insight RENAME TO insight;
CREATE INDEX insight_by_start ON insight (tenant, period, start, scope, workflow, started, succeeded, failed, canceled);
CREATE INDEX dead_letter_group_triaged ON dead_letter_group (tenant, kind, last_seen_at DESC, fingerprint) WHERE triage IS NOT NULL;
`;
