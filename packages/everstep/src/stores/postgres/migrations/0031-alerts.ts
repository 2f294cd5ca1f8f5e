/** Version 31: alerts, and the events that alert rules have not evaluated yet. */
export const alerts = `
CREATE TABLE alert_event (
  instance_id text COLLATE "C" NOT NULL,
  event_id text COLLATE "C" NOT NULL,
  content text NOT NULL,
  PRIMARY KEY (instance_id, event_id)
);

CREATE TABLE alert (
  instance_id text COLLATE "C" NOT NULL,
  alert_id text COLLATE "C" NOT NULL,
  rule text COLLATE "C" NOT NULL,
  kind text NOT NULL,
  subject text COLLATE "C" NOT NULL,
  opened_at bigint NOT NULL,
  last_at bigint NOT NULL,
  ended_at bigint,
  occurrences bigint NOT NULL,
  details text NOT NULL,
  notice text,
  notify_at bigint,
  notified_at bigint,
  PRIMARY KEY (instance_id, alert_id)
);
CREATE UNIQUE INDEX alert_open ON alert (instance_id, rule, subject) WHERE ended_at IS NULL;
CREATE INDEX alert_by_end ON alert (instance_id, ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX alert_by_notice ON alert (instance_id, notify_at) WHERE notify_at IS NOT NULL;
CREATE INDEX alert_by_notified ON alert (instance_id, notified_at) WHERE notified_at IS NOT NULL;
`;
