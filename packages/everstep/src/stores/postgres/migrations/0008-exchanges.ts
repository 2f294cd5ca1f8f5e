/**
 * Version 8: what was sent and what came back of failed attempts.
 *
 * `attempt.exchange` is JSON, null where nothing was sent and of attempts of earlier versions. From now on `usage.month` is
 * a day (`2026-11-21`) of what is counted; what was counted before stays with its month (`2026-11`).
 */
export const exchanges = `
ALTER TABLE attempt ADD COLUMN exchange text;
`;
