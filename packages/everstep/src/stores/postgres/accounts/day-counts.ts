/**
 * What is counted of a day (UTC), for each instance: runs that were started, and what was refused. Each connection adds to
 * rows of its own, as for usage. Days that nobody asks for any more go as others begin, in a transaction of their own.
 */
import { type CountOfDay, DAYS_KEPT, type DayCount, type DayCountKind } from '../../../ports/stores/account-store.js';
import { integer, type Row, text, word } from '../connection/columns.js';
import { type Database, type Session, statement, type TransactionSession } from '../connection/connection.js';
import { SHARDS } from './usage-counts.js';

const DAY_MS = 86_400_000;
/** Rows of old days that go in one transaction. */
const REMOVED_AT_ONCE = 500;

const KINDS: readonly DayCountKind[] = [
  'run',
  'budget-exceeded',
  'daily-limit-reached',
  'rate-limited',
  'body-too-large',
  'too-many-schedules',
  'storage-quota-exceeded',
  'too-many-active-runs',
  'too-many-queues',
  'too-many-url-groups',
  'too-many-flow-control-keys',
  'tick-budget-exceeded',
  'tick-daily-limit-reached',
  'tick-body-too-large',
  'tick-storage-quota-exceeded',
  'tick-too-many-active-runs',
  'step-body-too-large',
  'step-budget-exceeded',
  'step-daily-limit-reached',
  'step-storage-quota-exceeded',
  'step-too-many-active-runs',
  'unknown-login',
];

const ADD = statement(`
  INSERT INTO day_count (instance_id, day, what, shard, count, last_at)
  SELECT w.instance_id, w.day, w.what, pg_backend_pid() % ${SHARDS}, w.count, w.last_at
  FROM unnest($1::text[], $2::integer[], $3::text[], $4::bigint[], $5::bigint[]) AS w (instance_id, day, what, count, last_at)
  ORDER BY 1, 2, 3
  ON CONFLICT (instance_id, day, what, shard) DO UPDATE
    SET count = day_count.count + excluded.count, last_at = greatest(day_count.last_at, excluded.last_at)`);
/** What somebody else removes just now is left to them. */
const REMOVE = statement(`
  DELETE FROM day_count WHERE (instance_id, day, what, shard) IN (
    SELECT instance_id, day, what, shard FROM day_count WHERE day < $1 ORDER BY day LIMIT ${REMOVED_AT_ONCE}
    FOR UPDATE SKIP LOCKED)`);
const SELECT = statement(`
  SELECT instance_id, day, what, sum(count)::bigint AS count, max(last_at) AS last_at FROM day_count
  WHERE instance_id = $1 AND day >= $2 GROUP BY instance_id, day, what ORDER BY day DESC, what DESC`);

const countOf = (row: Row): DayCount => ({
  instanceId: text(row, 'instance_id'),
  day: integer(row, 'day'),
  what: word(row, 'what', KINDS),
  count: integer(row, 'count'),
  lastAt: integer(row, 'last_at'),
});

/** All of a batch. Sends them, and waits for nothing. */
export function countDays(session: TransactionSession, counts: readonly Omit<CountOfDay, 'kind'>[]): void {
  const sums = new Map<string, DayCount>();
  for (const { instanceId, what, count, at } of counts) {
    if (count === 0) continue;
    const day = Math.floor(at / DAY_MS);
    const place = `${instanceId}\n${day} ${what}`;
    const known = sums.get(place);
    const lastAt = Math.max(at, known?.lastAt ?? 0);
    sums.set(place, { instanceId, day, what, count: count + (known?.count ?? 0), lastAt });
  }
  const counted = [...sums.values()];
  if (counted.length === 0) return;
  session.send(ADD, [
    counted.map(({ instanceId }) => instanceId),
    counted.map(({ day }) => day),
    counted.map(({ what }) => what),
    counted.map(({ count }) => count),
    counted.map(({ lastAt }) => lastAt),
  ]);
}

/** Removes the days of all instances that nobody asks for any more, when another day is counted than the last time. */
export class OldDays {
  private readonly database: Database;
  private day: number | null = null;

  constructor(database: Database) {
    this.database = database;
  }

  /** These were counted. Never rejects: what could not be removed goes when more is counted. */
  async counted(counts: readonly Pick<CountOfDay, 'at'>[]): Promise<void> {
    const day = Math.floor(Math.max(...counts.map(({ at }) => at)) / DAY_MS);
    if (day === this.day) return;
    this.day = day;
    try {
      while ((await this.database.execute(REMOVE, [day - DAYS_KEPT])) === REMOVED_AT_ONCE);
    } catch {
      this.day = null;
    }
  }
}

/** Days newest first. */
export async function listDayCounts(session: Session, instanceId: string, fromDay: number): Promise<readonly DayCount[]> {
  return (await session.query(SELECT, [instanceId, fromDay])).map(countOf);
}
