/** Version 16: when the attempt of a step that succeeded was begun, Unix ms; null where nobody was asked, and of earlier versions. */
export const startsOfSteps = `
ALTER TABLE step ADD COLUMN started_at bigint;
`;
