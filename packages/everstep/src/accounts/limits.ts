/**
 * What the plan and the budget of an instance allow, asked where something
 * begins: a call of the API, a run, a schedule, a delivery. What was begun is
 * never stopped by them.
 */

import { LIMITS } from '../config/limits.js';
import type { AccountStore } from '../ports/account-store.js';
import { type InstanceLimits, type LetIn, type TickRefusal, UNBOUNDED } from '../ports/instance-limits.js';
import type { InstanceOwners } from '../ports/instance-owners.js';
import type { SharedDays } from '../ports/shared-days.js';
import type { Plan, StorageStanding } from './account-service.js';
import { type BudgetExceeded, type Budgets, createBudgets } from './budget.js';
import { CallRates } from './call-rates.js';
import { KnownInstances } from './known-instances.js';
import { endOfDay, monthOf } from './months.js';
import type { Plans } from './plans.js';
import { KnownTotals } from './quotas/account-totals.js';
import { Quotas } from './quotas/quotas.js';
import type { RefusalKind, Refusals } from './refusals.js';
import { SharedStartsOfDay } from './shared-starts-of-day.js';
import { StartsOfDay } from './starts-of-day.js';

/** Why something new is refused; `message` is for the caller. */
export type Refusal =
  | { readonly kind: 'budget-exceeded' | 'storage-quota-exceeded' | 'too-many-active-runs'; readonly message: string }
  /** `resetAt`: Unix ms at which the next day begins. */
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
  /** Who owns the instances, as it was known last. */
  readonly owners: InstanceOwners;
  /** As it was known last; the default plan for an instance that is not known. */
  plan(instanceId: string): Plan;
  /** A call of the API: null when it may go on, else the ms after which one may. */
  admitCall(instanceId: string): number | null;
  /** The same for a call of the API of a search index, by the account that owns it. */
  admitSearchCall(accountId: string): Promise<number | null>;
  /** Asked right before so many runs are started. When they may, they count for the day; else none may. */
  letRunsIn(instanceId: string, runs: number): Promise<LetIn | Refusal>;
  /** For what starts no run yet, such as a schedule. Null when it may begin. */
  refuseSpending(instanceId: string): Promise<Refusal | null>;
  /** Whether the account of the instance may store so many bytes more. Null when it may. */
  refuseStorage(instanceId: string, bytes: number): Promise<Refusal | null>;
  /** The same for a search index of the account. */
  refuseDocuments(accountId: string, bytes: number): Promise<Refusal | null>;
  /** Null when there is no such instance, or it has no owner. */
  storage(instanceId: string): Promise<StorageStanding | null>;
  /** What is refused now, in words; empty when nothing is. */
  refusedNow(instanceId: string): Promise<readonly string[]>;
  /** Something was refused: counts it for the owner to see. */
  refused(instanceId: string, kind: RefusalKind): void;
  /** To be called after a change of an instance: the change counts from the moment it resolves. */
  forget(instanceId: string): Promise<void>;
  /** To be called when other processes may have changed any of them. */
  forgetEverything(): Promise<void>;
}

export interface LimitsOptions {
  readonly accounts: Pick<AccountStore, 'usage' | 'findInstance' | 'listInstances' | 'countsOfDays' | 'totalsOf'>;
  readonly plans: Plans;
  /** Unix ms on the clock of the service. */
  readonly now: () => number;
  /** Ms that only ever grow, also while the clock of the service stands; when absent it is `now`. */
  readonly elapsedMs?: () => number;
  /** Told when messages were counted for an instance that has a budget, and when an instance was changed. */
  readonly onSpending?: (instanceId: string) => void;
  /**
   * Where runs are counted that plans bound, when several processes share the store; absent: no other process does. Rates of
   * API calls are held in each process for itself: a plan's rate is that of one of them.
   */
  readonly sharedDays?: SharedDays;
  /** The longest that one delivery may take, whatever the plan; when absent it is the limit of the service. */
  readonly maxTimeoutMs?: number;
  /** Bytes that the search indexes of an account store. None when absent. */
  readonly documentBytes?: (accountId: string) => Promise<number>;
  /** Where refusals are counted; nowhere when absent. */
  readonly refusals?: Pick<Refusals, 'count'>;
}

const TICK_KINDS = {
  'budget-exceeded': 'tick-budget-exceeded',
  'daily-limit': 'tick-daily-limit-reached',
  'storage-quota-exceeded': 'tick-storage-quota-exceeded',
  'too-many-active-runs': 'tick-too-many-active-runs',
} as const;

const isoOf = (at: number): string => new Date(at).toISOString().replace('.000Z', 'Z');

export function budgetWords({ spent, budget, until }: BudgetExceeded): string {
  const month = monthOf(until - 1);
  return `the budget of this queue instance is spent: $${spent.toFixed(2)} of $${budget} for ${month}, which ends at ${isoOf(until)} (UTC); until then no run, message or schedule is taken, while runs that were started go on; an owner, admin or finance member of its account can raise the budget`;
}

/** In words what the plan says of a message of this size. */
export const sizeWords = (plan: string, maxBytes: number, bytes: number): string =>
  `the plan ${plan} takes messages of at most ${maxBytes} bytes, and this has ${bytes}`;

function dayWords(plan: Plan, runs: number, at: number): string {
  return `the plan ${plan.name} starts at most ${plan.maxRequestsPerDay} runs a day (UTC), and ${runs} were started today; the next day begins at ${isoOf(endOfDay(at))}`;
}

/** Reads the instances that there are, so that their plans hold from the first delivery on. */
export async function createLimits(options: LimitsOptions): Promise<Limits> {
  const { accounts, plans, now, onSpending } = options;
  const elapsedMs = options.elapsedMs ?? now;
  const { sharedDays, documentBytes, maxTimeoutMs = LIMITS.maxDeliveryTimeoutMs } = options;
  const listeners: ((instanceId: string) => void)[] = [];
  const tellListeners = (instanceId: string): void => {
    for (const changed of listeners) changed(instanceId);
  };
  const changedElsewhere = (instanceId: string): void => {
    onSpending?.(instanceId);
    tellListeners(instanceId);
  };
  const instances = new KnownInstances({ accounts, elapsedMs, ...(sharedDays ? { changedElsewhere } : {}) });
  instances.learn(await accounts.listInstances());
  const budgets = createBudgets({ accounts, plans, now, elapsedMs, instances });
  const rates = new CallRates(elapsedMs);
  const starts = sharedDays ? new SharedStartsOfDay({ days: sharedDays, now }) : new StartsOfDay({ accounts, now });

  const planOf = (instanceId: string): Plan => plans.planOf(instances.recall(instanceId) ?? {});

  const storedTotals = new KnownTotals({ accounts, plans, elapsedMs, ...(documentBytes ? { documentBytes } : {}) });
  const quotas = new Quotas({ totals: storedTotals, instances, plans });

  async function refuseSpending(instanceId: string): Promise<Refusal | null> {
    const exceeded = await budgets.check(instanceId);
    if (exceeded) return { kind: 'budget-exceeded', message: budgetWords(exceeded) };
    return quotas.refuseStorage(instanceId, 0);
  }

  /** Counts the runs when they may start. */
  async function letInToday(instanceId: string, plan: Plan, runs: number): Promise<LetIn | Refusal> {
    if (plan.maxRequestsPerDay === null) {
      starts.forget(instanceId);
      return UNBOUNDED;
    }
    const decided = await starts.letIn(instanceId, runs, plan.maxRequestsPerDay);
    if (decided.kind === 'let-in') return decided;
    const { at, startedToday } = decided;
    const resetAt = endOfDay(at);
    const message = dayWords(plan, startedToday, at);
    return { kind: 'daily-limit', message, retryAfterMs: resetAt - at, limit: plan.maxRequestsPerDay, startedToday, resetAt };
  }

  async function letRunsIn(instanceId: string, runs: number): Promise<LetIn | Refusal> {
    const refused = (await refuseSpending(instanceId)) ?? (await quotas.refuseActive(instanceId, runs));
    if (refused) return refused;
    return letInToday(instanceId, plans.planOf((await instances.find(instanceId)) ?? {}), runs);
  }

  return {
    budgets,
    owners: instances,
    plan: planOf,
    letRunsIn,
    refuseSpending,
    refuseStorage: (instanceId, bytes) => quotas.refuseStorage(instanceId, bytes),
    refuseDocuments: (accountId, bytes) => quotas.refuseDocuments(accountId, bytes),
    storage: (instanceId) => quotas.standing(instanceId),
    async admitSearchCall(accountId) {
      const limit = storedTotals.limit(await storedTotals.of(accountId), 'apiCallsPerSecond');
      return rates.admit(`search ${accountId}`, limit);
    },
    admitCall: (instanceId) => rates.admit(instanceId, planOf(instanceId).apiCallsPerSecond),
    async refusedNow(instanceId) {
      const refused: string[] = [];
      const spending = await refuseSpending(instanceId);
      if (spending) refused.push(spending.message);
      const tooMany = await quotas.refuseActive(instanceId, 1);
      if (tooMany) refused.push(tooMany.message);
      const plan = plans.planOf((await instances.find(instanceId)) ?? {});
      if (plan.maxRequestsPerDay === null) return refused;
      const today = await starts.startedToday(instanceId);
      if (today >= plan.maxRequestsPerDay) refused.push(dayWords(plan, today, now()));
      return refused;
    },
    refused: (instanceId, kind) => options.refusals?.count(instanceId, kind),
    async forget(instanceId) {
      const known = budgets.forget(instanceId);
      storedTotals.forget();
      // A budget may be passed because it was lowered.
      onSpending?.(instanceId);
      await known;
      tellListeners(instanceId);
    },
    async forgetEverything() {
      budgets.forgetCounts();
      storedTotals.forget();
      const found = await accounts.listInstances().catch(() => null);
      if (found) instances.learn(found);
      for (const instanceId of instances.ids()) changedElsewhere(instanceId);
    },
    onChange: (changed) => listeners.push(changed),
    messageLimit(instanceId) {
      const { name, maxMessageBytes } = planOf(instanceId);
      return maxMessageBytes === null ? null : { plan: name, maxBytes: maxMessageBytes };
    },
    notStarted(instanceId, runs, { at }) {
      if (at !== null) starts.giveBack(instanceId, runs, at);
    },
    recount: (instanceId) => starts.forget(instanceId),
    maxParallelism: (instanceId) => planOf(instanceId).maxParallelism,
    maxTimeoutMs: (instanceId) => Math.min(planOf(instanceId).maxTimeoutMs ?? maxTimeoutMs, maxTimeoutMs),
    retentionBounds(instanceId) {
      const { logRetentionMs, deadLetterRetentionMs } = planOf(instanceId);
      return { runsMs: logRetentionMs, deadLettersMs: deadLetterRetentionMs };
    },
    async letTickIn(instanceId, bodyBytes): Promise<LetIn | TickRefusal> {
      const { name, maxMessageBytes } = plans.planOf((await instances.find(instanceId)) ?? {});
      if (maxMessageBytes !== null && bodyBytes > maxMessageBytes)
        return { kind: 'tick-body-too-large', message: sizeWords(name, maxMessageBytes, bodyBytes) };
      const decided = await letRunsIn(instanceId, 1);
      return decided.kind === 'let-in' ? decided : { kind: TICK_KINDS[decided.kind], message: decided.message };
    },
    messagesCounted(instanceId) {
      if (!onSpending) return;
      const instance = instances.recall(instanceId);
      // One that is not known at this moment may have a budget.
      if (!instance || (instance.budgetDollars ?? 0) > 0) onSpending(instanceId);
    },
  };
}
