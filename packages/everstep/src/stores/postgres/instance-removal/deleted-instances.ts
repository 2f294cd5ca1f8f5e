/** Records of queue instances that were deleted. */
import type { DeletedInstance } from '../../../ports/stores/accounts/deleted-instances.js';
import { raiseLatestTime } from '../commit/clock-marks.js';
import { integer, integerOrNull, type Row, text, textOrNull } from '../connection/columns.js';
import { type Session, statement, type TransactionSession } from '../connection/connection.js';

const INSERT = statement(`
  WITH gone AS (DELETE FROM queue_instance WHERE instance_id = $1 RETURNING *)
  INSERT INTO deleted_instance (instance_id, account_id, name, region, created_at, deleted_at)
  SELECT instance_id, account_id, name, region, created_at, $2 FROM gone`);
const DELETIONS = ['token', 'named_token', 'budget_alert', 'schedule'].map((table) =>
  statement(`DELETE FROM ${table} WHERE instance_id = $1`),
);
const STOP_REPAIRS = statement(
  'UPDATE repair SET wake_at = NULL, version = version + 1 WHERE instance_id = $1 AND wake_at IS NOT NULL',
);
const SELECT = statement('SELECT * FROM deleted_instance ORDER BY instance_id');
const NOTE_EMPTIED = statement('UPDATE deleted_instance SET emptied_at = $2 WHERE instance_id = $1 AND emptied_at IS NULL');
const FORGET = statement('DELETE FROM deleted_instance WHERE instance_id = $1');

const recordOf = (row: Row): DeletedInstance => ({
  instanceId: text(row, 'instance_id'),
  accountId: textOrNull(row, 'account_id'),
  name: text(row, 'name'),
  region: text(row, 'region'),
  createdAt: integer(row, 'created_at'),
  deletedAt: integer(row, 'deleted_at'),
  emptiedAt: integerOrNull(row, 'emptied_at'),
});

/** False when there is no such instance. */
export async function deleteInstance(session: TransactionSession, instanceId: string, at: number): Promise<boolean> {
  if ((await session.execute(INSERT, [instanceId, at])) !== 1) return false;
  for (const each of [...DELETIONS, STOP_REPAIRS]) session.send(each, [instanceId]);
  // The rows that keep the latest time of the instance are removed.
  raiseLatestTime(session, { instanceId: null, shard: 0 }, at);
  return true;
}

export async function listDeletedInstances(session: Session): Promise<readonly DeletedInstance[]> {
  return (await session.query(SELECT)).map(recordOf);
}

export async function noteEmptied(session: Session, instanceId: string, at: number): Promise<void> {
  await session.execute(NOTE_EMPTIED, [instanceId, at]);
}

export async function forgetDeleted(session: Session, instanceId: string): Promise<void> {
  await session.execute(FORGET, [instanceId]);
}
