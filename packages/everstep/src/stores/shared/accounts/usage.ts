/** Billed messages of instances. The column `month` contains days (`2026-11-21`), and months if an earlier version wrote it. */
import type { DayUsageRecord, UsageStore } from '../../../ports/stores/account-store.js';
import { integer, integerOrNull, text } from '../../records/columns.js';
import { type Procedure, rows, type SqlStore } from '../sql/procedure.js';
import { byDialect, raw, sql } from '../sql/sql.js';

/** The account of an instance without an owner, because a part of a key is never null. */
export const NO_OWNER = '';
/** The price of an instance that has none yet. */
export const NO_PRICE = -1;
const HOUR_MS = 3_600_000;
const DAY_LENGTH = 10;
/** Length of a month such as `2026-11`. */
const MONTH_LENGTH = 7;

/** The day of the hour that was used last, because a batch needs the day of each of its units. */
let cachedDay = { hour: Number.NaN, day: '' };

/** Returns the day in UTC, such as `2026-11-21`. */
export function dayOf(at: number): string {
  const hour = Math.floor(at / HOUR_MS);
  if (hour !== cachedDay.hour) cachedDay = { hour, day: new Date(at).toISOString().slice(0, DAY_LENGTH) };
  return cachedDay.day;
}

/** Sums the messages of one batch, so that it writes one row for each instance and day. */
export class UsageSums {
  private readonly sums = new Map<string, { readonly instanceId: string; readonly day: string; messages: number }>();

  add(instanceId: string, messages: number, at: number): void {
    if (messages === 0) return;
    const day = dayOf(at);
    const key = `${instanceId}\n${day}`;
    const sum = this.sums.get(key);
    if (sum) sum.messages += messages;
    else this.sums.set(key, { instanceId, day, messages });
  }

  /** Returns the sums and starts again at zero. */
  take() {
    const sums = [...this.sums.values()];
    this.sums.clear();
    return sums;
  }
}

interface BilledUsage extends Omit<DayUsageRecord, 'day'> {
  readonly period: string;
}

/** In PostgreSQL, messages that were counted before the instance had a price have its first price. */
const FIRST_PRICE = byDialect({
  sqlite: raw('NULL'),
  postgres: raw('(SELECT q.first_price FROM queue_instance q WHERE q.instance_id = u.instance_id)'),
});

/** Returns sums in the order of period, account and price. Sums of days exclude counts that are stored by month. */
function* readBilled(instanceId: string, from: string, periodLength: number): Procedure<readonly BilledUsage[]> {
  const foundRows = yield* rows(sql`
    SELECT u.month, u.account_id, u.price, ${FIRST_PRICE} AS first_price, CAST(sum(u.messages) AS bigint) AS messages
    FROM usage u WHERE u.instance_id = ${instanceId} AND u.month >= ${from} AND length(u.month) >= ${periodLength}
    GROUP BY u.instance_id, u.month, u.account_id, u.price`);
  const sums = new Map<string, BilledUsage>();
  for (const row of foundRows) {
    const period = text(row, 'month').slice(0, periodLength);
    const accountId = text(row, 'account_id') === NO_OWNER ? null : text(row, 'account_id');
    const price = integer(row, 'price') === NO_PRICE ? integerOrNull(row, 'first_price') : integer(row, 'price');
    const key = JSON.stringify([period, accountId, price]);
    const messages = integer(row, 'messages') + (sums.get(key)?.messages ?? 0);
    sums.set(key, { instanceId, period, accountId, price, messages });
  }
  const sortKey = ({ accountId, price }: BilledUsage) => [accountId ?? NO_OWNER, price ?? NO_PRICE] as const;
  return [...sums.values()].sort((a, b) => {
    const [[ownerA, priceA], [ownerB, priceB]] = [sortKey(a), sortKey(b)];
    return compareTexts(a.period, b.period) || compareTexts(ownerA, ownerB) || priceA - priceB;
  });
}

const compareTexts = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

export const createUsage = (store: SqlStore): Pick<UsageStore, 'usage' | 'usageByDay'> => ({
  async usage({ instanceId, fromMonth }) {
    const billedUsage = await store.read(readBilled(instanceId, fromMonth, MONTH_LENGTH));
    return billedUsage.toReversed().map(({ period: month, ...usage }) => ({ ...usage, month }));
  },
  async usageByDay({ instanceId, fromDay }) {
    const billedUsage = await store.read(readBilled(instanceId, fromDay, DAY_LENGTH));
    return billedUsage.map(({ period: day, ...usage }) => ({ ...usage, day }));
  },
});
