/** Records of queue instances that were deleted. */
import type { DeletedInstance } from '../../../ports/stores/accounts/deleted-instances.js';
import { alertSettingsName } from '../../../ports/stores/alerts/alert-store.js';
import { ofInstance } from '../sql/dialect.js';
import { type Procedure, row, rows, send } from '../sql/procedure.js';
import { raw, sql } from '../sql/sql.js';
import { NUMBER, nullable, TEXT, table } from '../sql/table.js';

const DELETED_INSTANCE = table<DeletedInstance>('deleted_instance', {
  instanceId: TEXT,
  accountId: nullable(TEXT),
  name: TEXT,
  region: TEXT,
  createdAt: NUMBER,
  deletedAt: NUMBER,
  emptiedAt: nullable(NUMBER),
});

/** Deletes the instance and notes its deletion. Returns false if there is no such instance. */
export function* deleteInstance(instanceId: string, at: number): Procedure<boolean> {
  const deletedRow = yield* row(sql`DELETE FROM queue_instance WHERE instance_id = ${instanceId} RETURNING *`);
  if (!deletedRow) return false;
  yield* send(DELETED_INSTANCE.insert(DELETED_INSTANCE.read({ ...deletedRow, deleted_at: at, emptied_at: null })));
  for (const table of ['token', 'named_token', 'budget_alert'])
    yield* send(sql`DELETE FROM ${raw(table)} WHERE instance_id = ${instanceId}`);
  yield* send(sql`DELETE FROM secret WHERE name = ${alertSettingsName(instanceId)}`);
  yield* send(sql`DELETE FROM schedule WHERE ${ofInstance(instanceId)}`);
  yield* send(sql`
    UPDATE repair SET wake_at = NULL, version = version + 1 WHERE ${ofInstance(instanceId)} AND wake_at IS NOT NULL`);
  return true;
}

export function* listDeletedInstances(): Procedure<readonly DeletedInstance[]> {
  return (yield* rows(sql`SELECT * FROM deleted_instance ORDER BY instance_id`)).map(DELETED_INSTANCE.read);
}

export const markEmptied = (instanceId: string, at: number): Procedure<void> =>
  send(sql`UPDATE deleted_instance SET emptied_at = ${at} WHERE instance_id = ${instanceId} AND emptied_at IS NULL`);

export const removeDeletedInstance = (instanceId: string): Procedure<void> =>
  send(sql`DELETE FROM deleted_instance WHERE instance_id = ${instanceId}`);
