/**
 * Version 21: invitations to teams, disabled users, several operators. A row of `invitation` is pending; it is deleted when it is
 * accepted, declined or revoked. Until this version, the first user was the operator.
 */
export const userLifecycle = `
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
CREATE INDEX invitation_of_team ON invitation (team_id);
CREATE INDEX invitation_by_inviter ON invitation (invited_by);
CREATE INDEX invitation_by_end ON invitation (expires_at);

ALTER TABLE account_user ADD COLUMN disabled_at INTEGER;
ALTER TABLE account_user ADD COLUMN is_operator INTEGER NOT NULL DEFAULT 0;
UPDATE account_user SET is_operator = 1 WHERE seq = (SELECT min(seq) FROM account_user);
CREATE INDEX account_user_operator ON account_user (user_id) WHERE is_operator = 1;
`;
