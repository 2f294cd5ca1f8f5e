/**
 * Counts what plans and budgets refuse at the API, for the owner to see. A
 * refusal must cost less than what it refuses: the counts are gathered in
 * memory and written at most once a second, so that a crash loses those of the
 * last second.
 */
import type { AccountStore, CountOfDay, DayCountKind } from '../ports/account-store.js';
import type { Clock } from '../ports/clock.js';
import type { Log } from '../ports/log.js';
import { dayOf } from './months.js';

/** The most that a crash loses. */
const WRITE_AFTER_MS = 1_000;

export type RefusalKind = Exclude<DayCountKind, 'run' | 'unknown-login'>;
type Count = Omit<CountOfDay, 'kind'>;

export interface RefusalsOptions {
  readonly accounts: Pick<AccountStore, 'countOfDay'>;
  /** Unix ms on the clock of the service, by whose day they are counted. */
  readonly now: () => number;
  /** Of the machine: that they are written has nothing to do with the time of the service. */
  readonly clock: Clock;
  readonly log: Log;
}

export class Refusals {
  private readonly options: RefusalsOptions;
  private readonly unwritten = new Map<string, Count>();
  private cancelTimer: (() => void) | null = null;
  private writing: Promise<void> = Promise.resolve();

  constructor(options: RefusalsOptions) {
    this.options = options;
  }

  count(instanceId: string, what: RefusalKind): void {
    this.add({ instanceId, what, count: 1, at: this.options.now() });
    if (this.cancelTimer) return;
    const { clock } = this.options;
    this.cancelTimer = clock.setTimer(clock.now() + WRITE_AFTER_MS, () => void this.write());
  }

  /** Resolves when all that was counted is written, or could not be. */
  async write(): Promise<void> {
    this.cancelTimer?.();
    this.cancelTimer = null;
    const counts = [...this.unwritten.values()];
    this.unwritten.clear();
    if (counts.length > 0) this.writing = this.writing.then(() => this.writeDown(counts));
    await this.writing;
  }

  private async writeDown(counts: readonly Count[]): Promise<void> {
    try {
      await this.options.accounts.countOfDay(counts);
    } catch (error) {
      this.options.log.warn({ error: String(error) }, 'could not store counts of refused requests, retrying with the next write');
      for (const each of counts) this.add(each);
    }
  }

  private add({ instanceId, what, count, at }: Count): void {
    const key = `${instanceId}\n${what} ${dayOf(at)}`;
    const known = this.unwritten.get(key);
    this.unwritten.set(key, { instanceId, what, count: count + (known?.count ?? 0), at: Math.max(at, known?.at ?? 0) });
  }
}
