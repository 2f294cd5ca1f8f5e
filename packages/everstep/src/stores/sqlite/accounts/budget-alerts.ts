/** Alerts of budgets: what was reached in a month, and which of it the owner is still to be told. */
import type { StatementSync } from 'node:sqlite';
import type { BudgetAlertId, PendingBudgetAlert } from '../../../ports/stores/account-store.js';
import { integer, integerOrNull, type Row, text } from '../connection/columns.js';
import type { Connection } from '../connection/connection.js';

const alertOf = (row: Row): PendingBudgetAlert => ({
  instanceId: text(row, 'instance_id'),
  month: text(row, 'month'),
  percent: integer(row, 'percent'),
  body: text(row, 'body'),
  retried: integer(row, 'retried'),
  dueAt: integer(row, 'due_at'),
});

export class BudgetAlertRows {
  private readonly insert: StatementSync;
  private readonly select: StatementSync;
  private readonly selectDue: StatementSync;
  private readonly selectNext: StatementSync;
  private readonly update: StatementSync;
  private readonly deletePast: StatementSync;
  private readonly deleteAll: StatementSync;

  constructor(connection: Connection) {
    this.insert = connection.prepare(
      `INSERT INTO budget_alert (instance_id, month, percent, body, retried, due_at) VALUES (?, ?, ?, ?, ?, ?)
       ON CONFLICT (instance_id, month, percent) DO NOTHING`,
    );
    this.select = connection.prepare('SELECT 1 FROM budget_alert WHERE instance_id = ? AND month = ? AND percent = ?');
    this.selectDue = connection.prepare('SELECT * FROM budget_alert WHERE due_at <= ? ORDER BY due_at LIMIT ?');
    this.selectNext = connection.prepare('SELECT min(due_at) AS due_at FROM budget_alert WHERE due_at > ?');
    this.update = connection.prepare(
      `UPDATE budget_alert SET retried = ?, due_at = ?
       WHERE instance_id = ? AND month = ? AND percent = ? AND body = ? AND due_at = ?`,
    );
    this.deletePast = connection.prepare('DELETE FROM budget_alert WHERE month < ? AND due_at IS NULL');
    this.deleteAll = connection.prepare('DELETE FROM budget_alert WHERE instance_id = ?');
  }

  isNoted({ instanceId, month, percent }: BudgetAlertId): boolean {
    return this.select.get(instanceId, month, percent) !== undefined;
  }

  /** Only inside a transaction. False when it was noted before. */
  note({ instanceId, month, percent, body, retried, dueAt }: PendingBudgetAlert, lesser: readonly number[]): boolean {
    this.deletePast.run(month);
    for (const each of lesser) this.insert.run(instanceId, month, each, '', 0, null);
    return this.insert.run(instanceId, month, percent, body, retried, dueAt).changes === 1;
  }

  /** Earliest first. */
  due(before: number, limit: number): readonly PendingBudgetAlert[] {
    return this.selectDue.all(before, limit).map(alertOf);
  }

  nextAt(after: number): number | null {
    const row = this.selectNext.get(after);
    return row ? integerOrNull(row, 'due_at') : null;
  }

  /** `dueAt` null: it is not owed any more. False when it is not as it was read: it was forgotten, and another noted. */
  move(alert: PendingBudgetAlert, retried: number, dueAt: number | null): boolean {
    const { instanceId, month, percent, body } = alert;
    return this.update.run(retried, dueAt, instanceId, month, percent, body, alert.dueAt).changes === 1;
  }

  /** Only inside a transaction. */
  forget(instanceId: string): void {
    this.deleteAll.run(instanceId);
  }
}
