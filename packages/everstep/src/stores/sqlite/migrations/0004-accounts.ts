/**
 * Version 4: accounts. Queue instances have owners and budgets, users are members of teams, messages are counted for
 * the account that pays for them, and every change is recorded permanently.
 *
 * Email addresses are stored in lower case. An early version could store two that differ only in case: the later one
 * stays unchanged. `usage.account_id` is empty for an instance without an owner. `audit_reader` contains an entry once for
 * each account that may read it. Entries are only added: the triggers reject everything else, including a replacement,
 * which would delete without firing them.
 */
export const accounts = `
ALTER TABLE queue_instance ADD COLUMN account_id TEXT;
ALTER TABLE queue_instance ADD COLUMN plan TEXT;
ALTER TABLE queue_instance ADD COLUMN budget_dollars INTEGER;
ALTER TABLE queue_instance ADD COLUMN budget_alert_url TEXT;
CREATE INDEX queue_instance_by_account ON queue_instance (account_id) WHERE account_id IS NOT NULL;

ALTER TABLE api_key ADD COLUMN revoked_at INTEGER;
UPDATE OR IGNORE account_user SET email = lower(email) WHERE email <> lower(email);

CREATE TABLE team (
  seq INTEGER PRIMARY KEY,
  team_id TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL,
  created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE team_member (
  seq INTEGER PRIMARY KEY,
  team_id TEXT NOT NULL REFERENCES team (team_id),
  user_id TEXT NOT NULL REFERENCES account_user (user_id),
  role TEXT NOT NULL,
  added_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX team_member_by_user ON team_member (user_id, team_id);
CREATE INDEX team_member_by_team ON team_member (team_id);

CREATE TABLE usage (
  instance_id TEXT NOT NULL,
  month TEXT NOT NULL,
  account_id TEXT NOT NULL,
  messages INTEGER NOT NULL,
  PRIMARY KEY (instance_id, month, account_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE budget_alert (
  instance_id TEXT NOT NULL,
  month TEXT NOT NULL,
  percent INTEGER NOT NULL,
  PRIMARY KEY (instance_id, month, percent)
) STRICT, WITHOUT ROWID;

CREATE TABLE audit_log (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  audit_id TEXT NOT NULL UNIQUE,
  at INTEGER NOT NULL,
  actor TEXT NOT NULL,
  action TEXT NOT NULL,
  subject TEXT NOT NULL,
  address TEXT NOT NULL,
  account_ids TEXT NOT NULL,
  details TEXT NOT NULL
) STRICT;

CREATE TABLE audit_reader (
  account_id TEXT NOT NULL,
  entry_seq INTEGER NOT NULL,
  PRIMARY KEY (account_id, entry_seq)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER audit_log_is_not_replaced BEFORE INSERT ON audit_log
  WHEN EXISTS (SELECT 1 FROM audit_log WHERE seq = NEW.seq OR audit_id = NEW.audit_id)
  BEGIN SELECT raise(ABORT, 'an entry of the audit log cannot be replaced'); END;
CREATE TRIGGER audit_log_is_not_changed BEFORE UPDATE ON audit_log
  BEGIN SELECT raise(ABORT, 'an entry of the audit log cannot be changed'); END;
CREATE TRIGGER audit_log_is_not_deleted BEFORE DELETE ON audit_log
  BEGIN SELECT raise(ABORT, 'an entry of the audit log cannot be deleted'); END;
CREATE TRIGGER audit_reader_is_not_changed BEFORE UPDATE ON audit_reader
  BEGIN SELECT raise(ABORT, 'who may read the audit log cannot be changed'); END;
CREATE TRIGGER audit_reader_is_not_deleted BEFORE DELETE ON audit_reader
  BEGIN SELECT raise(ABORT, 'who may read the audit log cannot be changed'); END;
`;
