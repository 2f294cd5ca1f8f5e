/** Version 15: dead letters that a repair has not started yet are found by their ids. */
export const pendingRepairItems = `
CREATE INDEX repair_item_of_entry ON repair_item (dlq_id) WHERE state = 'pending';
`;
