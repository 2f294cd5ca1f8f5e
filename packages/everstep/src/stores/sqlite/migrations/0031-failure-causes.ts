/**
 * Version 31: details of the error of a failed attempt and of a dead letter, as JSON; null for errors from earlier versions.
 *
 * `dead_letter.rules` is the version of the rules that computed the fingerprint. In the background, entries of earlier rules move
 * to the groups that they have now. `dead_letter_group.successor` is then the group that the entries of this group moved to; it
 * is empty if there are several. A group without entries is merged into its successor.
 */
export const failureCauses = `
ALTER TABLE attempt ADD COLUMN thrown TEXT;
ALTER TABLE dead_letter ADD COLUMN failed_by TEXT;
ALTER TABLE dead_letter ADD COLUMN rules INTEGER NOT NULL DEFAULT 1;
ALTER TABLE dead_letter_group ADD COLUMN successor TEXT;
DROP INDEX dead_letter_ungrouped;
CREATE INDEX dead_letter_outdated ON dead_letter (seq) WHERE rules < 2;
CREATE INDEX dead_letter_group_replaced ON dead_letter_group (tenant, fingerprint) WHERE successor IS NOT NULL;
`;
