/**
 * Finds the rows of a time range. Rows have `listed_at`: their creation time, or that of an earlier row if that is later.
 * `listed_at` therefore never decreases, and a time is found by binary search. The largest deviation of creation times from this
 * order (`disorder`) is stored, so that a range of rows can be widened by it and misses nothing. The caller then compares the
 * exact times.
 */
import type { StatementSync } from 'node:sqlite';
import { integer, type Row } from '../connection/columns.js';
import type { Connection } from '../connection/connection.js';
import type { CounterName, Counters } from './counters.js';
import type { SeqRange } from './facets/intersect.js';

export class CreationOrder {
  private readonly counters: Counters;
  private readonly disorderCounter: CounterName;
  private readonly selectFrom: StatementSync;
  private readonly selectNewest: StatementSync;
  private readonly selectCreatedAt: StatementSync;
  private newest: { readonly seq: number; readonly listedAt: number } | null = null;

  constructor(connection: Connection, counters: Counters, table: 'run' | 'dead_letter') {
    this.counters = counters;
    this.disorderCounter = `${table}_disorder_ms`;
    this.selectFrom = connection.prepare(`SELECT seq, listed_at FROM ${table} WHERE seq >= ? ORDER BY seq LIMIT 1`);
    this.selectNewest = connection.prepare(`SELECT seq, listed_at FROM ${table} ORDER BY seq DESC LIMIT 1`);
    this.selectCreatedAt = connection.prepare(`SELECT created_at FROM ${table} WHERE seq = ?`);
  }

  /** Returns the `listed_at` of a new row. `recordAdded` must be called afterwards. */
  nextListedAt(createdAt: number): number {
    const listedAt = Math.max(createdAt, this.newestRow().listedAt);
    this.counters.raise(this.disorderCounter, listedAt - createdAt);
    return listedAt;
  }

  /** Records a new row. A row whose number was reserved earlier does not become the newest. */
  recordAdded(seq: number, listedAt: number): void {
    if (seq > this.newestRow().seq) this.newest = { seq, listedAt };
  }

  /** Returns the largest row number so far, or at least among the existing rows; 0 if there is none. */
  lastSeq(): number {
    return this.newestRow().seq;
  }

  /** Returns rows that may have been created in this time, both ends inclusive, Unix ms. Check each with `isWithin`. */
  range(fromMs: number, toMs: number): SeqRange {
    const to = this.firstListedFrom(toMs + this.counters.get(this.disorderCounter) + 1) - 1;
    return { from: this.firstListedFrom(fromMs), to };
  }

  isWithin(seq: number, fromMs: number, toMs: number): boolean {
    const row = this.selectCreatedAt.get(seq);
    if (!row) return false;
    const createdAt = integer(row, 'created_at');
    return createdAt >= fromMs && createdAt <= toMs;
  }

  /** Discards state that a rollback may have undone. */
  forget(): void {
    this.newest = null;
  }

  private firstListedFrom(ms: number): number {
    let low = 1;
    let high = this.lastSeq() + 1;
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      const row = this.selectFrom.get(middle);
      if (row && integer(row, 'listed_at') < ms) low = integer(row, 'seq') + 1;
      else high = middle;
    }
    return low;
  }

  private newestRow(): { readonly seq: number; readonly listedAt: number } {
    this.newest ??= positionOf(this.selectNewest.get());
    return this.newest;
  }
}

const positionOf = (row: Row | undefined) =>
  row ? { seq: integer(row, 'seq'), listedAt: integer(row, 'listed_at') } : { seq: 0, listedAt: 0 };
