/** Writes the day counts of a batch at its end, and removes days that are no longer read. */
import type { StatementSync } from 'node:sqlite';
import { type CountOfDay, DAYS_KEPT } from '../../../ports/stores/account-store.js';
import { DaySums, REMOVED_AT_ONCE } from '../../shared/accounts/day-counts.js';
import type { Connection } from '../connection/connection.js';

export class DayCounts {
  private readonly upsert: StatementSync;
  private readonly deleteOld: StatementSync;
  private readonly unwritten = new DaySums();
  /** Days before this one were removed. */
  private keptFrom = Number.NEGATIVE_INFINITY;

  constructor(connection: Connection) {
    this.upsert = connection.prepare(
      `INSERT INTO day_count (instance_id, day, what, count, last_at) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT (instance_id, day, what) DO UPDATE SET
         count = count + excluded.count, last_at = max(last_at, excluded.last_at)`,
    );
    this.deleteOld = connection.prepare(
      `DELETE FROM day_count WHERE (instance_id, day, what) IN
         (SELECT instance_id, day, what FROM day_count WHERE day < ? ORDER BY day LIMIT ${REMOVED_AT_ONCE})`,
    );
  }

  /** Only inside a transaction, whose end writes it. `at` is Unix ms. */
  add(count: Omit<CountOfDay, 'kind'>): void {
    this.unwritten.add(count);
  }

  flush(): void {
    const counts = this.unwritten.take();
    if (counts.length === 0) return;
    let today = Number.NEGATIVE_INFINITY;
    for (const { instanceId, day, what, count, lastAt } of counts) {
      this.upsert.run(instanceId, day, what, count, lastAt);
      today = Math.max(today, day);
    }
    const keptFrom = today - DAYS_KEPT;
    if (keptFrom <= this.keptFrom) return;
    if (this.deleteOld.run(keptFrom).changes < REMOVED_AT_ONCE) this.keptFrom = keptFrom;
  }

  /** Adds these at once, inside a transaction of their own. */
  write(counts: readonly Omit<CountOfDay, 'kind'>[]): void {
    try {
      for (const each of counts) this.add(each);
      this.flush();
    } catch (error) {
      this.forget();
      throw error;
    }
  }

  /** Drops counts that a rollback undid. */
  forget(): void {
    this.unwritten.take();
    this.keptFrom = Number.NEGATIVE_INFINITY;
  }
}
