/**
 * Version 30: counters of runs and steps by minute and hour. `insight_delta` has the counters of commits that are not added to
 * `insight` yet. `period` is 0 for a minute and 1 for an hour. `scope` is 0 for all workflows, 1 for plain messages, and 2 for the
 * workflow.
 */
export const insights = `
CREATE TABLE insight_delta (
  tenant INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  counts TEXT NOT NULL,
  PRIMARY KEY (tenant, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE insight (
  tenant INTEGER NOT NULL,
  period INTEGER NOT NULL,
  start INTEGER NOT NULL,
  scope INTEGER NOT NULL,
  workflow TEXT NOT NULL,
  started INTEGER NOT NULL,
  succeeded INTEGER NOT NULL,
  failed INTEGER NOT NULL,
  canceled INTEGER NOT NULL,
  durations TEXT NOT NULL,
  steps TEXT NOT NULL,
  PRIMARY KEY (tenant, period, start, scope, workflow)
) STRICT, WITHOUT ROWID;
`;
