/**
 * Version 6: daily counts, and pending budget alerts. `day_count.day` is the number of days since 1970 (UTC).
 * `budget_alert.due_at` is null when an alert is no longer pending.
 */
export const daysAndAlerts = `
CREATE TABLE day_count (
  instance_id TEXT NOT NULL,
  day INTEGER NOT NULL,
  what TEXT NOT NULL,
  count INTEGER NOT NULL,
  last_at INTEGER NOT NULL,
  PRIMARY KEY (instance_id, day, what)
) STRICT, WITHOUT ROWID;
CREATE INDEX day_count_by_day ON day_count (day);

ALTER TABLE budget_alert ADD COLUMN body TEXT NOT NULL DEFAULT '';
ALTER TABLE budget_alert ADD COLUMN retried INTEGER NOT NULL DEFAULT 0;
ALTER TABLE budget_alert ADD COLUMN due_at INTEGER;
CREATE INDEX budget_alert_by_due ON budget_alert (due_at) WHERE due_at IS NOT NULL;
`;
