/**
 * Counts the commits of a database, each in the transaction that it ends, and stores the random id that the database shares with
 * its durable mark.
 */
import { randomInt } from 'node:crypto';
import type { DatabaseSync, StatementSync } from 'node:sqlite';

const ID_DIGITS = 12;
const COMMITS = 'commits';
const STORE_ID = 'store_id';
const SELECT = 'SELECT value FROM counter WHERE name = ?';

const counterOf = (select: StatementSync, name: string): number => Number(select.get(name)?.value ?? 0);

export interface CountedStore {
  /** Id of the store; null if no version of Everstep with a durable mark has opened it. */
  readonly storeId: string | null;
  readonly commits: number;
}

/** Returns the id and the number of commits that a database records: no id and no commits if it has no tables yet. */
export function readCounts(database: DatabaseSync): CountedStore {
  const hasCounters = database.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'counter'").get();
  if (!hasCounters) return { storeId: null, commits: 0 };
  const select = database.prepare(SELECT);
  const id = counterOf(select, STORE_ID);
  const storeId = id === 0 ? null : id.toString(16).padStart(ID_DIGITS, '0');
  return { storeId, commits: counterOf(select, COMMITS) };
}

/** Returns the id of the store, and creates one if it has none. */
export function ensureStoreId(database: DatabaseSync): string {
  database
    .prepare('INSERT INTO counter (name, value) VALUES (?, ?) ON CONFLICT (name) DO NOTHING')
    .run(STORE_ID, randomInt(1, 16 ** ID_DIGITS));
  const { storeId } = readCounts(database);
  if (storeId === null) throw new Error('the store has no id');
  return storeId;
}

export class CommitCount {
  private readonly increment: StatementSync;
  private readonly incrementWithSums: StatementSync;
  private readonly select: StatementSync;

  constructor(database: DatabaseSync) {
    const increment =
      'INSERT INTO counter (name, value, sums) VALUES (?, 1, ?) ON CONFLICT (name) DO UPDATE SET value = value + 1';
    this.increment = database.prepare(increment);
    this.incrementWithSums = database.prepare(`${increment}, sums = excluded.sums`);
    this.select = database.prepare(SELECT);
  }

  /** Counts the transaction that is about to commit, as part of it. `sums` replaces the unsettled sums in the same row. */
  add(sums?: string): void {
    if (sums === undefined) this.increment.run(COMMITS, null);
    else this.incrementWithSums.run(COMMITS, sums);
  }

  /** Number of commits so far. Must be read between transactions. */
  get current(): number {
    return counterOf(this.select, COMMITS);
  }
}
