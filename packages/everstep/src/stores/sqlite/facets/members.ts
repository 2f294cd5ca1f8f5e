/**
 * Where the rows of a query come from: each source knows which rows it has,
 * block by block. A query is the intersection of its sources.
 */
import type { StatementSync } from 'node:sqlite';
import { bytes, integer, text } from '../columns.js';
import type { Connection } from '../connection.js';
import { BLOCK_WORDS, blockOf, offsetOf, orEncoded } from './block-set.js';
import type { Facet } from './facets.js';

export type Direction = 'up' | 'down';

export interface Members {
  /** Sources of less work are asked first. */
  readonly work: number;
  /** The nearest block with rows, from `block` on (itself included); null when there is none. Asked in one direction only. */
  seek(block: number): number | null;
  /** Sets the bits of the rows of the blocks `first` to `last` in `window`, where `first` begins at word 0. */
  load(window: Uint32Array, first: number, last: number): void;
}

/** Rows that were named one by one. */
export function namedMembers(seqs: readonly number[], direction: Direction): Members {
  const blocks = [...new Set(seqs.map(blockOf))].sort((a, b) => (direction === 'up' ? a - b : b - a));
  return {
    work: 0,
    seek: (from) => blocks.find((block) => (direction === 'up' ? block >= from : block <= from)) ?? null,
    load(window, first, last) {
      for (const seq of seqs) {
        const block = blockOf(seq);
        if (block < first || block > last) continue;
        const offset = offsetOf(seq);
        const word = (block - first) * BLOCK_WORDS + (offset >> 5);
        window[word] = (window[word] ?? 0) | (1 << (offset & 31));
      }
    },
  };
}

export class FacetReader {
  private readonly selectBlocks: StatementSync;
  private readonly seekUp: StatementSync;
  private readonly seekDown: StatementSync;
  private readonly nextValue: StatementSync;

  constructor(connection: Connection) {
    const value = 'tenant = ? AND facet = ? AND value = ?';
    this.selectBlocks = connection.prepare(`SELECT block, members FROM facet WHERE ${value} AND block BETWEEN ? AND ?`);
    this.seekUp = connection.prepare(`SELECT block FROM facet WHERE ${value} AND block >= ? ORDER BY block LIMIT 1`);
    this.seekDown = connection.prepare(`SELECT block FROM facet WHERE ${value} AND block <= ? ORDER BY block DESC LIMIT 1`);
    this.nextValue = connection.prepare(
      'SELECT value FROM facet WHERE tenant = ? AND facet = ? AND value > ? ORDER BY value LIMIT 1',
    );
  }

  /** Rows that have any of the values. */
  anyOf(tenant: number, facet: Facet, values: readonly string[], direction: Direction): Members {
    const seekStatement = direction === 'up' ? this.seekUp : this.seekDown;
    const isBehind = (block: number, from: number) => (direction === 'up' ? block < from : block > from);
    // Per value, the nearest block that was found last: valid until the walk has passed it.
    const open = [...new Set(values)].map((value) => ({ value, nearest: null as number | null }));
    return {
      work: open.length,
      seek(from) {
        let found: number | null = null;
        for (let i = open.length - 1; i >= 0; i--) {
          const entry = open[i];
          if (!entry) continue;
          if (entry.nearest === null || isBehind(entry.nearest, from)) {
            const row = seekStatement.get(tenant, facet, entry.value, from);
            if (!row) {
              open.splice(i, 1);
              continue;
            }
            entry.nearest = integer(row, 'block');
          }
          if (found === null || isBehind(entry.nearest, found)) found = entry.nearest;
        }
        return found;
      },
      load: (window, first, last) => {
        for (const { value, nearest } of open) {
          const isBeyond = direction === 'up' ? nearest !== null && nearest > last : nearest !== null && nearest < first;
          if (isBeyond) continue;
          for (const row of this.selectBlocks.all(tenant, facet, value, first, last)) {
            orEncoded(bytes(row, 'members'), window, (integer(row, 'block') - first) * BLOCK_WORDS);
          }
        }
      },
    };
  }

  /** The values that begin with `prefix`, in order; null when they are more than `limit`. */
  valuesWithPrefix(tenant: number, facet: Facet, prefix: string, limit: number): readonly string[] | null {
    const values: string[] = [];
    // The prefix itself is a value too: it is asked for like every other, so start just before it.
    let row = this.valueAtOrBehind(tenant, facet, prefix);
    while (row?.startsWith(prefix)) {
      if (values.length === limit) return null;
      values.push(row);
      row = this.valueBehind(tenant, facet, row);
    }
    return values;
  }

  private valueAtOrBehind(tenant: number, facet: Facet, value: string): string | null {
    return this.seekUp.get(tenant, facet, value, 0) ? value : this.valueBehind(tenant, facet, value);
  }

  private valueBehind(tenant: number, facet: Facet, value: string): string | null {
    const row = this.nextValue.get(tenant, facet, value);
    return row ? text(row, 'value') : null;
  }
}
