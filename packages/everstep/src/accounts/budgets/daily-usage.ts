/** Daily usage of an instance for its current owner. */
import type { AccountStore, QueueInstance } from '../../ports/stores/account-store.js';
import type { DailyUsage, DayPoint } from '../account-service.js';
import { dayNameOf, dayOf, monthOf, startOfDay } from './months.js';
import { costOf } from './prices.js';

export interface DailyUsageQuery {
  readonly instance: QueueInstance;
  /** Account that is billed. */
  readonly owner: string;
  /** Number of days, including today (UTC). */
  readonly days: number;
  /** Current time in Unix milliseconds. */
  readonly now: number;
  /** Dollars per 100,000 messages, for messages counted while no price was recorded. */
  readonly price: number;
}

/** Returns the usage of each day, and the spending of the current month. */
export async function dailyUsage(
  accounts: Pick<AccountStore, 'usage' | 'usageByDay'>,
  { instance, owner, days, now, price }: DailyUsageQuery,
): Promise<DailyUsage> {
  const { instanceId, budgetDollars = 0 } = instance;
  const today = dayOf(now);
  const dayNames = Array.from({ length: days }, (_, index) => dayNameOf(startOfDay(today - days + 1 + index)));
  const dailyRecords = await accounts.usageByDay({ instanceId, fromDay: dayNames[0] ?? dayNameOf(now) });
  const month = monthOf(now);
  const billedRecords = (await accounts.usage({ instanceId, fromMonth: month })).filter(
    (record) => record.month === month && record.accountId === owner,
  );
  const points = dayNames.map((day): DayPoint => {
    const records = dailyRecords.filter((record) => record.day === day && record.accountId === owner);
    return { day, messages: records.reduce((sum, { messages }) => sum + messages, 0), dollars: costOf(records, price) };
  });
  return { days: points, budgetDollars, spentDollars: costOf(billedRecords, price) };
}
