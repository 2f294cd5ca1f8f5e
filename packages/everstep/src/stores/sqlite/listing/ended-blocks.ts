/**
 * For each block of 4,096 row numbers, the number of rows that retention may remove, and the time when the first of them ended. A
 * search that finds nothing therefore never reads the same rows again.
 */
import type { RetentionState } from '../../../engine/runs/run.js';
import { blockOf } from './facets/block-set.js';

export interface BlockFacts {
  readonly rows: number;
  /** Time when the first row ended, Unix ms; infinite if there are no rows. */
  readonly firstEndedAt: number;
}

export class EndedBlocks {
  private readonly factsByState = new Map<string, Map<number, BlockFacts>>();

  find(tenant: number, state: RetentionState, block: number): BlockFacts | undefined {
    return this.factsByState.get(key(tenant, state))?.get(block);
  }

  remember(tenant: number, state: RetentionState, block: number, facts: BlockFacts): void {
    let blocks = this.factsByState.get(key(tenant, state));
    if (!blocks) {
      blocks = new Map();
      this.factsByState.set(key(tenant, state), blocks);
    }
    blocks.set(block, facts);
  }

  /** Must be called for each row that enters or leaves the state: a run, or an entry of the DLQ for `deadLetter`. */
  recordChange(tenant: number, state: RetentionState, seq: number): void {
    if (this.factsByState.size > 0) this.factsByState.get(key(tenant, state))?.delete(blockOf(seq));
  }
}

const key = (tenant: number, state: RetentionState): string => `${tenant} ${state}`;
