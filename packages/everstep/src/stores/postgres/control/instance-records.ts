/** What an instance has set for itself, as one JSON text. */
import type { InstanceSettings } from '../../../engine/runs/run.js';
import type { StoreWrite } from '../../../ports/stores/store.js';
import { json } from '../connection/columns.js';
import { type Session, statement, type TransactionSession } from '../connection/connection.js';

export type SettingsWrite = Extract<StoreWrite, { readonly kind: 'set-instance-settings' }>;

const PUT = statement(`
  INSERT INTO instance_settings (instance_id, settings)
  SELECT * FROM unnest($1::text[], $2::text[]) AS w (instance_id, settings) ORDER BY w.instance_id
  ON CONFLICT (instance_id) DO UPDATE SET settings = excluded.settings`);
const SELECT = statement('SELECT settings FROM instance_settings WHERE instance_id = $1');

/** All of a batch, in their order. Sends them, and waits for nothing. */
export function writeInstanceSettings(session: TransactionSession, writes: readonly SettingsWrite[]): void {
  const last = [...new Map(writes.map((write) => [write.instanceId, write])).values()];
  if (last.length === 0) return;
  session.send(PUT, [last.map(({ instanceId }) => instanceId), last.map(({ settings }) => JSON.stringify(settings))]);
}

/** Null when it has set nothing. */
export async function findInstanceSettings(session: Session, instanceId: string): Promise<InstanceSettings | null> {
  const [row] = await session.query(SELECT, [instanceId]);
  return row ? json<InstanceSettings>(row, 'settings') : null;
}
