/**
 * Version 26: deleted queue instances whose rows are still being removed; users that sign in with an identity provider;
 * links by which a user gets a new API key. `emptied_at` is null while rows of the instance may be left.
 */
export const removalAndSignIn = `
CREATE TABLE deleted_instance (
  instance_id TEXT PRIMARY KEY,
  account_id TEXT,
  name TEXT NOT NULL,
  region TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  deleted_at INTEGER NOT NULL,
  emptied_at INTEGER
) STRICT, WITHOUT ROWID;

CREATE TABLE sso_identity (
  issuer TEXT NOT NULL,
  subject TEXT NOT NULL,
  user_id TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (issuer, subject)
) STRICT, WITHOUT ROWID;
CREATE INDEX sso_identity_by_user ON sso_identity (user_id);

CREATE TABLE recovery_link (
  user_id TEXT PRIMARY KEY,
  secret_hash TEXT NOT NULL UNIQUE,
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
`;
