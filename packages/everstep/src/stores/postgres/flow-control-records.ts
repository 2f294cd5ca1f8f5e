/** Flow control keys: their limits, whether they are paused or pinned, and the rate window under way. */
import type { FlowControlState } from '../../engine/run.js';
import type { StoreWrite } from '../../ports/store.js';
import type { Session, TransactionSession } from './connection.js';

export type FlowControlWrite = Extract<
  StoreWrite,
  { readonly kind: 'put-flow-control' | 'set-flow-control' | 'set-flow-window' }
>;

/** All of a batch, in their order. Sends them, and waits for nothing. */
export function writeFlowControls(_session: TransactionSession, _writes: readonly FlowControlWrite[]): void {
  throw new Error('not built yet');
}

/** In the order of the keys. */
export async function listFlowControls(_session: Session, _instanceId: string): Promise<readonly FlowControlState[]> {
  throw new Error('not built yet');
}

export async function findFlowControl(_session: Session, _instanceId: string, _key: string): Promise<FlowControlState | null> {
  throw new Error('not built yet');
}
