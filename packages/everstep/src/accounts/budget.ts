/**
 * Budgets: what the present owner of an instance has spent in this calendar
 * month (UTC), and whether that is all it may. Messages are counted in the
 * unit that makes them, so what is read here has lost and doubled none; it is
 * read at most every half second.
 */
import type { AccountStore, QueueInstance, UsageRecord } from '../ports/account-store.js';
import { FRESH_MS, KnownInstances } from './known-instances.js';
import { endOfMonth, monthOf } from './months.js';
import type { Plans } from './plans.js';
import { costOf } from './prices.js';

/** The budget is spent. */
export interface BudgetExceeded {
  /** Dollars. */
  readonly spent: number;
  readonly budget: number;
  /** Unix ms at which the month ends. */
  readonly until: number;
}

export interface BudgetStanding {
  /** UTC, such as `2026-11`. */
  readonly month: string;
  /** Who is billed; null: nobody. */
  readonly accountId: string | null;
  readonly messages: number;
  /** Dollars; a budget of 0 is no limit. */
  readonly spent: number;
  readonly budget: number;
  readonly alertUrl: string | null;
  /** Unix ms at which the month ends. */
  readonly until: number;
}

export interface BudgetsOptions {
  readonly accounts: Pick<AccountStore, 'usage' | 'findInstance'>;
  readonly plans: Pick<Plans, 'planOf'>;
  /** Unix ms on the clock of the service, by which messages are counted. */
  readonly now: () => number;
  /** Ms that only ever grow; when absent it is `now`. */
  readonly elapsedMs?: () => number;
  /** Shared with others that ask for instances; its own when absent. */
  readonly instances?: KnownInstances;
}

export interface Budgets {
  /** Null while there is something left, or there is no budget. */
  check(instanceId: string): Promise<BudgetExceeded | null>;
  /** Dollars of this month, by whoever owns the instance now. */
  spent(instanceId: string): Promise<number>;
  /** Null when there is no such instance. */
  standing(instanceId: string): Promise<BudgetStanding | null>;
  /** The same, read at this moment. */
  standingNow(instanceId: string): Promise<BudgetStanding | null>;
  /** To be called after a change of the instance's budget, plan or owner. Resolves when what it is now is known. */
  forget(instanceId: string): Promise<void>;
}

interface Counted {
  readonly month: string;
  readonly accountId: string | null;
  readonly readAt: number;
  readonly usage: Promise<readonly UsageRecord[]>;
}

export function createBudgets(options: BudgetsOptions): Budgets {
  const { accounts, plans, now } = options;
  const elapsedMs = options.elapsedMs ?? now;
  const instances = options.instances ?? new KnownInstances({ accounts, elapsedMs });
  const counted = new Map<string, Counted>();

  async function read(instanceId: string, accountId: string | null, month: string): Promise<readonly UsageRecord[]> {
    const records = await accounts.usage({ instanceId, fromMonth: month });
    return records.filter((record) => record.month === month && record.accountId === accountId);
  }

  function usageOf(instance: QueueInstance, month: string): Promise<readonly UsageRecord[]> {
    const { instanceId } = instance;
    const accountId = instance.accountId ?? null;
    const known = counted.get(instanceId);
    const fresh = known && elapsedMs() - known.readAt < FRESH_MS;
    if (fresh && known.month === month && known.accountId === accountId) return known.usage;
    const usage = read(instanceId, accountId, month);
    const entry: Counted = { month, accountId, readAt: elapsedMs(), usage };
    counted.set(instanceId, entry);
    // A failure is for those who wait for it; the next one asks the store again.
    usage.catch(() => {
      if (counted.get(instanceId) === entry) counted.delete(instanceId);
    });
    return usage;
  }

  async function standing(instanceId: string): Promise<BudgetStanding | null> {
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
    counted.delete(instanceId);
    return instances.forget(instanceId);
  }

  return {
    standing,
    async standingNow(instanceId) {
      await forget(instanceId);
      return standing(instanceId);
    },
    async check(instanceId) {
      const instance = await instances.find(instanceId);
      if (!instance || (instance.budgetDollars ?? 0) <= 0) return null;
      const stands = await standing(instanceId);
      if (!stands || stands.budget <= 0 || stands.spent < stands.budget) return null;
      const { spent, budget, until } = stands;
      return { spent, budget, until };
    },
    async spent(instanceId) {
      return (await standing(instanceId))?.spent ?? 0;
    },
    forget,
  };
}
