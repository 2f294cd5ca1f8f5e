/**
 * Version 11: groups of dead letters with the same error.
 *
 * `dead_letter.fingerprint` is null for entries of earlier versions, until they are grouped in the background.
 * `dead_letter_group.rank` is 0 for a regressed group, 1 for an unacknowledged group that may be new, and 2 for any other group.
 * Groups are listed in this order. Some time after a group has become too old to be new, its rank changes from 1 to 2.
 */
export const deadLetterGroups = `
ALTER TABLE dead_letter ADD COLUMN fingerprint text COLLATE "C";
CREATE INDEX dead_letter_by_fingerprint ON dead_letter (instance_id, fingerprint, place) INCLUDE (created_at);
CREATE INDEX dead_letter_ungrouped ON dead_letter (place) WHERE fingerprint IS NULL;

CREATE TABLE dead_letter_group (
  instance_id text COLLATE "C" NOT NULL,
  fingerprint text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL,
  rank integer NOT NULL,
  first_seen_at bigint NOT NULL,
  last_seen_at bigint NOT NULL,
  total bigint NOT NULL,
  entries bigint NOT NULL,
  acknowledged_at bigint,
  acknowledged_by text,
  resolved_at bigint,
  regressed_at bigint,
  response_status integer,
  step_name text,
  message text NOT NULL,
  PRIMARY KEY (instance_id, fingerprint)
);
CREATE INDEX dead_letter_group_listed ON dead_letter_group (instance_id, kind, rank, last_seen_at DESC, fingerprint)
  INCLUDE (first_seen_at, entries);
CREATE INDEX dead_letter_group_fresh ON dead_letter_group (first_seen_at) WHERE rank = 1;
CREATE INDEX dead_letter_group_empty ON dead_letter_group (last_seen_at) WHERE entries = 0;

CREATE TABLE dead_letter_group_workflow (
  instance_id text COLLATE "C" NOT NULL,
  fingerprint text COLLATE "C" NOT NULL,
  workflow_url text COLLATE "C" NOT NULL,
  entries bigint NOT NULL,
  PRIMARY KEY (instance_id, fingerprint, workflow_url)
);
CREATE INDEX dead_letter_group_workflow_most ON dead_letter_group_workflow (instance_id, fingerprint, entries DESC, workflow_url);

CREATE TABLE dead_letter_group_hour (
  instance_id text COLLATE "C" NOT NULL,
  fingerprint text COLLATE "C" NOT NULL,
  hour integer NOT NULL,
  count bigint NOT NULL,
  PRIMARY KEY (instance_id, fingerprint, hour)
);
CREATE INDEX dead_letter_group_hour_by_hour ON dead_letter_group_hour (hour);
`;
