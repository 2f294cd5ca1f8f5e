/**
 * Version 27: deleted queue instances whose rows are still being removed; users that sign in with an identity provider;
 * links with which a user gets a new API key. `emptied_at` is null while rows of the instance may be left.
 */
export const removalAndSignIn = `
CREATE TABLE deleted_instance (
  instance_id text COLLATE "C" PRIMARY KEY,
  account_id text COLLATE "C",
  name text NOT NULL,
  region text NOT NULL,
  created_at bigint NOT NULL,
  deleted_at bigint NOT NULL,
  emptied_at bigint
);

CREATE TABLE sso_identity (
  issuer text COLLATE "C" NOT NULL,
  subject text COLLATE "C" NOT NULL,
  user_id text COLLATE "C" NOT NULL,
  created_at bigint NOT NULL,
  PRIMARY KEY (issuer, subject)
);
CREATE INDEX sso_identity_by_user ON sso_identity (user_id);

CREATE TABLE recovery_link (
  user_id text COLLATE "C" PRIMARY KEY,
  secret_hash text COLLATE "C" NOT NULL UNIQUE,
  created_at bigint NOT NULL,
  expires_at bigint NOT NULL
);
`;
