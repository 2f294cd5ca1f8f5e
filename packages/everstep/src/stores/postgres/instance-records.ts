/** What an instance has set for itself, as one JSON text. */
import type { InstanceSettings } from '../../engine/run.js';
import type { StoreWrite } from '../../ports/store.js';
import type { Session, TransactionSession } from './connection.js';

export type SettingsWrite = Extract<StoreWrite, { readonly kind: 'set-instance-settings' }>;

/** All of a batch, in their order. Sends them, and waits for nothing. */
export function writeInstanceSettings(_session: TransactionSession, _writes: readonly SettingsWrite[]): void {
  throw new Error('not built yet');
}

export async function findInstanceSettings(_session: Session, _instanceId: string): Promise<InstanceSettings | null> {
  throw new Error('not built yet');
}
