/** Version 14: each entry of a repair stores the fingerprint that its dead letter had when the plan was created, or null. */
export const repairFingerprints = `
ALTER TABLE repair_item ADD COLUMN fingerprint TEXT;
`;
