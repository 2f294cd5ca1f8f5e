/**
 * Version 12: an entry of a repair keeps the fingerprint that it had when it was frozen; null if it had none. Pending
 * and started entries have separate, small indexes.
 */
export const repairFingerprints = `
ALTER TABLE repair_item ADD COLUMN fingerprint text COLLATE "C";
CREATE INDEX repair_item_pending ON repair_item (instance_id, repair_id, n) WHERE state = 'pending';
CREATE INDEX repair_item_started ON repair_item (instance_id, repair_id, n) WHERE state = 'started';
`;
