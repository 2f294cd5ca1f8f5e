/**
 * Sources of the rows of a query: each source knows which rows it has, block by block. A query is the intersection of its
 * sources.
 */
import type { StatementSync } from 'node:sqlite';
import { integer, text, textOrNull } from '../../connection/columns.js';
import type { Connection } from '../../connection/connection.js';
import { BLOCK_WORDS, blockOf, offsetOf, orHexadecimal } from './block-set.js';
import type { Facet } from './facets.js';

/** Limits of a search by prefix. Beyond them, the caller tests rows instead. */
export interface PrefixLimits {
  /** Maximum number of values that are looked up one by one. */
  readonly values: number;
  /** Maximum number of index rows that are read at once if there are more values. */
  readonly rows: number;
}

export const PREFIX_LIMITS: PrefixLimits = Object.freeze({ values: 500, rows: 50_000 });

/** Greater than every character in a value. */
const LAST_CHARACTER = '\u{10ffff}';

export type Direction = 'up' | 'down';

export interface Members {
  /** Estimated work of reading the source. Sources with less work are read first. */
  readonly work: number;
  /** Returns the nearest block with rows, from `block` on (inclusive); null if there is none. Must be called in one direction. */
  seek(block: number): number | null;
  /** Sets the bits of the rows of the blocks `first` to `last` in `window`, where `first` starts at word 0. */
  load(window: Uint32Array, first: number, last: number): void;
}

/** A source whose rows are in memory, by block. */
class MembersInMemory implements Members {
  readonly work = 0;
  private readonly direction: Direction;
  private readonly blocks = new Map<number, Uint32Array>();
  private sortedBlocks: readonly number[] | null = null;

  constructor(direction: Direction) {
    this.direction = direction;
  }

  /** Returns the bitmap of the block, which must be filled before the walk starts. */
  block(block: number): Uint32Array {
    let words = this.blocks.get(block);
    if (!words) {
      words = new Uint32Array(BLOCK_WORDS);
      this.blocks.set(block, words);
    }
    return words;
  }

  seek(from: number): number | null {
    const isUp = this.direction === 'up';
    this.sortedBlocks ??= [...this.blocks.keys()].sort((a, b) => (isUp ? a - b : b - a));
    return this.sortedBlocks.find((block) => (isUp ? block >= from : block <= from)) ?? null;
  }

  load(window: Uint32Array, first: number, last: number): void {
    for (const [block, words] of this.blocks) {
      if (block >= first && block <= last) window.set(words, (block - first) * BLOCK_WORDS);
    }
  }
}

/** Returns a source of rows by their numbers. */
export function membersFromSeqs(seqs: readonly number[], direction: Direction): Members {
  const members = new MembersInMemory(direction);
  for (const seq of seqs) {
    const offset = offsetOf(seq);
    const words = members.block(blockOf(seq));
    words[offset >> 5] = (words[offset >> 5] ?? 0) | (1 << (offset & 31));
  }
  return members;
}

export class FacetReader {
  private readonly prefixLimits: PrefixLimits;
  private readonly selectBlocks: StatementSync;
  private readonly seekUp: StatementSync;
  private readonly seekDown: StatementSync;
  private readonly selectPrefix: StatementSync;
  private readonly selectNextValue: StatementSync;

  constructor(connection: Connection, prefixLimits: PrefixLimits = PREFIX_LIMITS) {
    this.prefixLimits = prefixLimits;
    const valueKey = 'tenant = ? AND facet = ? AND value = ?';
    // The statement returns one row instead of one per block: returning a row costs more than reading its members.
    this.selectBlocks = connection.prepare(
      `SELECT group_concat(block || ':' || hex(members)) AS blocks FROM facet WHERE ${valueKey} AND block BETWEEN ? AND ?`,
    );
    this.seekUp = connection.prepare(`SELECT block FROM facet WHERE ${valueKey} AND block >= ? ORDER BY block LIMIT 1`);
    this.seekDown = connection.prepare(`SELECT block FROM facet WHERE ${valueKey} AND block <= ? ORDER BY block DESC LIMIT 1`);
    this.selectPrefix = connection.prepare(
      `SELECT count(*) AS rows, group_concat(block || ':' || hex(members)) AS blocks FROM
         (SELECT block, members FROM facet WHERE tenant = ? AND facet = ? AND value >= ? AND value < ? LIMIT ?)`,
    );
    this.selectNextValue = connection.prepare(
      'SELECT value FROM facet WHERE tenant = ? AND facet = ? AND value > ? ORDER BY value LIMIT 1',
    );
  }

  /** Returns a source of the rows that have any of the values. */
  anyOf(tenant: number, facet: Facet, values: readonly string[], direction: Direction): Members {
    const seekStatement = direction === 'up' ? this.seekUp : this.seekDown;
    const isBehind = (block: number, from: number) => (direction === 'up' ? block < from : block > from);
    // For each value, the block that the last seek found, which is valid until the walk has passed it.
    const entries = [...new Set(values)].map((value) => ({ value, foundBlock: null as number | null }));
    return {
      work: entries.length,
      seek(from) {
        let nearestBlock: number | null = null;
        for (let i = entries.length - 1; i >= 0; i--) {
          const entry = entries[i];
          if (!entry) continue;
          if (entry.foundBlock === null || isBehind(entry.foundBlock, from)) {
            const row = seekStatement.get(tenant, facet, entry.value, from);
            if (!row) {
              entries.splice(i, 1);
              continue;
            }
            entry.foundBlock = integer(row, 'block');
          }
          // Nothing is nearer, so the other values need not be read.
          if (entry.foundBlock === from) return from;
          if (nearestBlock === null || isBehind(entry.foundBlock, nearestBlock)) nearestBlock = entry.foundBlock;
        }
        return nearestBlock;
      },
      load: (window, first, last) => {
        for (const { value, foundBlock } of entries) {
          const isBeyond = foundBlock !== null && (direction === 'up' ? foundBlock > last : foundBlock < first);
          if (isBeyond) continue;
          const row = this.selectBlocks.get(tenant, facet, value, first, last);
          forEachBlock((row && textOrNull(row, 'blocks')) ?? '', (block, blocks, start, end) => {
            orHexadecimal(blocks, start, end, window, (block - first) * BLOCK_WORDS);
          });
        }
      },
    };
  }

  /** Returns a source of the rows with a value that begins with `prefix`; null if there are too many values and blocks. */
  withPrefix(tenant: number, facet: Facet, prefix: string, direction: Direction): Members | null {
    const values = this.valuesWithPrefix(tenant, facet, prefix);
    return values ? this.anyOf(tenant, facet, values, direction) : this.readPrefix(tenant, facet, prefix, direction);
  }

  /** Returns the values with the prefix; null if there are more than the limit. */
  private valuesWithPrefix(tenant: number, facet: Facet, prefix: string): readonly string[] | null {
    const values: string[] = [];
    let value = this.valueAtOrAfter(tenant, facet, prefix);
    while (value?.startsWith(prefix)) {
      if (values.length === this.prefixLimits.values) return null;
      values.push(value);
      value = this.valueAfter(tenant, facet, value);
    }
    return values;
  }

  private readPrefix(tenant: number, facet: Facet, prefix: string, direction: Direction): Members | null {
    const limit = this.prefixLimits.rows;
    const row = this.selectPrefix.get(tenant, facet, prefix, prefix + LAST_CHARACTER, limit + 1);
    if (!row || integer(row, 'rows') > limit) return null;
    const members = new MembersInMemory(direction);
    forEachBlock(textOrNull(row, 'blocks') ?? '', (block, blocks, start, end) => {
      orHexadecimal(blocks, start, end, members.block(block), 0);
    });
    return members;
  }

  private valueAtOrAfter(tenant: number, facet: Facet, value: string): string | null {
    return this.seekUp.get(tenant, facet, value, 0) ? value : this.valueAfter(tenant, facet, value);
  }

  private valueAfter(tenant: number, facet: Facet, value: string): string | null {
    const row = this.selectNextValue.get(tenant, facet, value);
    return row ? text(row, 'value') : null;
  }
}

/** Reads blocks in the form `number:members`, with the members in hexadecimal, separated by commas. */
function forEachBlock(blocks: string, handle: (block: number, blocks: string, start: number, end: number) => void): void {
  for (let start = 0; start < blocks.length; ) {
    const colon = blocks.indexOf(':', start);
    const comma = blocks.indexOf(',', colon);
    const end = comma < 0 ? blocks.length : comma;
    handle(Number(blocks.slice(start, colon)), blocks, colon + 1, end);
    start = end + 1;
  }
}
