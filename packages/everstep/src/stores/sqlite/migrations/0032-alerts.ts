/** Version 32: alerts, and the events that alert rules have not evaluated yet. */
export const alerts = `
CREATE TABLE alert_event (
  instance_id TEXT NOT NULL,
  event_id TEXT NOT NULL,
  content TEXT NOT NULL,
  PRIMARY KEY (instance_id, event_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE alert (
  instance_id TEXT NOT NULL,
  alert_id TEXT NOT NULL,
  rule TEXT NOT NULL,
  kind TEXT NOT NULL,
  subject TEXT NOT NULL,
  opened_at INTEGER NOT NULL,
  last_at INTEGER NOT NULL,
  ended_at INTEGER,
  occurrences INTEGER NOT NULL,
  details TEXT NOT NULL,
  notice TEXT,
  notify_at INTEGER,
  notified_at INTEGER,
  PRIMARY KEY (instance_id, alert_id)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX alert_open ON alert (instance_id, rule, subject) WHERE ended_at IS NULL;
CREATE INDEX alert_by_end ON alert (instance_id, ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX alert_by_notice ON alert (instance_id, notify_at) WHERE notify_at IS NOT NULL;
CREATE INDEX alert_by_notified ON alert (instance_id, notified_at) WHERE notified_at IS NOT NULL;
`;
