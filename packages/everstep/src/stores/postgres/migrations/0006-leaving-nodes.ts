/** Version 6: a node that is about to leave says so, and takes nothing any more. */
export const leavingNodes = `
ALTER TABLE node ADD COLUMN leaving boolean NOT NULL DEFAULT false;
`;
