/**
 * Writes the day counts of a batch. As with usage, each connection adds to its own rows. Days that are no longer read are removed
 * when a new day starts, in a separate transaction.
 */
import { DAYS_KEPT, type DailyCount } from '../../../ports/stores/account-store.js';
import { DAY_MS, DaySums, REMOVED_AT_ONCE } from '../../shared/accounts/day-counts.js';
import { type Database, statement, type TransactionSession, tableWrite } from '../connection/connection.js';
import { SHARDS } from './usage-counts.js';

const ADD = tableWrite(
  'day_count',
  `INSERT INTO day_count (instance_id, day, what, shard, count, last_at)
  SELECT w.instance_id, w.day, w.what, pg_backend_pid() % ${SHARDS}, w.count, w.last_at
  FROM unnest($1::text[], $2::integer[], $3::text[], $4::bigint[], $5::bigint[]) AS w (instance_id, day, what, count, last_at)
  ORDER BY 1, 2, 3
  ON CONFLICT (instance_id, day, what, shard) DO UPDATE
    SET count = day_count.count + excluded.count, last_at = greatest(day_count.last_at, excluded.last_at)`,
);
/** Removes rows of old days. Skips rows that another process removes at the same time. */
const REMOVE = statement(`
  DELETE FROM day_count WHERE (instance_id, day, what, shard) IN (
    SELECT instance_id, day, what, shard FROM day_count WHERE day < $1 ORDER BY day LIMIT ${REMOVED_AT_ONCE}
    FOR UPDATE SKIP LOCKED)`);

/** Removes all rows of old days: rows on several servers cannot be limited and locked in one statement. */
const REMOVE_ALL = statement('DELETE FROM day_count WHERE day < $1');

/** Sends all counts of a batch without waiting. */
export function countDays(session: TransactionSession, counts: readonly Omit<DailyCount, 'kind'>[]): void {
  const sums = new DaySums();
  for (const dayCount of counts) sums.add(dayCount);
  const rows = sums.take();
  if (rows.length === 0) return;
  session.sendJoined(ADD, [
    rows.map(({ instanceId }) => instanceId),
    rows.map(({ day }) => day),
    rows.map(({ what }) => what),
    rows.map(({ count }) => count),
    rows.map(({ lastAt }) => lastAt),
  ]);
}

/** Removes days that are no longer read, for all instances, after the first count of a new day. */
export class OldDays {
  private readonly database: Database;
  private latestDay: number | null = null;

  constructor(database: Database) {
    this.database = database;
  }

  /** Must be called after the counts are committed. Never rejects: rows that could not be removed are removed later. */
  async recordCounts(counts: readonly Pick<DailyCount, 'at'>[]): Promise<void> {
    const day = Math.floor(Math.max(...counts.map(({ at }) => at)) / DAY_MS);
    if (day === this.latestDay) return;
    this.latestDay = day;
    try {
      if (this.database.engine.isDistributed) await this.database.execute(REMOVE_ALL, [day - DAYS_KEPT]);
      else while ((await this.database.execute(REMOVE, [day - DAYS_KEPT])) === REMOVED_AT_ONCE);
    } catch {
      this.latestDay = null;
    }
  }
}
