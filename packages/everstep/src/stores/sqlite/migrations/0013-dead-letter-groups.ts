/**
 * Version 13: groups of dead letters with the same error.
 *
 * `dead_letter.fingerprint` is null for entries of earlier versions, until they are grouped in the background.
 * `dead_letter_group.rank` is 0 for a regressed group, 1 for an unacknowledged group that may be new, 2 for any other:
 * groups are listed in this order. Some time after a group is too old to be new, its 1 becomes a 2.
 */
export const deadLetterGroups = `
ALTER TABLE dead_letter ADD COLUMN fingerprint TEXT;
CREATE INDEX dead_letter_ungrouped ON dead_letter (seq) WHERE fingerprint IS NULL;

CREATE TABLE dead_letter_group (
  tenant INTEGER NOT NULL,
  fingerprint TEXT NOT NULL,
  kind TEXT NOT NULL,
  rank INTEGER NOT NULL,
  first_seen_at INTEGER NOT NULL,
  last_seen_at INTEGER NOT NULL,
  total INTEGER NOT NULL,
  entries INTEGER NOT NULL,
  acknowledged_at INTEGER,
  acknowledged_by TEXT,
  resolved_at INTEGER,
  regressed_at INTEGER,
  response_status INTEGER,
  step_name TEXT,
  message TEXT NOT NULL,
  PRIMARY KEY (tenant, fingerprint)
) STRICT, WITHOUT ROWID;
CREATE INDEX dead_letter_group_listed ON dead_letter_group
  (tenant, kind, rank, last_seen_at DESC, fingerprint, first_seen_at, entries);
CREATE INDEX dead_letter_group_fresh ON dead_letter_group (tenant, kind, first_seen_at) WHERE rank = 1;
CREATE INDEX dead_letter_group_aging ON dead_letter_group (first_seen_at) WHERE rank = 1;
CREATE INDEX dead_letter_group_empty ON dead_letter_group (last_seen_at) WHERE entries = 0;

CREATE TABLE dead_letter_group_workflow (
  tenant INTEGER NOT NULL,
  fingerprint TEXT NOT NULL,
  workflow_url TEXT NOT NULL,
  entries INTEGER NOT NULL,
  PRIMARY KEY (tenant, fingerprint, workflow_url)
) STRICT, WITHOUT ROWID;
CREATE INDEX dead_letter_group_workflow_most ON dead_letter_group_workflow (tenant, fingerprint, entries DESC, workflow_url);

CREATE TABLE dead_letter_group_hour (
  tenant INTEGER NOT NULL,
  fingerprint TEXT NOT NULL,
  hour INTEGER NOT NULL,
  count INTEGER NOT NULL,
  PRIMARY KEY (tenant, fingerprint, hour)
) STRICT, WITHOUT ROWID;
CREATE INDEX dead_letter_group_hour_by_hour ON dead_letter_group_hour (hour);
`;
