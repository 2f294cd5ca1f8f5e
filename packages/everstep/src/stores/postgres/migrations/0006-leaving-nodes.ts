/** Version 6: a node that is about to leave records this, and claims nothing more. */
export const leavingNodes = `
ALTER TABLE node ADD COLUMN leaving boolean NOT NULL DEFAULT false;
`;
