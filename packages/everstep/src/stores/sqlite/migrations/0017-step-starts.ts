/** Version 17: start time of the successful attempt of a step, Unix ms; null if no request was made, and for earlier versions. */
export const stepStarts = `
ALTER TABLE step ADD COLUMN started_at INTEGER;
`;
