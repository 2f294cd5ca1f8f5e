/** Messages that instances are billed for. */
import type { StoreWrite } from '../../ports/store.js';
import type { TransactionSession } from './connection.js';

export type UsageWrite = Extract<StoreWrite, { readonly kind: 'count-messages' }>;

/** All of a batch, to whoever owns the instances now. Sends them, and waits for nothing. */
export function countMessages(_session: TransactionSession, _writes: readonly UsageWrite[]): void {
  throw new Error('not built yet');
}
