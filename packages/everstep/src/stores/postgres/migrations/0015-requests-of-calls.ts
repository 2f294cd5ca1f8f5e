/** Version 15: what a call sent whose first attempt succeeded, as JSON; null for all others, and of earlier versions. */
export const requestsOfCalls = `
ALTER TABLE step ADD COLUMN sent text;
`;
