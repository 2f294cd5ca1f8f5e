/** Version 15: which dead letters a repair has yet to begin with is found by their ids. */
export const entriesAboutToGo = `
CREATE INDEX repair_item_of_entry ON repair_item (dlq_id) WHERE state = 'pending';
`;
