/** Version 14: an entry of a repair keeps the fingerprint that it had when it was frozen; null if it had none. */
export const repairFingerprints = `
ALTER TABLE repair_item ADD COLUMN fingerprint TEXT;
`;
