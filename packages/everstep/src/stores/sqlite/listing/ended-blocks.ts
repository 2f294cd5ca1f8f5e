/**
 * What is known of the rows that may go one day, by block of 4,096 row
 * numbers: how many they are and when the first of them ended. So a search
 * that finds nothing looks at no rows that it has looked at before.
 */
import type { RetentionState } from '../../../engine/runs/run.js';
import { blockOf } from './facets/block-set.js';

export interface BlockFacts {
  readonly rows: number;
  /** Unix ms; infinite when there are no rows. */
  readonly earliest: number;
}

export class EndedBlocks {
  private readonly known = new Map<string, Map<number, BlockFacts>>();

  find(tenant: number, state: RetentionState, block: number): BlockFacts | undefined {
    return this.known.get(key(tenant, state))?.get(block);
  }

  remember(tenant: number, state: RetentionState, block: number, facts: BlockFacts): void {
    let blocks = this.known.get(key(tenant, state));
    if (!blocks) {
      blocks = new Map();
      this.known.set(key(tenant, state), blocks);
    }
    blocks.set(block, facts);
  }

  /** To be told of each row that begins or ceases to be in the state: a run, or an entry of the DLQ for `deadLetter`. */
  changed(tenant: number, state: RetentionState, seq: number): void {
    if (this.known.size > 0) this.known.get(key(tenant, state))?.delete(blockOf(seq));
  }
}

const key = (tenant: number, state: RetentionState): string => `${tenant} ${state}`;
