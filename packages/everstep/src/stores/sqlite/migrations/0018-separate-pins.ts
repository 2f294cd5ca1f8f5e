/** Version 18: the limit of a flow control key that is pinned alone; null if both limits are pinned, or none is. */
export const separatePins = `
ALTER TABLE flow_control ADD COLUMN pinned_only TEXT;
UPDATE flow_control SET pinned_only = 'parallelism' WHERE pinned = 1 AND rate IS NULL AND parallelism IS NOT NULL;
UPDATE flow_control SET pinned_only = 'rate' WHERE pinned = 1 AND parallelism IS NULL AND rate IS NOT NULL;
`;
