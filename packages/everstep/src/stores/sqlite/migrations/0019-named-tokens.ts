/** Version 19: tokens with a name, scopes and an expiry. `scopes` is a JSON array; only the SHA-256 of the token is stored. */
export const namedTokens = `
CREATE TABLE named_token (
  token_id TEXT PRIMARY KEY,
  instance_id TEXT NOT NULL,
  name TEXT NOT NULL,
  token_hash TEXT NOT NULL UNIQUE,
  scopes TEXT NOT NULL,
  created_by TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER,
  revoked_at INTEGER,
  last_used_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX named_token_by_instance ON named_token (instance_id, created_at);
`;
