/**
 * Counts the API requests that are rejected because of plans and budgets, for the owner to see. A rejection must be cheaper
 * than the work that it prevents, so counts are collected in memory and written at most once per second. A crash loses up to
 * one second of counts.
 */

import type { Clock } from '../../ports/clock.js';
import type { Log } from '../../ports/log.js';
import type { AccountStore, DailyCount, DayCountKind } from '../../ports/stores/account-store.js';
import { dayOf } from '../budgets/months.js';

/** Delay before counts are written. A crash loses the counts of at most this period. */
const WRITE_DELAY_MS = 1_000;

export type RefusalKind = Exclude<DayCountKind, 'run' | 'unknown-login'>;
type Count = Omit<DailyCount, 'kind'>;

export interface RefusalsOptions {
  readonly accounts: Pick<AccountStore, 'countOfDay'>;
  /** Returns the time of the server clock in Unix ms, which determines the day of a count. */
  readonly now: () => number;
  /** Clock of the machine. Writing the counts does not depend on the server clock. */
  readonly clock: Clock;
  readonly log: Log;
}

export class Refusals {
  private readonly options: RefusalsOptions;
  private readonly unwrittenCounts = new Map<string, Count>();
  private cancelTimer: (() => void) | null = null;
  private latestWrite: Promise<void> = Promise.resolve();

  constructor(options: RefusalsOptions) {
    this.options = options;
  }

  count(instanceId: string, what: RefusalKind): void {
    this.add({ instanceId, what, count: 1, at: this.options.now() });
    if (this.cancelTimer) return;
    const { clock } = this.options;
    this.cancelTimer = clock.setTimer(clock.now() + WRITE_DELAY_MS, () => void this.write());
  }

  /** Resolves when all counts are written, or could not be written. */
  async write(): Promise<void> {
    this.cancelTimer?.();
    this.cancelTimer = null;
    const counts = [...this.unwrittenCounts.values()];
    this.unwrittenCounts.clear();
    if (counts.length > 0) this.latestWrite = this.latestWrite.then(() => this.writeCounts(counts));
    await this.latestWrite;
  }

  private async writeCounts(counts: readonly Count[]): Promise<void> {
    try {
      await this.options.accounts.countOfDay(counts);
    } catch (error) {
      this.options.log.warn(
        { error: String(error) },
        'could not store counts of rejected requests, retrying with the next write',
      );
      for (const count of counts) this.add(count);
    }
  }

  private add({ instanceId, what, count, at }: Count): void {
    const key = `${instanceId}\n${what} ${dayOf(at)}`;
    const previous = this.unwrittenCounts.get(key);
    const total = count + (previous?.count ?? 0);
    this.unwrittenCounts.set(key, { instanceId, what, count: total, at: Math.max(at, previous?.at ?? 0) });
  }
}
