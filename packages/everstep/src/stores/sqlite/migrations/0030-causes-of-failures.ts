/**
 * Version 30: what is known about the error of a failed attempt and of a dead letter, as JSON; null for earlier versions.
 *
 * `dead_letter_group.rules` is the version of the rules that computed the fingerprint. Entries of groups of earlier rules move to
 * other groups in the background. `successor` is the group that they move to, empty if there are several, and null until the
 * first one has moved.
 */
export const causesOfFailures = `
ALTER TABLE attempt ADD COLUMN thrown TEXT;
ALTER TABLE dead_letter ADD COLUMN failed_by TEXT;
ALTER TABLE dead_letter_group ADD COLUMN rules INTEGER NOT NULL DEFAULT 1;
ALTER TABLE dead_letter_group ADD COLUMN successor TEXT;
CREATE INDEX dead_letter_group_outdated ON dead_letter_group (tenant, fingerprint) WHERE rules < 2 AND entries > 0;
`;
