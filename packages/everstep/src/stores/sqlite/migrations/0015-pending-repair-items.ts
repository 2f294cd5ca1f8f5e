/** Version 15: an index finds dead letters that a repair has not started yet, by their ids. */
export const pendingRepairItems = `
CREATE INDEX repair_item_of_entry ON repair_item (dlq_id) WHERE state = 'pending';
`;
