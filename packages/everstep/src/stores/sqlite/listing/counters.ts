/**
 * Numbers about the whole store that remain when rows are removed. They are cached in memory, and written in the transaction that
 * changes them.
 */
import type { StatementSync } from 'node:sqlite';
import { integer } from '../connection/columns.js';
import type { Connection } from '../connection/connection.js';

/** `late_run_seq` is the highest row number of a run that was created after a run with a higher number. */
export type CounterName = 'latest_time' | 'run_disorder_ms' | 'dead_letter_disorder_ms' | 'late_run_seq';

export class Counters {
  private readonly select: StatementSync;
  private readonly upsert: StatementSync;
  private readonly values = new Map<CounterName, number>();
  private readonly changedNames = new Set<CounterName>();

  constructor(connection: Connection) {
    this.select = connection.prepare('SELECT value FROM counter WHERE name = ?');
    this.upsert = connection.prepare(
      'INSERT INTO counter (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value',
    );
  }

  /** Returns the counter; 0 if it was never set. */
  get(name: CounterName): number {
    let value = this.values.get(name);
    if (value === undefined) {
      const row = this.select.get(name);
      value = row ? integer(row, 'value') : 0;
      this.values.set(name, value);
    }
    return value;
  }

  /** Raises the counter to `value`; never lowers it. */
  raise(name: CounterName, value: number): void {
    if (value <= this.get(name)) return;
    this.values.set(name, value);
    this.changedNames.add(name);
  }

  flush(): void {
    for (const name of this.changedNames) this.upsert.run(name, this.get(name));
    this.changedNames.clear();
  }

  forget(): void {
    this.values.clear();
    this.changedNames.clear();
  }
}
