/**
 * Version 29: the index of step ids contains only the steps whose id does not follow from their index. In the journal of code
 * without parallel steps, every id does.
 */
export const stepIds = `
DROP INDEX step_by_id;
CREATE UNIQUE INDEX step_out_of_order ON step (run_seq, step_id) WHERE step_id <> idx + 1;
`;
