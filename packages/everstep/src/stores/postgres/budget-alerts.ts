/** Alerts of budgets: what was reached in a month, and which of it the owner is still to be told. */
import type { BudgetAlertId, OwedBudgetAlert } from '../../ports/account-store.js';
import { integer, integerOrNull, type Row, text } from './columns.js';
import { type Session, statement, type TransactionSession } from './connection.js';

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
  UPDATE budget_alert SET retried = $4, due_at = $5 WHERE instance_id = $1 AND month = $2 AND percent = $3`);

const alertOf = (row: Row): OwedBudgetAlert => ({
  instanceId: text(row, 'instance_id'),
  month: text(row, 'month'),
  percent: integer(row, 'percent'),
  body: text(row, 'body'),
  retried: integer(row, 'retried'),
  dueAt: integer(row, 'due_at'),
});

/** False when it was noted before. */
export async function noteBudgetAlert(
  session: TransactionSession,
  { instanceId, month, percent, body, retried, dueAt }: OwedBudgetAlert,
  lesser: readonly number[],
): Promise<boolean> {
  if (lesser.length > 0) session.send(NOTE_LESSER, [instanceId, month, lesser]);
  return (await session.execute(NOTE, [instanceId, month, percent, body, retried, dueAt])) === 1;
}

/** Earliest first. */
export async function dueBudgetAlerts(session: Session, before: number, limit: number): Promise<readonly OwedBudgetAlert[]> {
  return (await session.query(SELECT_DUE, [before, limit])).map(alertOf);
}

/** Null when none is due later. */
export async function nextBudgetAlertAt(session: Session, after: number): Promise<number | null> {
  const [row] = await session.query(SELECT_NEXT, [after]);
  return row ? integerOrNull(row, 'due_at') : null;
}

/** `dueAt` null: it is not owed any more. */
export async function moveBudgetAlert(
  session: TransactionSession,
  { instanceId, month, percent }: BudgetAlertId,
  retried: number,
  dueAt: number | null,
): Promise<void> {
  await session.execute(MOVE, [instanceId, month, percent, retried, dueAt]);
}
