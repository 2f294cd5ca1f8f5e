/** Version 7: sessions of users. `session_hash` is the hash of the secret in their cookie, which is not stored. */
export const sessions = `
CREATE TABLE login_session (
  session_hash text COLLATE "C" PRIMARY KEY,
  user_id text COLLATE "C" NOT NULL,
  api_key_id text COLLATE "C" NOT NULL,
  created_at bigint NOT NULL,
  expires_at bigint NOT NULL
);
CREATE INDEX login_session_by_user ON login_session (user_id, created_at DESC);
CREATE INDEX login_session_by_key ON login_session (api_key_id);
CREATE INDEX login_session_by_end ON login_session (expires_at);
`;
