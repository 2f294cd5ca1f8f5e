/** Usage of an instance: messages by month and day, refusals, costs and stored bytes. */
import { type AccountRules, done } from '../account-rules.js';
import type { AccountService, InstanceStats, RefusalCount, StorageUsage } from '../account-service.js';
import { monthsBetween } from '../budgets/billed-months.js';
import { dailyUsage } from '../budgets/daily-usage.js';
import { dayOf, monthOf } from '../budgets/months.js';
import { costOf } from '../budgets/prices.js';
import type { Plans } from '../plans/plans.js';
import type { RefusalKind } from '../plans/refusals.js';
import type { FindInstance } from './visible-instance.js';

const NOTHING_STORED: StorageUsage = {
  instanceBytes: 0,
  accountBytes: 0,
  maxBytes: null,
  activeRuns: 0,
  maxActiveRuns: null,
};

export interface InstanceUsageOptions {
  readonly rules: AccountRules;
  readonly find: FindInstance;
  readonly plans: Plans;
  /** Returns messages about work of the instance that is currently rejected. */
  readonly currentRefusals: (instanceId: string) => Promise<readonly string[]>;
  readonly storage: (instanceId: string) => Promise<StorageUsage | null>;
}

/** Counts runs and refusals on the UTC days since `from` (Unix ms). */
export async function countsSince(
  { accounts, now }: AccountRules,
  instanceId: string,
  from: number,
): Promise<Pick<InstanceStats, 'requestsToday' | 'refusals'>> {
  const counts = await accounts.countsByDay({ instanceId, fromDay: dayOf(from) });
  const today = dayOf(now());
  const refusals = new Map<RefusalKind, RefusalCount>();
  let requestsToday = 0;
  for (const { day, what, count, lastAt } of counts) {
    if (what === 'run') requestsToday += day === today ? count : 0;
    else if (what !== 'unknown-login') {
      const previous = refusals.get(what);
      refusals.set(what, { kind: what, count: count + (previous?.count ?? 0), lastAt: Math.max(lastAt, previous?.lastAt ?? 0) });
    }
  }
  // The latest refusal comes first.
  return { requestsToday, refusals: [...refusals.values()].sort((a, b) => b.lastAt - a.lastAt) };
}

export function createInstanceUsage(options: InstanceUsageOptions): Pick<AccountService, 'stats' | 'usage'> {
  const { rules, find, plans } = options;
  const { accounts, now } = rules;

  return {
    async stats(principal, { instanceId, periodMs }) {
      const lookup = await find(principal, instanceId, 'see');
      if (lookup.kind !== 'found') return lookup;
      const { instance, owner } = lookup;
      const { pricePer100kMessages } = plans.planOf(instance);
      const at = now();
      const months = monthsBetween(at - periodMs, at);
      const usage = await accounts.usage({ instanceId, fromMonth: months.at(-1) ?? monthOf(at) });
      const usageOf = (month: string) => usage.filter((record) => record.month === month && record.accountId === owner);
      const points = months.map((month) => {
        const billedRecords = usageOf(month);
        const messages = billedRecords.reduce((sum, record) => sum + record.messages, 0);
        return { month, messages, dollars: costOf(billedRecords, pricePer100kMessages) };
      });
      const budgetDollars = instance.budgetDollars ?? 0;
      const spentDollars = costOf(usageOf(monthOf(at)), pricePer100kMessages);
      const refused = await options.currentRefusals(instanceId);
      const dayCounts = await countsSince(rules, instanceId, at - periodMs);
      const storage = (await options.storage(instanceId)) ?? NOTHING_STORED;
      return done({ storage, months: points, budgetDollars, spentDollars, refused, ...dayCounts });
    },

    async usage(principal, { instanceId, days }) {
      const lookup = await find(principal, instanceId, 'see');
      if (lookup.kind !== 'found') return lookup;
      const { instance, owner } = lookup;
      const price = plans.planOf(instance).pricePer100kMessages;
      return done(await dailyUsage(accounts, { instance, owner, days, now: now(), price }));
    },
  };
}
