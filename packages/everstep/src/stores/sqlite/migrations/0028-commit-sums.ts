/**
 * Version 28: fewer pages per commit.
 *
 * `counter.sums`, of the row `commits`: what is not yet added to `usage`, `day_count` and `instance_totals`, as JSON; null or empty
 * if there is nothing.
 */
export const commitSums = `
ALTER TABLE counter ADD COLUMN sums TEXT;
`;
