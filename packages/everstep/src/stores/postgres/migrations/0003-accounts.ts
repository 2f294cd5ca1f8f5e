/**
 * Version 3: accounts, and the records of search indexes. A sequence defines the order of rows.
 *
 * Email addresses are stored in lower case. `audit_reader` has one row for each entry of the audit log and each account that may
 * read it. Entries are only added: the triggers reject everything else.
 */
export const accounts = `
CREATE TABLE secret (
  name text COLLATE "C" PRIMARY KEY,
  value text NOT NULL
);

CREATE TABLE account_user (
  user_id text COLLATE "C" PRIMARY KEY,
  seq bigint GENERATED ALWAYS AS IDENTITY,
  email text COLLATE "C" NOT NULL UNIQUE,
  created_at bigint NOT NULL
);

CREATE TABLE api_key (
  api_key_id text COLLATE "C" PRIMARY KEY,
  seq bigint GENERATED ALWAYS AS IDENTITY,
  user_id text COLLATE "C" NOT NULL REFERENCES account_user,
  name text NOT NULL,
  key_hash text COLLATE "C" NOT NULL UNIQUE,
  created_at bigint NOT NULL,
  revoked_at bigint
);
CREATE INDEX api_key_by_user ON api_key (user_id, seq);

CREATE TABLE team (
  team_id text COLLATE "C" PRIMARY KEY,
  seq bigint GENERATED ALWAYS AS IDENTITY,
  name text NOT NULL,
  created_at bigint NOT NULL
);

CREATE TABLE team_member (
  user_id text COLLATE "C" NOT NULL REFERENCES account_user,
  team_id text COLLATE "C" NOT NULL REFERENCES team,
  seq bigint GENERATED ALWAYS AS IDENTITY,
  role text COLLATE "C" NOT NULL,
  added_at bigint NOT NULL,
  PRIMARY KEY (user_id, team_id)
);
CREATE INDEX team_member_by_team ON team_member (team_id, seq);

CREATE TABLE queue_instance (
  instance_id text COLLATE "C" PRIMARY KEY,
  seq bigint GENERATED ALWAYS AS IDENTITY,
  region text NOT NULL,
  name text NOT NULL,
  created_at bigint NOT NULL,
  current_signing_key text NOT NULL,
  next_signing_key text NOT NULL,
  account_id text COLLATE "C",
  plan text,
  budget_dollars double precision,
  budget_alert_url text,
  price double precision,
  -- Price of messages that were counted before the instance had a price: the first price that was set.
  first_price double precision
);
CREATE INDEX queue_instance_by_account ON queue_instance (account_id) WHERE account_id IS NOT NULL;

CREATE TABLE token (
  token_id text COLLATE "C" PRIMARY KEY,
  seq bigint GENERATED ALWAYS AS IDENTITY,
  instance_id text COLLATE "C" NOT NULL,
  access text COLLATE "C" NOT NULL,
  created_at bigint NOT NULL,
  revoked_at bigint
);
CREATE INDEX token_by_instance ON token (instance_id, seq);

-- Locations from which users have logged in, as hashes.
CREATE TABLE login_place (
  user_id text COLLATE "C" NOT NULL,
  place text COLLATE "C" NOT NULL,
  at bigint NOT NULL,
  PRIMARY KEY (user_id, place)
);

CREATE TABLE budget_alert (
  instance_id text COLLATE "C" NOT NULL,
  month text COLLATE "C" NOT NULL,
  percent integer NOT NULL,
  body text NOT NULL,
  retried integer NOT NULL,
  -- Null if no notice is pending.
  due_at bigint,
  PRIMARY KEY (instance_id, month, percent)
);
CREATE INDEX budget_alert_by_due ON budget_alert (due_at) WHERE due_at IS NOT NULL;

CREATE TABLE search_index (
  index_id text COLLATE "C" PRIMARY KEY,
  seq bigint GENERATED ALWAYS AS IDENTITY,
  account_id text COLLATE "C" NOT NULL,
  name text NOT NULL,
  region text NOT NULL,
  type text COLLATE "C" NOT NULL,
  created_at bigint NOT NULL,
  token_number bigint NOT NULL,
  -- True while the documents of the deleted index are being removed.
  deleted boolean NOT NULL DEFAULT false
);
CREATE INDEX search_index_of_account ON search_index (account_id, seq);
CREATE INDEX search_index_by_state ON search_index (deleted, seq);

CREATE TABLE audit_log (
  seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  audit_id text COLLATE "C" NOT NULL UNIQUE,
  at bigint NOT NULL,
  actor text NOT NULL,
  action text NOT NULL,
  subject text NOT NULL,
  address text NOT NULL,
  account_ids text NOT NULL,
  details text NOT NULL
);

CREATE TABLE audit_reader (
  account_id text COLLATE "C" NOT NULL,
  entry_seq bigint NOT NULL,
  PRIMARY KEY (account_id, entry_seq)
);

CREATE FUNCTION audit_is_only_added() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'an entry of the audit log cannot be changed or deleted';
END
$$;
CREATE TRIGGER audit_log_stays BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_log
  FOR EACH STATEMENT EXECUTE FUNCTION audit_is_only_added();
CREATE TRIGGER audit_reader_stays BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_reader
  FOR EACH STATEMENT EXECUTE FUNCTION audit_is_only_added();
`;
