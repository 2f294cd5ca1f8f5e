/**
 * Version 34: the host and path of a run's URL are no longer stored, because no listing filters by these columns. They remain, with
 * a default value, because older nodes write them during a rolling upgrade.
 */
export const unusedUrlParts = `
ALTER TABLE run ALTER COLUMN url_host SET DEFAULT '', ALTER COLUMN url_path SET DEFAULT '';
`;
