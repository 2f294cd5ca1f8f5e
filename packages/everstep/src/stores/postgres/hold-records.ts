/** Destinations that an instance holds back. */
import type { DestinationHold } from '../../engine/run.js';
import type { StoreWrite } from '../../ports/store.js';
import type { Session, TransactionSession } from './connection.js';

export type HoldWrite = Extract<StoreWrite, { readonly kind: 'set-hold' }>;

/** All of a batch, in their order. Sends them, and waits for nothing. */
export function writeHolds(_session: TransactionSession, _writes: readonly HoldWrite[]): void {
  throw new Error('not built yet');
}

/** In the order of the origins. */
export async function listHolds(_session: Session, _instanceId: string): Promise<readonly DestinationHold[]> {
  throw new Error('not built yet');
}
