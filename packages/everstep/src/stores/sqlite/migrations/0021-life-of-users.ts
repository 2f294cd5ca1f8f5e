/** Version 21: invitations to teams. A row is pending; it is deleted when it is accepted, declined or revoked. */
export const lifeOfUsers = `
CREATE TABLE invitation (
  seq INTEGER PRIMARY KEY,
  invitation_id TEXT NOT NULL UNIQUE,
  team_id TEXT NOT NULL,
  email TEXT NOT NULL,
  role TEXT NOT NULL,
  secret_hash TEXT NOT NULL UNIQUE,
  invited_by TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX invitation_by_team ON invitation (team_id, email);
CREATE INDEX invitation_by_inviter ON invitation (invited_by);
CREATE INDEX invitation_by_end ON invitation (expires_at);
`;
