/** Version 9: sessions of users. `session_hash` is that of the secret in their cookie, which is not stored. */
export const sessions = `
CREATE TABLE login_session (
  session_hash TEXT PRIMARY KEY,
  user_id TEXT NOT NULL,
  api_key_id TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX login_session_by_user ON login_session (user_id, created_at DESC);
CREATE INDEX login_session_by_key ON login_session (api_key_id);
CREATE INDEX login_session_by_end ON login_session (expires_at);
`;
