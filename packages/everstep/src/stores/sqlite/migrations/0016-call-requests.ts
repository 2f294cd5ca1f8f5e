/** Version 16: the request of a call whose first attempt succeeded, as JSON; null for all others and for earlier versions. */
export const callRequests = `
ALTER TABLE step ADD COLUMN sent TEXT;
`;
