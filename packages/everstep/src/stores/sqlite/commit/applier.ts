/** Applies the writes of one aggregate. */

import type { Aggregate } from '../../../engine/writes/facts.js';
import type { WriteOf } from '../../../engine/writes.js';

export interface Applier<Write> {
  /** Applies the write. Throws if the write is invalid. */
  apply(write: Write): void;
}

/** One applier per aggregate. A missing one is a compile error. */
export type Appliers = { readonly [Name in Aggregate]: Applier<WriteOf<Name>> };
