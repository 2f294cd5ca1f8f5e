/**
 * What the plan and the budget of an instance allow, asked where something
 * begins: a call of the API, a run, a schedule, a delivery. What was begun is
 * never stopped by them.
 */
import type { AccountStore } from '../ports/account-store.js';
import type { InstanceLimits } from '../ports/instance-limits.js';
import type { Plan } from './account-service.js';
import { type BudgetExceeded, type Budgets, createBudgets } from './budget.js';
import { CallRates } from './call-rates.js';
import { KnownInstances } from './known-instances.js';
import { dayOf, endOfDay, monthOf } from './months.js';
import type { Plans } from './plans.js';

/** Why something new is refused; `message` is for the caller. */
export type Refusal =
  | { readonly kind: 'budget-exceeded'; readonly message: string }
  | { readonly kind: 'daily-limit'; readonly message: string; readonly retryAfterMs: number };

export interface Limits extends InstanceLimits {
  readonly budgets: Budgets;
  /** As it was known last; the default plan for an instance that is not known. */
  plan(instanceId: string): Plan;
  /** A call of the API: null when it may go on, else the ms after which one may. */
  admitCall(instanceId: string): number | null;
  /** Asked right before so many runs are started: null when they may, and then they count for the day; else none may. */
  refuseRuns(instanceId: string, runs: number): Promise<Refusal | null>;
  /** The same for what is no run: a schedule, a message. */
  refuseSpending(instanceId: string): Promise<Refusal | null>;
  /** What is refused now, in words; empty when nothing is. */
  refusedNow(instanceId: string): Promise<readonly string[]>;
  /** To be called after a change of an instance: from then on the change counts. */
  forget(instanceId: string): void;
}

export interface LimitsOptions {
  readonly accounts: Pick<AccountStore, 'usage' | 'findInstance' | 'listInstances'>;
  readonly plans: Plans;
  /** Unix ms on the clock of the service. */
  readonly now: () => number;
  /** Ms that only ever grow, also while the clock of the service stands; when absent it is `now`. */
  readonly elapsedMs?: () => number;
  /** Told when messages were counted for an instance that has a budget, and when an instance was changed. */
  readonly onSpending?: (instanceId: string) => void;
}

interface Day {
  readonly day: number;
  runs: number;
}

const isoOf = (at: number): string => new Date(at).toISOString().replace('.000Z', 'Z');

export function budgetWords({ spent, budget, until }: BudgetExceeded): string {
  const month = monthOf(until - 1);
  return `the budget of this queue instance is spent: $${spent.toFixed(2)} of $${budget} for ${month}, which ends at ${isoOf(until)} (UTC); until then no run, message or schedule is taken, while runs that were started go on; an owner, admin or finance member of its account can raise the budget`;
}

function dayWords(plan: Plan, runs: number, at: number): string {
  return `the plan ${plan.name} starts at most ${plan.maxRequestsPerDay} runs a day (UTC), and ${runs} were started today; the next day begins at ${isoOf(endOfDay(at))}`;
}

/** Reads the instances that there are, so that their plans hold from the first delivery on. */
export async function createLimits(options: LimitsOptions): Promise<Limits> {
  const { accounts, plans, now, onSpending } = options;
  const elapsedMs = options.elapsedMs ?? now;
  const instances = new KnownInstances({ accounts, elapsedMs });
  instances.learn(await accounts.listInstances());
  const budgets = createBudgets({ accounts, plans, now, elapsedMs, instances });
  const rates = new CallRates(elapsedMs);
  const days = new Map<string, Day>();

  const planOf = (instanceId: string): Plan => plans.planOf(instances.recall(instanceId) ?? {});

  function dayNow(instanceId: string): Day {
    const day = dayOf(now());
    let known = days.get(instanceId);
    if (known?.day !== day) {
      known = { day, runs: 0 };
      days.set(instanceId, known);
    }
    return known;
  }

  async function refuseSpending(instanceId: string): Promise<Refusal | null> {
    const exceeded = await budgets.check(instanceId);
    return exceeded && { kind: 'budget-exceeded', message: budgetWords(exceeded) };
  }

  /** Counts the runs when they may start. */
  function refuseToday(instanceId: string, plan: Plan, runs: number): Refusal | null {
    if (plan.maxRequestsPerDay === null) return null;
    const today = dayNow(instanceId);
    if (today.runs + runs > plan.maxRequestsPerDay) {
      const at = now();
      return { kind: 'daily-limit', message: dayWords(plan, today.runs, at), retryAfterMs: endOfDay(at) - at };
    }
    today.runs += runs;
    return null;
  }

  async function refuseRuns(instanceId: string, runs: number): Promise<Refusal | null> {
    const refused = await refuseSpending(instanceId);
    if (refused) return refused;
    return refuseToday(instanceId, plans.planOf((await instances.find(instanceId)) ?? {}), runs);
  }

  return {
    budgets,
    plan: planOf,
    refuseRuns,
    refuseSpending,
    admitCall: (instanceId) => rates.admit(instanceId, planOf(instanceId).apiCallsPerSecond),
    async refusedNow(instanceId) {
      const refused: string[] = [];
      const spending = await refuseSpending(instanceId);
      if (spending) refused.push(spending.message);
      const plan = plans.planOf((await instances.find(instanceId)) ?? {});
      const today = dayNow(instanceId).runs;
      if (plan.maxRequestsPerDay !== null && today >= plan.maxRequestsPerDay) refused.push(dayWords(plan, today, now()));
      return refused;
    },
    forget(instanceId) {
      budgets.forget(instanceId);
      // A budget may be passed because it was lowered.
      onSpending?.(instanceId);
    },
    maxParallelism: (instanceId) => planOf(instanceId).maxParallelism,
    retentionBounds(instanceId) {
      const { logRetentionMs, deadLetterRetentionMs } = planOf(instanceId);
      return { runsMs: logRetentionMs, deadLettersMs: deadLetterRetentionMs };
    },
    async refuseTick(instanceId) {
      return (await refuseRuns(instanceId, 1))?.message ?? null;
    },
    messagesCounted(instanceId) {
      if (!onSpending) return;
      const instance = instances.recall(instanceId);
      // One that is not known at this moment may have a budget.
      if (!instance || (instance.budgetDollars ?? 0) > 0) onSpending(instanceId);
    },
  };
}
