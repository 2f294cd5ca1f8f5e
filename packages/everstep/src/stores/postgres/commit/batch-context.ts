/** The state that the appliers of a batch share. Each applier collects the writes of one aggregate and sends them together. */

import type { Aggregate } from '../../../engine/writes/facts.js';
import type { StoreGuard, WriteOf } from '../../../engine/writes.js';
import type { StoredBytes } from '../storage/stored-bytes.js';
import type { BatchState } from './batch-state.js';

export interface BatchContext {
  readonly state: BatchState;
  readonly storedBytes: StoredBytes;
  /** Sends all writes collected so far. Called when the order within the batch would otherwise be lost. */
  flush(): void;
}

/** Applies the writes of one aggregate. */
export interface Applier<Write> {
  /** Applies the write. `guards` are those of its unit. Throws if the write is faulty. */
  apply(write: Write, batch: BatchContext, guards: readonly StoreGuard[]): void;
}

/** One applier per aggregate. A missing one is a compile error. */
export type Appliers = { readonly [Name in Aggregate]: Applier<WriteOf<Name>> };
