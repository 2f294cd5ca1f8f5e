/** Version 21: invitations to teams. A row is pending; it is deleted when it is accepted, declined or revoked. */
export const lifeOfUsers = `
CREATE TABLE invitation (
  invitation_id text COLLATE "C" PRIMARY KEY,
  seq bigint GENERATED ALWAYS AS IDENTITY,
  team_id text COLLATE "C" NOT NULL,
  email text COLLATE "C" NOT NULL,
  role text COLLATE "C" NOT NULL,
  secret_hash text COLLATE "C" NOT NULL UNIQUE,
  invited_by text COLLATE "C" NOT NULL,
  created_at bigint NOT NULL,
  expires_at bigint NOT NULL
);
CREATE UNIQUE INDEX invitation_by_team ON invitation (team_id, email);
CREATE INDEX invitation_by_inviter ON invitation (invited_by);
CREATE INDEX invitation_by_end ON invitation (expires_at);
`;
