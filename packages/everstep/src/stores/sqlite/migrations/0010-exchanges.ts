/**
 * Version 10: requests and responses of failed attempts.
 *
 * `attempt.exchange` is JSON, null if nothing was sent and for attempts of earlier versions. From this version on,
 * `usage.month` is a day (`2026-11-21`); earlier counts keep their month (`2026-11`).
 */
export const exchanges = `
ALTER TABLE attempt ADD COLUMN exchange TEXT;
`;
