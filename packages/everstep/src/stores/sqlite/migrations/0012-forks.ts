/**
 * Version 12: forks, which keep part of the journal of another run, and results that were edited in them.
 *
 * `step.edited` is 1 if a user supplied the result, otherwise null.
 */
export const forks = `
ALTER TABLE step ADD COLUMN edited INTEGER;
ALTER TABLE run ADD COLUMN forked_from_run_key TEXT;
CREATE INDEX run_by_fork ON run (forked_from_run_key) WHERE forked_from_run_key IS NOT NULL;
`;
