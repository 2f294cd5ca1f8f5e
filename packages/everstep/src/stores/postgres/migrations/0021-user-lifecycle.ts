/**
 * Version 21: invitations to teams, disabled users, several operators. A row of `invitation` is pending; it is deleted when it is
 * accepted, declined or revoked. Until this version, the first user was the operator.
 */
export const userLifecycle = `
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

ALTER TABLE account_user ADD COLUMN disabled_at bigint;
ALTER TABLE account_user ADD COLUMN is_operator boolean NOT NULL DEFAULT false;
UPDATE account_user SET is_operator = true WHERE seq = (SELECT min(seq) FROM account_user);
CREATE INDEX account_user_operator ON account_user (user_id) WHERE is_operator;
`;
