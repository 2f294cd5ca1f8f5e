/**
 * Version 7: the price of messages at the time they were counted, and the locations from which users have logged in.
 *
 * `queue_instance.price` is dollars per 100,000 messages, null until it is first known. `usage.price` is its value when
 * the messages were counted, -1 while it was unknown, because a key column cannot be null. `login_place.place` is a
 * hash.
 */
export const pricesAndLogins = `
ALTER TABLE queue_instance ADD COLUMN price REAL;

CREATE TABLE priced_usage (
  instance_id TEXT NOT NULL,
  month TEXT NOT NULL,
  account_id TEXT NOT NULL,
  price REAL NOT NULL,
  messages INTEGER NOT NULL,
  PRIMARY KEY (instance_id, month, account_id, price)
) STRICT, WITHOUT ROWID;
INSERT INTO priced_usage SELECT instance_id, month, account_id, -1, messages FROM usage;
DROP TABLE usage;
ALTER TABLE priced_usage RENAME TO usage;

CREATE INDEX budget_alert_by_month ON budget_alert (month) WHERE due_at IS NULL;

CREATE TABLE login_place (
  user_id TEXT NOT NULL,
  place TEXT NOT NULL,
  at INTEGER NOT NULL,
  PRIMARY KEY (user_id, place)
) STRICT, WITHOUT ROWID;
CREATE INDEX login_place_by_time ON login_place (user_id, at DESC, place);
`;
