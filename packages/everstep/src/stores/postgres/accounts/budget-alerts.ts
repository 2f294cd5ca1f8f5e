/** Alerts of budgets: what was reached in a month, and which of it the owner is still to be told. */
import type { PendingBudgetAlert, QueueInstance } from '../../../ports/stores/account-store.js';
import { integer, integerOrNull, type Row, text, textOrNull } from '../connection/columns.js';
import { type Session, statement, type TransactionSession } from '../connection/connection.js';

/** Whoever changes the budget or the owner waits, and takes the alert with it then. */
const LOCK_BUDGET = statement('SELECT account_id, budget_dollars FROM queue_instance WHERE instance_id = $1 FOR SHARE');
const IS_NOTED = statement('SELECT 1 FROM budget_alert WHERE instance_id = $1 AND month = $2 AND percent = $3');
const NOTE = statement(`
  INSERT INTO budget_alert (instance_id, month, percent, body, retried, due_at) VALUES ($1, $2, $3, $4, $5, $6)
  ON CONFLICT (instance_id, month, percent) DO NOTHING`);
/** In order: who notes other shares of the same month at the same moment does so too. */
const NOTE_LESSER = statement(`
  INSERT INTO budget_alert (instance_id, month, percent, body, retried)
  SELECT $1, $2, percent, '', 0 FROM unnest($3::integer[]) AS w (percent) ORDER BY percent
  ON CONFLICT (instance_id, month, percent) DO NOTHING`);
const SELECT_DUE = statement('SELECT * FROM budget_alert WHERE due_at <= $1 ORDER BY due_at LIMIT $2');
const SELECT_NEXT = statement('SELECT min(due_at) AS due_at FROM budget_alert WHERE due_at > $1');
const MOVE = statement(`
  UPDATE budget_alert SET retried = $4, due_at = $5
  WHERE instance_id = $1 AND month = $2 AND percent = $3 AND body = $6 AND due_at = $7`);
/** All that there are: a few for each instance with a budget, and this is done once for each share of it. */
const DELETE_PAST = statement(`
  DELETE FROM budget_alert b WHERE (b.instance_id, b.month, b.percent) IN (
    SELECT instance_id, month, percent FROM budget_alert WHERE month < $1 AND due_at IS NULL
    ORDER BY instance_id, month, percent FOR UPDATE SKIP LOCKED)`);
const DELETE_ALL = statement('DELETE FROM budget_alert WHERE instance_id = $1');

const budgetOf = (instance: QueueInstance): number => instance.budgetDollars ?? 0;
const ownerOf = (instance: QueueInstance): string | null => instance.accountId ?? null;

export const isBudgetedAnew = (before: QueueInstance, after: QueueInstance): boolean =>
  budgetOf(before) !== budgetOf(after) || ownerOf(before) !== ownerOf(after);

const alertOf = (row: Row): PendingBudgetAlert => ({
  instanceId: text(row, 'instance_id'),
  month: text(row, 'month'),
  percent: integer(row, 'percent'),
  body: text(row, 'body'),
  retried: integer(row, 'retried'),
  dueAt: integer(row, 'due_at'),
});

/** To what it was noted for. */
export interface BudgetAlertFor {
  readonly budgetDollars: number;
  readonly accountId: string | null;
}

/** Without writing anything: it is asked again and again while a budget is passed. */
export async function isBudgetAlertNoted(
  session: Session,
  { instanceId, month, percent }: Pick<PendingBudgetAlert, 'instanceId' | 'month' | 'percent'>,
): Promise<boolean> {
  return (await session.query(IS_NOTED, [instanceId, month, percent])).length > 0;
}

/** False when it was noted before, or when the budget or the owner is another. */
export async function createBudgetAlert(
  session: TransactionSession,
  { instanceId, month, percent, body, retried, dueAt }: PendingBudgetAlert,
  lesser: readonly number[],
  { budgetDollars, accountId }: BudgetAlertFor,
): Promise<boolean> {
  const [instance] = await session.query(LOCK_BUDGET, [instanceId]);
  if (!instance || textOrNull(instance, 'account_id') !== accountId) return false;
  if ((integerOrNull(instance, 'budget_dollars') ?? 0) !== budgetDollars) return false;
  session.send(DELETE_PAST, [month]);
  if (lesser.length > 0) session.send(NOTE_LESSER, [instanceId, month, lesser]);
  return (await session.execute(NOTE, [instanceId, month, percent, body, retried, dueAt])) === 1;
}

/** Earliest first. */
export async function dueBudgetAlerts(session: Session, before: number, limit: number): Promise<readonly PendingBudgetAlert[]> {
  return (await session.query(SELECT_DUE, [before, limit])).map(alertOf);
}

/** Null when none is due later. */
export async function nextBudgetAlertAt(session: Session, after: number): Promise<number | null> {
  const [row] = await session.query(SELECT_NEXT, [after]);
  return row ? integerOrNull(row, 'due_at') : null;
}

/**
 * `dueAt` null: it is not owed any more. False, and nothing happened, when it is not as it was read: it was forgotten and another
 * noted, or another process was faster.
 */
export async function rescheduleBudgetAlert(
  session: TransactionSession,
  alert: PendingBudgetAlert,
  retried: number,
  dueAt: number | null,
): Promise<boolean> {
  const { instanceId, month, percent, body } = alert;
  return (await session.execute(MOVE, [instanceId, month, percent, retried, dueAt, body, alert.dueAt])) === 1;
}

/** Sends it, and waits for nothing. */
export function forgetBudgetAlerts(session: TransactionSession, instanceId: string): void {
  session.send(DELETE_ALL, [instanceId]);
}
