/** Version 19: tokens with a name, scopes and an expiry. `scopes` is a JSON array; only the SHA-256 of the token is stored. */
export const namedTokens = `
CREATE TABLE named_token (
  token_id text COLLATE "C" PRIMARY KEY,
  instance_id text COLLATE "C" NOT NULL,
  name text NOT NULL,
  token_hash text COLLATE "C" NOT NULL UNIQUE,
  scopes text NOT NULL,
  created_by text NOT NULL,
  created_at bigint NOT NULL,
  expires_at bigint,
  revoked_at bigint,
  last_used_at bigint
);
CREATE INDEX named_token_by_instance ON named_token (instance_id, created_at);
`;
