/**
 * Version 28: fewer pages per commit.
 *
 * In the row `commits`, `counter.sums` contains the sums that are not yet added to `usage`, `day_count` and `instance_totals`, as
 * JSON. It is null or empty if there are none.
 */
export const commitSums = `
ALTER TABLE counter ADD COLUMN sums TEXT;
`;
