/** Records of queue instances that were deleted. What writes is called inside a transaction. */
import type { StatementSync } from 'node:sqlite';
import type { DeletedInstance } from '../../../ports/stores/accounts/deleted-instances.js';
import { integer, integerOrNull, type Row, text, textOrNull } from '../connection/columns.js';
import type { Connection } from '../connection/connection.js';

const recordOf = (row: Row): DeletedInstance => ({
  instanceId: text(row, 'instance_id'),
  accountId: textOrNull(row, 'account_id'),
  name: text(row, 'name'),
  region: text(row, 'region'),
  createdAt: integer(row, 'created_at'),
  deletedAt: integer(row, 'deleted_at'),
  emptiedAt: integerOrNull(row, 'emptied_at'),
});

export class DeletedInstances {
  private readonly insert: StatementSync;
  private readonly deletions: readonly StatementSync[];
  private readonly deleteSchedules: StatementSync;
  private readonly stopRepairs: StatementSync;
  private readonly select: StatementSync;
  private readonly updateEmptied: StatementSync;
  private readonly deleteRecord: StatementSync;

  constructor(connection: Connection) {
    this.insert = connection.prepare(
      `INSERT INTO deleted_instance (instance_id, account_id, name, region, created_at, deleted_at)
       SELECT instance_id, account_id, name, region, created_at, ? FROM queue_instance WHERE instance_id = ?`,
    );
    this.deletions = ['queue_instance', 'token', 'named_token', 'budget_alert'].map((table) =>
      connection.prepare(`DELETE FROM ${table} WHERE instance_id = ?`),
    );
    const tenant = '(SELECT seq FROM tenant WHERE instance_id = ?)';
    this.deleteSchedules = connection.prepare(`DELETE FROM schedule WHERE tenant = ${tenant}`);
    this.stopRepairs = connection.prepare(
      `UPDATE repair SET wake_at = NULL, version = version + 1 WHERE tenant = ${tenant} AND wake_at IS NOT NULL`,
    );
    this.select = connection.prepare('SELECT * FROM deleted_instance ORDER BY instance_id');
    this.updateEmptied = connection.prepare(
      'UPDATE deleted_instance SET emptied_at = ? WHERE instance_id = ? AND emptied_at IS NULL',
    );
    this.deleteRecord = connection.prepare('DELETE FROM deleted_instance WHERE instance_id = ?');
  }

  /** False when there is no such instance. */
  delete(instanceId: string, at: number): boolean {
    if (this.insert.run(at, instanceId).changes !== 1) return false;
    for (const statement of [...this.deletions, this.deleteSchedules, this.stopRepairs]) statement.run(instanceId);
    return true;
  }

  list(): readonly DeletedInstance[] {
    return this.select.all().map(recordOf);
  }

  noteEmptied(instanceId: string, at: number): void {
    this.updateEmptied.run(at, instanceId);
  }

  forget(instanceId: string): void {
    this.deleteRecord.run(instanceId);
  }
}
