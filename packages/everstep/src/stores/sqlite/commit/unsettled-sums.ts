/**
 * Sums that change in nearly every commit: billed messages, counts of days, stored bytes. Until they are added to their tables,
 * they are in the row that counts the commits, which every commit writes. A commit therefore writes one page for all of them.
 */
import type { StatementSync } from 'node:sqlite';
import { textOrNull } from '../connection/columns.js';
import type { Connection } from '../connection/connection.js';

/** Maximum length of the sums as text, so that they fit into one page with their row. */
const MAX_TEXT_LENGTH = 900;
/** Maximum number of commits after which sums are added to their tables. */
const MAX_COMMITS = 200;

type KeyValues = readonly (string | number)[];

/** The statements have the key columns as their first parameters, and then the amounts. */
const UPSERTS = {
  usage: `INSERT INTO usage (instance_id, month, account_id, price, messages) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT (instance_id, month, account_id, price) DO UPDATE SET messages = messages + excluded.messages`,
  day_count: `INSERT INTO day_count (instance_id, day, what, last_at, count) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT (instance_id, day, what) DO UPDATE SET last_at = max(last_at, excluded.last_at), count = count + excluded.count`,
  instance_totals: `INSERT INTO instance_totals (tenant, bytes, active_runs) VALUES (?, ?, ?)
    ON CONFLICT (tenant) DO UPDATE SET bytes = bytes + excluded.bytes, active_runs = active_runs + excluded.active_runs`,
};
export type SummedTable = keyof typeof UPSERTS;

/** SQL: the unsettled sums of a store, one row each. `key` and `amounts` are JSON arrays. */
export const UNSETTLED_SUMS = `
  SELECT s.value ->> 0 AS summed, s.value -> 1 AS key, s.value ->> 2 AS last_at, s.value -> 3 AS amounts
  FROM counter c, json_each(iif(c.sums = '', '[]', c.sums)) s WHERE c.name = 'commits' AND c.sums IS NOT NULL`;

interface Sum {
  readonly table: SummedTable;
  readonly key: KeyValues;
  /** The latest time of the added amounts; null if the table has no times. */
  lastAt: number | null;
  readonly amounts: number[];
}

export class UnsettledSums {
  private readonly connection: Connection;
  private readonly select: StatementSync;
  private readonly upserts: ReadonlyMap<SummedTable, StatementSync>;
  /** Unsettled sums; null if they are not read yet, or a rollback may have undone some of them. */
  private sums: Map<string, Sum> | null = null;
  private hasChanges = false;
  private commitsSinceSettled = 0;

  constructor(connection: Connection) {
    this.connection = connection;
    this.select = connection.prepare("SELECT sums FROM counter WHERE name = 'commits'");
    const prepareUpsert = (table: SummedTable) => [table, connection.prepare(UPSERTS[table])] as const;
    this.upserts = new Map([prepareUpsert('usage'), prepareUpsert('day_count'), prepareUpsert('instance_totals')]);
  }

  get isEmpty(): boolean {
    return this.read().size === 0;
  }

  /** Adds amounts to a sum. Requires an open transaction. `amounts` are the columns after the key and the time. */
  add(table: SummedTable, key: KeyValues, amounts: readonly number[], lastAt: number | null = null): void {
    const sums = this.read();
    const sumKey = `${table} ${key.join('\n')}`;
    const sum = sums.get(sumKey);
    if (!sum) sums.set(sumKey, { table, key, lastAt, amounts: [...amounts] });
    else {
      for (const [index, amount] of amounts.entries()) sum.amounts[index] = (sum.amounts[index] ?? 0) + amount;
      if (lastAt !== null) sum.lastAt = Math.max(lastAt, sum.lastAt ?? lastAt);
    }
    this.hasChanges = true;
  }

  /** Counts the open transaction, immediately before it commits, and writes the sums with the count. */
  countCommit(): void {
    if (!this.hasChanges) {
      this.connection.countCommit();
      return;
    }
    let text = this.serialize();
    if (text.length > MAX_TEXT_LENGTH || ++this.commitsSinceSettled >= MAX_COMMITS) {
      this.settle();
      text = this.serialize();
    }
    this.connection.countCommit(text);
    this.hasChanges = false;
  }

  /** Adds the sums to their tables. Requires an open transaction. */
  settle(): void {
    const sums = this.read();
    if (sums.size === 0) return;
    for (const { table, key, lastAt, amounts } of sums.values())
      if (amounts.some((amount) => amount !== 0))
        this.upserts.get(table)?.run(...key, ...(lastAt === null ? [] : [lastAt]), ...amounts);
    sums.clear();
    this.commitsSinceSettled = 0;
    this.hasChanges = true;
  }

  /** Discards state that a rollback may have undone. */
  forget(): void {
    this.sums = null;
    this.hasChanges = false;
  }

  private serialize(): string {
    const sums = [...this.read().values()];
    return sums.length === 0 ? '' : JSON.stringify(sums.map(({ table, key, lastAt, amounts }) => [table, key, lastAt, amounts]));
  }

  private read(): Map<string, Sum> {
    if (this.sums) return this.sums;
    const row = this.select.get();
    const text = (row && textOrNull(row, 'sums')) || '[]';
    // `serialize` has written the JSON.
    const storedSums = JSON.parse(text) as [SummedTable, KeyValues, number | null, number[]][];
    this.sums = new Map(
      storedSums.map(([table, key, lastAt, amounts]) => [`${table} ${key.join('\n')}`, { table, key, lastAt, amounts }]),
    );
    return this.sums;
  }
}
