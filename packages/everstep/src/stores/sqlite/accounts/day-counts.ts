/**
 * What is counted of a day (UTC), for each instance: runs that were started, and what was refused. Summed in memory over a
 * batch and written once for each instance and kind when the batch is. Days that nobody asks for any more go as others come.
 */
import type { StatementSync } from 'node:sqlite';
import { type CountOfDay, DAYS_KEPT, type DayCount, type DayCountKind } from '../../../ports/stores/account-store.js';
import { integer, type Row, text, word } from '../connection/columns.js';
import type { Connection } from '../connection/connection.js';

const DAY_MS = 86_400_000;
/** Rows of old days that go with one batch. */
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

const countOf = (row: Row): DayCount => ({
  instanceId: text(row, 'instance_id'),
  day: integer(row, 'day'),
  what: word(row, 'what', KINDS),
  count: integer(row, 'count'),
  lastAt: integer(row, 'last_at'),
});

export class DayCounts {
  private readonly upsert: StatementSync;
  private readonly select: StatementSync;
  private readonly deleteOld: StatementSync;
  private readonly unwritten = new Map<string, DayCount>();
  /** Of the days before this one nothing is left. */
  private keptFrom = Number.NEGATIVE_INFINITY;

  constructor(connection: Connection) {
    this.upsert = connection.prepare(
      `INSERT INTO day_count (instance_id, day, what, count, last_at) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT (instance_id, day, what) DO UPDATE SET
         count = count + excluded.count, last_at = max(last_at, excluded.last_at)`,
    );
    this.select = connection.prepare('SELECT * FROM day_count WHERE instance_id = ? AND day >= ? ORDER BY day DESC, what DESC');
    this.deleteOld = connection.prepare(
      `DELETE FROM day_count WHERE (instance_id, day, what) IN
         (SELECT instance_id, day, what FROM day_count WHERE day < ? ORDER BY day LIMIT ${REMOVED_AT_ONCE})`,
    );
  }

  /** Only inside a transaction, whose end writes it. `at` is Unix ms. */
  add({ instanceId, what, count, at }: Omit<CountOfDay, 'kind'>): void {
    if (count === 0) return;
    const day = Math.floor(at / DAY_MS);
    const key = `${instanceId}\n${day} ${what}`;
    const known = this.unwritten.get(key);
    const lastAt = Math.max(at, known?.lastAt ?? 0);
    this.unwritten.set(key, { instanceId, day, what, count: count + (known?.count ?? 0), lastAt });
  }

  flush(): void {
    if (this.unwritten.size === 0) return;
    let today = Number.NEGATIVE_INFINITY;
    for (const { instanceId, day, what, count, lastAt } of this.unwritten.values()) {
      this.upsert.run(instanceId, day, what, count, lastAt);
      today = Math.max(today, day);
    }
    this.unwritten.clear();
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

  /** Drops what a rollback undid. */
  forget(): void {
    this.unwritten.clear();
    this.keptFrom = Number.NEGATIVE_INFINITY;
  }

  /** Days newest first. */
  list(instanceId: string, fromDay: number): readonly DayCount[] {
    return this.select.all(instanceId, fromDay).map(countOf);
  }
}
