/** Version 17: which limit of a flow control key is pinned alone; null if both are, or none is. */
export const separatePins = `
ALTER TABLE flow_control ADD COLUMN pinned_only text COLLATE "C";
UPDATE flow_control SET pinned_only = 'parallelism' WHERE pinned AND rate IS NULL AND parallelism IS NOT NULL;
UPDATE flow_control SET pinned_only = 'rate' WHERE pinned AND parallelism IS NULL AND rate IS NOT NULL;
`;
