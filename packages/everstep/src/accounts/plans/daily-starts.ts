/**
 * Counts the runs started today (UTC), for plans with a daily limit. The stored count is read once a day. Later runs
 * are counted here on admission, so that concurrent runs cannot exceed the plan. A run counts for the day of its
 * admission, even if it starts after midnight: the unit that starts it records the admission time.
 */
import type { AccountStore } from '../../ports/stores/account-store.js';
import { dayOf } from '../budgets/months.js';

interface DayCount {
  readonly day: number;
  runs: number;
}

/** Decision on whether runs may start today. `at` is the time of the decision in Unix ms. */
export type DayDecision =
  | { readonly kind: 'admitted'; readonly at: number }
  | { readonly kind: 'full'; readonly at: number; readonly startedToday: number };

export interface DailyStartsOptions {
  readonly accounts: Pick<AccountStore, 'countsByDay'>;
  /** Returns the time in Unix ms from the clock by which runs are counted. */
  readonly now: () => number;
}

export class DailyStarts {
  private readonly options: DailyStartsOptions;
  private readonly dayCounts = new Map<string, DayCount>();
  private readonly readsInProgress = new Map<string, Promise<void>>();

  constructor(options: DailyStartsOptions) {
    this.options = options;
  }

  /** Counts the runs unless the total would exceed `max`. `at` is the time of the decision. */
  async admit(instanceId: string, runs: number, max: number): Promise<DayDecision> {
    for (;;) {
      const today = await this.today(instanceId);
      const at = this.options.now();
      // Midnight may pass while the count is being read.
      if (dayOf(at) !== today.day) continue;
      if (today.runs + runs > max) return { kind: 'full', at, startedToday: today.runs };
      today.runs += runs;
      return { kind: 'admitted', at };
    }
  }

  /** Subtracts runs that were admitted at `at` (Unix ms) but not started. */
  release(instanceId: string, runs: number, at: number): void {
    const dayCount = this.dayCounts.get(instanceId);
    if (dayCount?.day === dayOf(at)) dayCount.runs = Math.max(0, dayCount.runs - runs);
  }

  async startedToday(instanceId: string): Promise<number> {
    return (await this.today(instanceId)).runs;
  }

  /** Drops the cached count of an instance. Runs that are not admitted here make the count outdated. */
  forget(instanceId: string): void {
    if (this.dayCounts.size > 0) this.dayCounts.delete(instanceId);
  }

  /** Returns the counter of the current day. A caller must read and change it without an `await` in between. */
  private async today(instanceId: string): Promise<DayCount> {
    for (;;) {
      const dayCount = this.dayCounts.get(instanceId);
      if (dayCount?.day === dayOf(this.options.now())) return dayCount;
      let readInProgress = this.readsInProgress.get(instanceId);
      if (!readInProgress) {
        readInProgress = this.read(instanceId).finally(() => this.readsInProgress.delete(instanceId));
        this.readsInProgress.set(instanceId, readInProgress);
      }
      await readInProgress;
    }
  }

  private async read(instanceId: string): Promise<void> {
    const day = dayOf(this.options.now());
    const counts = await this.options.accounts.countsByDay({ instanceId, fromDay: day });
    const runs = counts.find((count) => count.day === day && count.what === 'run')?.count ?? 0;
    this.dayCounts.set(instanceId, { day, runs });
  }
}
