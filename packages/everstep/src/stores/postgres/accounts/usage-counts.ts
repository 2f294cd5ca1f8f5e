/**
 * Messages that instances are billed for. A batch writes one row for each instance and day, to whoever owns the instance
 * at that moment, and at its price of that moment. What was counted before there was a price has the first one there was,
 * which the instance remembers: so nobody who counts has to wait for whoever sets it. Each connection adds to rows of its own, and the sum counts: so no commit waits for another's count.
 * The column `month` holds days (`2026-11-21`); of what earlier versions counted, months.
 * Keeps invariants 17 and 20.
 */
import type { DayUsageRecord, UsageRecord } from '../../../ports/stores/account-store.js';
import type { StoreWrite } from '../../../ports/stores/store.js';
import { integer, integerOrNull, type Row, text } from '../connection/columns.js';
import { type Session, statement, type TransactionSession } from '../connection/connection.js';

export type UsageWrite = Extract<StoreWrite, { readonly kind: 'count-messages' }>;

/** Stands for the account of an instance that nobody owns: a part of a key is never null. */
const NOBODY = '';
/** Stands for the price of an instance that has none yet. */
const NO_PRICE = -1;
/** More than that many connections at once share rows. */
export const SHARDS = 64;

const ADD = statement(`
  INSERT INTO usage (instance_id, month, account_id, price, shard, messages)
  SELECT w.instance_id, w.month, coalesce(q.account_id, '${NOBODY}'), coalesce(q.price, ${NO_PRICE}),
    pg_backend_pid() % ${SHARDS}, w.messages
  FROM unnest($1::text[], $2::text[], $3::bigint[]) AS w (instance_id, month, messages)
  LEFT JOIN queue_instance q ON q.instance_id = w.instance_id
  ORDER BY 1, 2, 3
  ON CONFLICT (instance_id, month, account_id, price, shard) DO UPDATE SET messages = usage.messages + excluded.messages`);
const summedBy = (period: string) => `
  SELECT u.instance_id, ${period} AS period, u.account_id, coalesce(nullif(u.price, ${NO_PRICE}), q.first_price) AS price,
    sum(u.messages)::bigint AS messages
  FROM usage u LEFT JOIN queue_instance q ON q.instance_id = u.instance_id
  WHERE u.instance_id = $1 AND u.month >= $2`;
/** Of `2026-11`. */
const MONTH_LENGTH = 7;
const SELECT = statement(`${summedBy(`left(u.month, ${MONTH_LENGTH})`)}
  GROUP BY 1, 2, 3, 4 ORDER BY period DESC, account_id DESC, price DESC NULLS LAST`);
const SELECT_DAYS = statement(`${summedBy('u.month')} AND length(u.month) > ${MONTH_LENGTH}
  GROUP BY 1, 2, 3, 4 ORDER BY period, account_id, price NULLS FIRST`);

const billedOf = (row: Row) => ({
  instanceId: text(row, 'instance_id'),
  accountId: text(row, 'account_id') === NOBODY ? null : text(row, 'account_id'),
  price: integerOrNull(row, 'price'),
  messages: integer(row, 'messages'),
});
const usageOf = (row: Row): UsageRecord => ({ ...billedOf(row), month: text(row, 'period') });
const dayUsageOf = (row: Row): DayUsageRecord => ({ ...billedOf(row), day: text(row, 'period') });

const HOUR_MS = 3_600_000;
/** That of the hour that was asked for last: a batch asks for each of its units. */
let latest = { hour: Number.NaN, day: '' };

/** UTC, such as `2026-11-21`. */
function dayOf(at: number): string {
  const hour = Math.floor(at / HOUR_MS);
  if (hour !== latest.hour) latest = { hour, day: new Date(at).toISOString().slice(0, 10) };
  return latest.day;
}

/** All of a batch, to whoever owns the instances now. Sends them, and waits for nothing. */
export function countMessages(session: TransactionSession, writes: readonly UsageWrite[]): void {
  const sums = new Map<string, { readonly instanceId: string; readonly day: string; messages: number }>();
  for (const { instanceId, messages, at } of writes) {
    if (messages === 0) continue;
    const day = dayOf(at);
    const place = `${instanceId}\n${day}`;
    const sum = sums.get(place);
    if (sum) sum.messages += messages;
    else sums.set(place, { instanceId, day, messages });
  }
  const counted = [...sums.values()];
  if (counted.length === 0) return;
  session.send(ADD, [
    counted.map(({ instanceId }) => instanceId),
    counted.map(({ day }) => day),
    counted.map(({ messages }) => messages),
  ]);
}

/** Of the instance, whoever was billed; months newest first. */
export async function listUsage(session: Session, instanceId: string, fromMonth: string): Promise<readonly UsageRecord[]> {
  return (await session.query(SELECT, [instanceId, fromMonth])).map(usageOf);
}

/** The same by day, oldest first; `fromDay` as `2026-11-21`. */
export async function listDayUsage(session: Session, instanceId: string, fromDay: string): Promise<readonly DayUsageRecord[]> {
  return (await session.query(SELECT_DAYS, [instanceId, fromDay])).map(dayUsageOf);
}
