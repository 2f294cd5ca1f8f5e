/** Writes the daily counts of the embedded store, and removes those of days that are no longer read. */
import type { StatementSync } from 'node:sqlite';
import { DAYS_KEPT, type DailyCount } from '../../../ports/stores/account-store.js';
import { DAY_MS, REMOVED_AT_ONCE } from '../../shared/accounts/day-counts.js';
import type { UnsettledSums } from '../commit/unsettled-sums.js';
import type { Connection } from '../connection/connection.js';

export class DayCounts {
  private readonly sums: UnsettledSums;
  private readonly deleteOldDays: StatementSync;
  private latestDay = Number.NEGATIVE_INFINITY;
  /** The counts of all days before this one were removed. */
  private firstRemainingDay = Number.NEGATIVE_INFINITY;

  constructor(connection: Connection, sums: UnsettledSums) {
    this.sums = sums;
    this.deleteOldDays = connection.prepare(
      `DELETE FROM day_count WHERE (instance_id, day, what) IN
         (SELECT instance_id, day, what FROM day_count WHERE day < ? ORDER BY day LIMIT ${REMOVED_AT_ONCE})`,
    );
  }

  /** Adds a count, which is written at the end of the transaction. Requires an open transaction. `at` is Unix ms. */
  add({ instanceId, what, count, at }: Omit<DailyCount, 'kind'>): void {
    if (count === 0) return;
    const day = Math.floor(at / DAY_MS);
    this.latestDay = Math.max(this.latestDay, day);
    this.sums.add('day_count', [instanceId, day, what], [count], at);
  }

  /** Removes some of the counts of days that are no longer read. */
  removeOldDays(): void {
    const firstReadDay = this.latestDay - DAYS_KEPT;
    if (firstReadDay <= this.firstRemainingDay) return;
    this.sums.settle();
    if (this.deleteOldDays.run(firstReadDay).changes < REMOVED_AT_ONCE) this.firstRemainingDay = firstReadDay;
  }

  /** Forgets which days were removed, because a rollback may have undone the removal. */
  forget(): void {
    this.latestDay = Number.NEGATIVE_INFINITY;
    this.firstRemainingDay = Number.NEGATIVE_INFINITY;
  }
}
