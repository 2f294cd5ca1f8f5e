/** Budget alerts: the percentages of a budget that were reached in a month, and the notifications that are still pending. */
import type { BudgetAlertId, PendingBudgetAlert, QueueInstance } from '../../../ports/stores/account-store.js';
import { integerOrNull, textOrNull } from '../../records/columns.js';
import { FOR_SHARE } from '../sql/dialect.js';
import { count, type Procedure, row, rows, send } from '../sql/procedure.js';
import { type Sql, sql } from '../sql/sql.js';
import { NUMBER, TEXT, table } from '../sql/table.js';

const ALERT = table<PendingBudgetAlert>('budget_alert', {
  instanceId: TEXT,
  month: TEXT,
  percent: NUMBER,
  body: TEXT,
  retried: NUMBER,
  dueAt: NUMBER,
});

const budgetOf = (instance: QueueInstance): number => instance.budgetDollars ?? 0;
const ownerOf = (instance: QueueInstance): string | null => instance.accountId ?? null;

/** Returns whether alerts for the earlier budget or owner are obsolete. */
export const isBudgetChanged = (before: QueueInstance, after: QueueInstance): boolean =>
  budgetOf(before) !== budgetOf(after) || ownerOf(before) !== ownerOf(after);

const isAlert = ({ instanceId, month, percent }: BudgetAlertId): Sql =>
  sql`instance_id = ${instanceId} AND month = ${month} AND percent = ${percent}`;

/** Returns whether the alert is noted. Does not write, because the check is repeated while the budget is exceeded. */
export function* isAlertRecorded(alert: BudgetAlertId): Procedure<boolean> {
  return (yield* row(sql`SELECT percent FROM budget_alert WHERE ${isAlert(alert)}`)) !== null;
}

/** The budget and the owner that an alert is for. */
export interface BudgetOfAlert {
  readonly budgetDollars: number;
  readonly accountId: string | null;
}

/**
 * Notes the alert. Returns false if it was noted before, or if the budget or the owner has changed. A concurrent change waits,
 * and then removes the alert.
 */
export function* createAlert(
  alert: PendingBudgetAlert,
  lowerPercents: readonly number[],
  { budgetDollars, accountId }: BudgetOfAlert,
): Procedure<boolean> {
  const { instanceId, month } = alert;
  const instance = yield* row(sql`
    SELECT account_id, budget_dollars FROM queue_instance WHERE instance_id = ${instanceId} ${FOR_SHARE}`);
  if (!instance || textOrNull(instance, 'account_id') !== accountId) return false;
  if ((integerOrNull(instance, 'budget_dollars') ?? 0) !== budgetDollars) return false;
  yield* send(sql`DELETE FROM budget_alert WHERE instance_id = ${instanceId} AND month < ${month} AND due_at IS NULL`);
  // The order is ascending, so that two processes that note alerts of the same month do not deadlock.
  for (const percent of lowerPercents.toSorted((a, b) => a - b))
    yield* send(sql`
      INSERT INTO budget_alert (instance_id, month, percent, body, retried) VALUES (${instanceId}, ${month}, ${percent}, '', 0)
      ON CONFLICT (instance_id, month, percent) DO NOTHING`);
  return (yield* count(sql`${ALERT.insert(alert)} ON CONFLICT (instance_id, month, percent) DO NOTHING`)) === 1;
}

/** Returns the alerts that are due at or before this time, earliest first. */
export function* dueAlerts(before: number, limit: number): Procedure<readonly PendingBudgetAlert[]> {
  const dueRows = yield* rows(sql`SELECT * FROM budget_alert WHERE due_at <= ${before} ORDER BY due_at LIMIT ${limit}`);
  return dueRows.map(ALERT.read);
}

/** Returns the due time of the next alert after this time; null if there is none. */
export function* nextAlertAt(after: number): Procedure<number | null> {
  const nextRow = yield* row(sql`SELECT min(due_at) AS due_at FROM budget_alert WHERE due_at > ${after}`);
  return nextRow && integerOrNull(nextRow, 'due_at');
}

/**
 * Sets the next due time of the alert, which is null if the alert was delivered or given up. Returns false without a change if
 * the alert has changed since it was read.
 */
export function* rescheduleAlert(alert: PendingBudgetAlert, retried: number, dueAt: number | null): Procedure<boolean> {
  const updatedCount = yield* count(sql`
    UPDATE budget_alert SET retried = ${retried}, due_at = ${dueAt}
    WHERE ${isAlert(alert)} AND body = ${alert.body} AND due_at = ${alert.dueAt}`);
  return updatedCount === 1;
}

export const deleteAlerts = (instanceId: string): Procedure<void> =>
  send(sql`DELETE FROM budget_alert WHERE instance_id = ${instanceId}`);
