/**
 * Budgets: what the current owner of an instance has spent in this calendar month (UTC), and whether the budget is
 * spent. Messages are counted in the unit that creates them, so none is lost or counted twice. Counts are read at
 * most every half second.
 */
import type { AccountStore, QueueInstance, UsageRecord } from '../../ports/stores/account-store.js';
import { FRESH_MS, InstanceCache } from '../instances/instance-cache.js';
import type { Plans } from '../plans/plans.js';
import { endOfMonth, monthOf } from './months.js';
import { costOf } from './prices.js';

/** A budget that is spent. */
export interface BudgetExceeded {
  /** Amount spent in dollars. */
  readonly spent: number;
  /** Limit in dollars. */
  readonly budget: number;
  /** End of the month in Unix ms. */
  readonly until: number;
}

export interface BudgetStatus {
  /** UTC month, such as `2026-11`. */
  readonly month: string;
  /** The billed account; null if the instance has no owner. */
  readonly accountId: string | null;
  readonly messages: number;
  /** Dollars spent in the month. */
  readonly spent: number;
  /** Limit in dollars; 0 means no limit. */
  readonly budget: number;
  readonly alertUrl: string | null;
  /** End of the month in Unix ms. */
  readonly until: number;
}

export interface BudgetsOptions {
  readonly accounts: Pick<AccountStore, 'usage' | 'findInstance'>;
  readonly plans: Pick<Plans, 'planOf'>;
  /** Returns the time in Unix ms from the clock by which messages are counted. */
  readonly now: () => number;
  /** A monotonic clock in ms. Default: `now`. */
  readonly elapsedMs?: () => number;
  /** Instance cache to share with other components. Default: a separate cache. */
  readonly instances?: InstanceCache;
}

export interface Budgets {
  /** Returns null if the budget is not spent yet, or if the instance has no budget. */
  check(instanceId: string): Promise<BudgetExceeded | null>;
  /** Returns the dollars spent by the current owner in this month. */
  spentDollars(instanceId: string): Promise<number>;
  /** Returns null if the instance does not exist. */
  status(instanceId: string): Promise<BudgetStatus | null>;
  /** Returns the spending as stored, without the cache. */
  storedStatus(instanceId: string): Promise<BudgetStatus | null>;
  /** Drops the cached usage and reads the instance again. Call it after a change of the budget, plan or owner. */
  forget(instanceId: string): Promise<void>;
  /** Clears the cached counts of all instances. */
  forgetCounts(): void;
}

interface UsageOfMonth {
  readonly month: string;
  readonly accountId: string | null;
  readonly readAt: number;
  readonly usage: Promise<readonly UsageRecord[]>;
}

export function createBudgets(options: BudgetsOptions): Budgets {
  const { accounts, plans, now } = options;
  const elapsedMs = options.elapsedMs ?? now;
  const instances = options.instances ?? new InstanceCache({ accounts, elapsedMs });
  const usageByInstance = new Map<string, UsageOfMonth>();

  async function readUsage(instanceId: string, accountId: string | null, month: string): Promise<readonly UsageRecord[]> {
    const records = await accounts.usage({ instanceId, fromMonth: month });
    return records.filter((record) => record.month === month && record.accountId === accountId);
  }

  function usageOf(instance: QueueInstance, month: string): Promise<readonly UsageRecord[]> {
    const { instanceId } = instance;
    const accountId = instance.accountId ?? null;
    const cachedUsage = usageByInstance.get(instanceId);
    const isFresh = cachedUsage && elapsedMs() - cachedUsage.readAt < FRESH_MS;
    if (isFresh && cachedUsage.month === month && cachedUsage.accountId === accountId) return cachedUsage.usage;
    const usage = readUsage(instanceId, accountId, month);
    const entry: UsageOfMonth = { month, accountId, readAt: elapsedMs(), usage };
    usageByInstance.set(instanceId, entry);
    // A failure is only reported to the callers that wait for this read. The next caller reads again.
    usage.catch(() => {
      if (usageByInstance.get(instanceId) === entry) usageByInstance.delete(instanceId);
    });
    return usage;
  }

  async function status(instanceId: string): Promise<BudgetStatus | null> {
    const instance = await instances.find(instanceId);
    if (!instance) return null;
    const at = now();
    const month = monthOf(at);
    const usage = await usageOf(instance, month);
    const { budgetDollars = 0, budgetAlertUrl = null } = instance;
    return {
      month,
      accountId: instance.accountId ?? null,
      messages: usage.reduce((sum, { messages }) => sum + messages, 0),
      spent: costOf(usage, plans.planOf(instance).pricePer100kMessages),
      budget: budgetDollars,
      alertUrl: budgetAlertUrl,
      until: endOfMonth(at),
    };
  }

  function forget(instanceId: string): Promise<void> {
    usageByInstance.delete(instanceId);
    return instances.forget(instanceId);
  }

  return {
    status,
    async storedStatus(instanceId) {
      await forget(instanceId);
      return status(instanceId);
    },
    async check(instanceId) {
      const instance = await instances.find(instanceId);
      if (!instance || (instance.budgetDollars ?? 0) <= 0) return null;
      const budgetStatus = await status(instanceId);
      if (!budgetStatus || budgetStatus.budget <= 0 || budgetStatus.spent < budgetStatus.budget) return null;
      const { spent, budget, until } = budgetStatus;
      return { spent, budget, until };
    },
    async spentDollars(instanceId) {
      return (await status(instanceId))?.spent ?? 0;
    },
    forget,
    forgetCounts: () => usageByInstance.clear(),
  };
}
