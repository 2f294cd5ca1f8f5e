/**
 * Version 10: forks, which keep part of the journal of another run, and results that were edited in them.
 *
 * `step.edited` is true if a user supplied the result, otherwise null.
 */
export const forks = `
ALTER TABLE step ADD COLUMN edited boolean;
ALTER TABLE run ADD COLUMN forked_from_run_key text COLLATE "C";
CREATE INDEX run_by_fork ON run (instance_id, forked_from_run_key) WHERE forked_from_run_key IS NOT NULL;
`;
