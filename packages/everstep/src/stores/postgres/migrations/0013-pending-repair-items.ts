/** Version 13: dead letters that a repair has not started yet are found by their ids. */
export const pendingRepairItems = `
CREATE INDEX repair_item_of_entry ON repair_item (instance_id, dlq_id) WHERE state = 'pending';
`;
