/**
 * Limits from the plan and the budget of an instance. They are checked when an API call, a run, a schedule or a
 * delivery starts. Work that has started is never stopped by them.
 */

import { LIMITS } from '../../config/limits.js';
import type { AccountStore } from '../../ports/stores/account-store.js';
import { type InstanceLimits, type RunAdmission, type TickRefusal, UNBOUNDED } from '../../ports/stores/instance-limits.js';
import type { InstanceOwners } from '../../ports/stores/instance-owners.js';
import type { SharedDailyRuns } from '../../ports/stores/shared-daily-runs.js';
import type { Plan, StorageUsage } from '../account-service.js';
import { type BudgetExceeded, type Budgets, createBudgets } from '../budgets/budget.js';
import { endOfDay, monthOf } from '../budgets/months.js';
import { InstanceCache } from '../instances/instance-cache.js';
import { AccountTotalsCache } from '../quotas/account-totals.js';
import { Quotas } from '../quotas/quotas.js';
import { CallRates } from './call-rates.js';
import { DailyStarts } from './daily-starts.js';
import type { Plans } from './plans.js';
import type { RefusalKind, Refusals } from './refusals.js';
import { SharedDailyStarts } from './shared-daily-starts.js';

/** Reason for rejecting new work. `message` is for the caller. */
export type Refusal =
  | { readonly kind: 'budget-exceeded' | 'storage-quota-exceeded' | 'too-many-active-runs'; readonly message: string }
  /** `resetAt` is the start of the next day in Unix ms. */
  | {
      readonly kind: 'daily-limit';
      readonly message: string;
      readonly retryAfterMs: number;
      readonly limit: number;
      readonly startedToday: number;
      readonly resetAt: number;
    };

export interface Limits extends InstanceLimits {
  readonly budgets: Budgets;
  /** Owners of the instances, from the cache. */
  readonly owners: InstanceOwners;
  /** Returns the cached plan, or the default plan for an unknown instance. */
  plan(instanceId: string): Plan;
  /** Admits an API call and returns null, or returns the time in ms after which a call is admitted. */
  admitCall(instanceId: string): number | null;
  /** Admits an API call to a search index, counted by the owning account. */
  admitSearchCall(accountId: string): Promise<number | null>;
  /** Admits runs right before they start, all or none. Admitted runs count toward the daily limit. */
  admitRuns(instanceId: string, runs: number): Promise<RunAdmission | Refusal>;
  /** Checks work that does not start a run yet, such as a schedule. Returns null if allowed. */
  refuseSpending(instanceId: string): Promise<Refusal | null>;
  /** Checks whether the account may store this many additional bytes. Returns null if allowed. */
  checkStorage(instanceId: string, bytes: number): Promise<Refusal | null>;
  /** Checks whether a search index of the account may store this many additional bytes. Returns null if allowed. */
  refuseDocuments(accountId: string, bytes: number): Promise<Refusal | null>;
  /** Returns null if the instance does not exist or has no owner. */
  storage(instanceId: string): Promise<StorageUsage | null>;
  /** Returns messages about work that is currently rejected; empty if nothing is. */
  currentRefusals(instanceId: string): Promise<readonly string[]>;
  /** Counts a refusal, for the owner to see. */
  countRefusal(instanceId: string, kind: RefusalKind): void;
  /** Drops an instance from the caches. Call it after a change to the instance; the change is in effect when it resolves. */
  forget(instanceId: string): Promise<void>;
  /** Clears the caches. Call it when other processes may have changed any instance. */
  forgetEverything(): Promise<void>;
}

export interface LimitsOptions {
  readonly accounts: Pick<AccountStore, 'usage' | 'findInstance' | 'listInstances' | 'countsByDay' | 'totalsOf'>;
  readonly plans: Plans;
  /** Returns the current time in Unix milliseconds. */
  readonly now: () => number;
  /** A monotonic clock in ms that also advances while the clock of `now` is stopped. Default: `now`. */
  readonly elapsedMs?: () => number;
  /** Called when messages were counted for an instance with a budget, and when an instance has changed. */
  readonly onSpending?: (instanceId: string) => void;
  /**
   * Store of the daily run counts if several processes share the store; absent for a single process. API call rates
   * are counted separately in each process.
   */
  readonly sharedDailyRuns?: SharedDailyRuns;
  /** Maximum duration of a delivery, whatever the plan. Default: the limit of the server. */
  readonly maxTimeoutMs?: number;
  /** Returns the bytes that the search indexes of an account store. Default: 0. */
  readonly documentBytes?: (accountId: string) => Promise<number>;
  /** Counts refusals. Default: not counted. */
  readonly refusals?: Pick<Refusals, 'count'>;
}

const TICK_REFUSAL_KINDS = {
  'budget-exceeded': 'tick-budget-exceeded',
  'daily-limit': 'tick-daily-limit-reached',
  'storage-quota-exceeded': 'tick-storage-quota-exceeded',
  'too-many-active-runs': 'tick-too-many-active-runs',
} as const;

const isoOf = (at: number): string => new Date(at).toISOString().replace('.000Z', 'Z');

export function budgetMessage({ spent, budget, until }: BudgetExceeded): string {
  const month = monthOf(until - 1);
  return `the budget of this queue instance is spent: $${spent.toFixed(2)} of $${budget} for ${month}, which ends at ${isoOf(until)} (UTC). Until then, new runs, messages and schedules are rejected; runs that have started continue. An owner, admin or finance member of the account can raise the budget`;
}

/** Error text for a message that exceeds the plan's limit. */
export const sizeMessage = (plan: string, maxBytes: number, bytes: number): string =>
  `the plan ${plan} allows messages of at most ${maxBytes} bytes, but this one has ${bytes}`;

function dailyLimitMessage(plan: Plan, runs: number, at: number): string {
  return `the plan ${plan.name} limits runs to ${plan.maxRequestsPerDay} per day (UTC). Started today: ${runs}. The next day starts at ${isoOf(endOfDay(at))}`;
}

/** Counts the runs if they may start. */
async function admitToday(
  starts: Pick<SharedDailyStarts | DailyStarts, 'admit' | 'forget'>,
  instanceId: string,
  plan: Plan,
  runs: number,
): Promise<RunAdmission | Refusal> {
  if (plan.maxRequestsPerDay === null) {
    starts.forget(instanceId);
    return UNBOUNDED;
  }
  const decision = await starts.admit(instanceId, runs, plan.maxRequestsPerDay);
  if (decision.kind === 'admitted') return decision;
  const { at, startedToday } = decision;
  const resetAt = endOfDay(at);
  const message = dailyLimitMessage(plan, startedToday, at);
  return { kind: 'daily-limit', message, retryAfterMs: resetAt - at, limit: plan.maxRequestsPerDay, startedToday, resetAt };
}

/** Limits that depend only on the plan of an instance. */
function limitsOfPlan(
  planOf: Limits['plan'],
  maxTimeoutMs: number,
): Pick<Limits, 'messageLimit' | 'maxParallelism' | 'maxTimeoutMs' | 'retentionBounds'> {
  return {
    messageLimit(instanceId) {
      const { name, maxMessageBytes } = planOf(instanceId);
      return maxMessageBytes === null ? null : { plan: name, maxBytes: maxMessageBytes };
    },
    maxParallelism: (instanceId) => planOf(instanceId).maxParallelism,
    maxTimeoutMs: (instanceId) => Math.min(planOf(instanceId).maxTimeoutMs ?? maxTimeoutMs, maxTimeoutMs),
    retentionBounds(instanceId) {
      const { logRetentionMs, deadLetterRetentionMs } = planOf(instanceId);
      return { runsMs: logRetentionMs, deadLettersMs: deadLetterRetentionMs };
    },
  };
}

/** Returns a list with the message about the daily limit if it is reached, otherwise an empty list. */
async function dailyRefusalMessages(
  starts: Pick<SharedDailyStarts | DailyStarts, 'startedToday'>,
  instanceId: string,
  plan: Plan,
  at: number,
): Promise<readonly string[]> {
  if (plan.maxRequestsPerDay === null) return [];
  const today = await starts.startedToday(instanceId);
  return today >= plan.maxRequestsPerDay ? [dailyLimitMessage(plan, today, at)] : [];
}

/** Loads all instances, so that their plans apply from the first delivery. */
export async function createLimits(options: LimitsOptions): Promise<Limits> {
  const { accounts, plans, now, onSpending } = options;
  const elapsedMs = options.elapsedMs ?? now;
  const { sharedDailyRuns, documentBytes, maxTimeoutMs = LIMITS.maxDeliveryTimeoutMs } = options;
  const changeListeners: ((instanceId: string) => void)[] = [];
  const notifyListeners = (instanceId: string): void => {
    for (const listener of changeListeners) listener(instanceId);
  };
  const onChangedElsewhere = (instanceId: string): void => {
    onSpending?.(instanceId);
    notifyListeners(instanceId);
  };
  const instances = new InstanceCache({ accounts, elapsedMs, ...(sharedDailyRuns ? { onChangedElsewhere } : {}) });
  instances.addAll(await accounts.listInstances());
  const budgets = createBudgets({ accounts, plans, now, elapsedMs, instances });
  const callRates = new CallRates(elapsedMs);
  const starts = sharedDailyRuns ? new SharedDailyStarts({ sharedDailyRuns, now }) : new DailyStarts({ accounts, now });

  const planOf = (instanceId: string): Plan => plans.planOf(instances.recall(instanceId) ?? {});
  const totalsCache = new AccountTotalsCache({ accounts, plans, elapsedMs, ...(documentBytes ? { documentBytes } : {}) });
  const quotas = new Quotas({ totalsCache, instances, plans });

  async function refuseSpending(instanceId: string): Promise<Refusal | null> {
    const exceededBudget = await budgets.check(instanceId);
    if (exceededBudget) return { kind: 'budget-exceeded', message: budgetMessage(exceededBudget) };
    return quotas.refuseStorage(instanceId, 0);
  }

  async function admitRuns(instanceId: string, runs: number): Promise<RunAdmission | Refusal> {
    const refusal = (await refuseSpending(instanceId)) ?? (await quotas.refuseActive(instanceId, runs));
    if (refusal) return refusal;
    return admitToday(starts, instanceId, plans.planOf((await instances.find(instanceId)) ?? {}), runs);
  }

  return {
    budgets,
    owners: instances,
    plan: planOf,
    admitRuns,
    refuseSpending,
    checkStorage: (instanceId, bytes) => quotas.refuseStorage(instanceId, bytes),
    refuseDocuments: (accountId, bytes) => quotas.refuseDocuments(accountId, bytes),
    storage: (instanceId) => quotas.usage(instanceId),
    async admitSearchCall(accountId) {
      const limit = totalsCache.limit(await totalsCache.get(accountId), 'apiCallsPerSecond');
      return callRates.admit(`search ${accountId}`, limit);
    },
    admitCall: (instanceId) => callRates.admit(instanceId, planOf(instanceId).apiCallsPerSecond),
    async currentRefusals(instanceId) {
      const messages: string[] = [];
      const spendingRefusal = await refuseSpending(instanceId);
      if (spendingRefusal) messages.push(spendingRefusal.message);
      const activeRunsRefusal = await quotas.refuseActive(instanceId, 1);
      if (activeRunsRefusal) messages.push(activeRunsRefusal.message);
      const plan = plans.planOf((await instances.find(instanceId)) ?? {});
      return [...messages, ...(await dailyRefusalMessages(starts, instanceId, plan, now()))];
    },
    countRefusal: (instanceId, kind) => options.refusals?.count(instanceId, kind),
    async forget(instanceId) {
      const instanceRead = budgets.forget(instanceId);
      totalsCache.forget();
      // A lowered budget may already be exceeded.
      onSpending?.(instanceId);
      await instanceRead;
      notifyListeners(instanceId);
    },
    async forgetEverything() {
      budgets.forgetCounts();
      totalsCache.forget();
      const storedInstances = await accounts.listInstances().catch(() => null);
      if (storedInstances) instances.addAll(storedInstances);
      for (const instanceId of instances.instanceIds()) onChangedElsewhere(instanceId);
    },
    onChange: (listener) => changeListeners.push(listener),
    releaseRuns(instanceId, runs, { at }) {
      if (at !== null && runs > 0) starts.release(instanceId, runs, at);
    },
    recount: (instanceId) => starts.forget(instanceId),
    ...limitsOfPlan(planOf, maxTimeoutMs),
    async admitTick(instanceId, { bodyBytes, runs }): Promise<RunAdmission | TickRefusal> {
      const { name, maxMessageBytes } = plans.planOf((await instances.find(instanceId)) ?? {});
      if (maxMessageBytes !== null && bodyBytes > maxMessageBytes)
        return { kind: 'tick-body-too-large', message: sizeMessage(name, maxMessageBytes, bodyBytes) };
      const decision = await admitRuns(instanceId, runs);
      return decision.kind === 'admitted' ? decision : { kind: TICK_REFUSAL_KINDS[decision.kind], message: decision.message };
    },
    onMessagesCounted(instanceId) {
      if (!onSpending) return;
      const instance = instances.recall(instanceId);
      // An instance that is not cached may have a budget.
      if (!instance || (instance.budgetDollars ?? 0) > 0) onSpending(instanceId);
    },
  };
}
