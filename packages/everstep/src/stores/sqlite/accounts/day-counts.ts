/** The day counts of the embedded store, and the removal of days that are no longer read. */
import type { StatementSync } from 'node:sqlite';
import { type CountOfDay, DAYS_KEPT } from '../../../ports/stores/account-store.js';
import { DAY_MS, REMOVED_AT_ONCE } from '../../shared/accounts/day-counts.js';
import type { UnsettledSums } from '../commit/unsettled-sums.js';
import type { Connection } from '../connection/connection.js';

export class DayCounts {
  private readonly sums: UnsettledSums;
  private readonly deleteOldDays: StatementSync;
  private today = Number.NEGATIVE_INFINITY;
  /** Days before this one were removed. */
  private firstKeptDay = Number.NEGATIVE_INFINITY;

  constructor(connection: Connection, sums: UnsettledSums) {
    this.sums = sums;
    this.deleteOldDays = connection.prepare(
      `DELETE FROM day_count WHERE (instance_id, day, what) IN
         (SELECT instance_id, day, what FROM day_count WHERE day < ? ORDER BY day LIMIT ${REMOVED_AT_ONCE})`,
    );
  }

  /** Adds a count, which the end of the transaction writes. Requires an open transaction. `at` is Unix ms. */
  add({ instanceId, what, count, at }: Omit<CountOfDay, 'kind'>): void {
    if (count === 0) return;
    const day = Math.floor(at / DAY_MS);
    this.today = Math.max(this.today, day);
    this.sums.add('day_count', [instanceId, day, what], [count], at);
  }

  /** Removes some of the old days. */
  removeOldDays(): void {
    const firstKeptDay = this.today - DAYS_KEPT;
    if (firstKeptDay <= this.firstKeptDay) return;
    this.sums.settle();
    if (this.deleteOldDays.run(firstKeptDay).changes < REMOVED_AT_ONCE) this.firstKeptDay = firstKeptDay;
  }

  /** Forgets which days were removed, because a rollback may have undone the removal. */
  forget(): void {
    this.today = Number.NEGATIVE_INFINITY;
    this.firstKeptDay = Number.NEGATIVE_INFINITY;
  }
}
