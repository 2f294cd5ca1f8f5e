/**
 * Runs that were started today (UTC), for plans that bound them. What the store
 * has counted is read once for a day; from then on it is counted here as runs
 * are let in, so that of many that come at once none is let in beyond the plan.
 * A run counts for the day on which it was let in, also when it is started after
 * midnight: the unit that starts it says when that was.
 */
import type { AccountStore } from '../ports/account-store.js';
import { dayOf } from './months.js';

interface Day {
  readonly day: number;
  runs: number;
}

/** `at` is Unix ms. */
export type DayDecision =
  | { readonly kind: 'let-in'; readonly at: number }
  | { readonly kind: 'full'; readonly at: number; readonly startedToday: number };

export interface StartsOfDayOptions {
  readonly accounts: Pick<AccountStore, 'countsOfDays'>;
  /** Unix ms on the clock of the service, by which runs are counted. */
  readonly now: () => number;
}

export class StartsOfDay {
  private readonly options: StartsOfDayOptions;
  private readonly days = new Map<string, Day>();
  private readonly reading = new Map<string, Promise<void>>();

  constructor(options: StartsOfDayOptions) {
    this.options = options;
  }

  /** Counts the runs unless they would be more than `most`. `at`: the clock reading that this was decided by. */
  async letIn(instanceId: string, runs: number, most: number): Promise<DayDecision> {
    for (;;) {
      const today = await this.today(instanceId);
      const at = this.options.now();
      // Midnight may come while this waits for the day to be read.
      if (dayOf(at) !== today.day) continue;
      if (today.runs + runs > most) return { kind: 'full', at, startedToday: today.runs };
      today.runs += runs;
      return { kind: 'let-in', at };
    }
  }

  /** So many of those that were let in at `at` (Unix ms) came to nothing. */
  giveBack(instanceId: string, runs: number, at: number): void {
    const known = this.days.get(instanceId);
    if (known?.day === dayOf(at)) known.runs = Math.max(0, known.runs - runs);
  }

  async startedToday(instanceId: string): Promise<number> {
    return (await this.today(instanceId)).runs;
  }

  /** Its runs are not let in here now: what is known of it is no more true. */
  forget(instanceId: string): void {
    if (this.days.size > 0) this.days.delete(instanceId);
  }

  /** From the last look to the use of what it returns nothing must wait. */
  private async today(instanceId: string): Promise<Day> {
    for (;;) {
      const known = this.days.get(instanceId);
      if (known?.day === dayOf(this.options.now())) return known;
      let reading = this.reading.get(instanceId);
      if (!reading) {
        reading = this.read(instanceId).finally(() => this.reading.delete(instanceId));
        this.reading.set(instanceId, reading);
      }
      await reading;
    }
  }

  private async read(instanceId: string): Promise<void> {
    const day = dayOf(this.options.now());
    const counts = await this.options.accounts.countsOfDays({ instanceId, fromDay: day });
    const runs = counts.find((count) => count.day === day && count.what === 'run')?.count ?? 0;
    this.days.set(instanceId, { day, runs });
  }
}
