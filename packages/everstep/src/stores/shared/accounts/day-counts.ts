/** Counts of a day (UTC) for each instance: runs that were started, and requests that were rejected. */
import type { DailyCount, DayCount, DayCountKind } from '../../../ports/stores/account-store.js';
import { type Procedure, rows } from '../sql/procedure.js';
import { sql } from '../sql/sql.js';
import { NUMBER, oneOf, TEXT, table } from '../sql/table.js';

export const DAY_MS = 86_400_000;
/** Maximum number of rows of old days that one transaction removes. */
export const REMOVED_AT_ONCE = 500;

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

const DAY_COUNT = table<DayCount>('day_count', {
  instanceId: TEXT,
  day: NUMBER,
  what: oneOf(KINDS),
  count: NUMBER,
  lastAt: NUMBER,
});

/** Sums the counts of one batch, so that it writes one row for each instance, day and kind. */
export class DaySums {
  private readonly sums = new Map<string, DayCount>();

  add({ instanceId, what, count, at }: Omit<DailyCount, 'kind'>): void {
    if (count === 0) return;
    const day = Math.floor(at / DAY_MS);
    const key = `${instanceId}\n${day} ${what}`;
    const previous = this.sums.get(key);
    const lastAt = Math.max(at, previous?.lastAt ?? 0);
    this.sums.set(key, { instanceId, day, what, count: count + (previous?.count ?? 0), lastAt });
  }

  /** Returns the sums and starts again at zero. */
  take(): readonly DayCount[] {
    const sums = [...this.sums.values()];
    this.sums.clear();
    return sums;
  }
}

/** Returns the counts, newest days first. In PostgreSQL several rows may belong to one count. */
export function* listDayCounts(instanceId: string, fromDay: number): Procedure<readonly DayCount[]> {
  const foundRows = yield* rows(sql`
    SELECT instance_id, day, what, CAST(sum(count) AS bigint) AS count, max(last_at) AS last_at FROM day_count
    WHERE instance_id = ${instanceId} AND day >= ${fromDay}
    GROUP BY instance_id, day, what`);
  return foundRows.map(DAY_COUNT.read).sort((a, b) => b.day - a.day || (a.what < b.what ? 1 : -1));
}
