/**
 * Runs that were started today (UTC) by all processes on one store, for plans
 * that bound them: taken in the store before they are let in. Of one instance
 * one request to the store is under way at a time, and takes what came up
 * meanwhile together. What came to nothing without anybody knowing, as when a
 * process is killed, stays taken until the day ends.
 */
import type { SharedDays } from '../ports/shared-days.js';
import { dayOf } from './months.js';
import type { DayDecision } from './starts-of-day.js';

export interface SharedStartsOfDayOptions {
  readonly days: SharedDays;
  /** Unix ms on the clock of the service. */
  readonly now: () => number;
}

interface Waiting {
  readonly runs: number;
  readonly most: number;
  readonly decide: (decision: DayDecision) => void;
  readonly fail: (error: unknown) => void;
}

export class SharedStartsOfDay {
  private readonly options: SharedStartsOfDayOptions;
  private readonly waiting = new Map<string, Waiting[]>();

  constructor(options: SharedStartsOfDayOptions) {
    this.options = options;
  }

  /** Counts the runs unless they would be more than `most`. */
  letIn(instanceId: string, runs: number, most: number): Promise<DayDecision> {
    return new Promise((decide, fail) => {
      const one = { runs, most, decide, fail };
      const waiting = this.waiting.get(instanceId);
      if (waiting) {
        waiting.push(one);
        return;
      }
      this.waiting.set(instanceId, []);
      void this.takeAll(instanceId, [one]);
    });
  }

  /** So many of those that were let in at `at` (Unix ms) came to nothing. What cannot be given back stays taken. */
  giveBack(instanceId: string, runs: number, at: number): void {
    this.options.days.giveBack({ instanceId, day: dayOf(at), runs }).catch(() => {});
  }

  startedToday(instanceId: string): Promise<number> {
    return this.options.days.used({ instanceId, day: dayOf(this.options.now()) });
  }

  /** Nothing is remembered here. */
  forget(_instanceId: string): void {}

  private async takeAll(instanceId: string, first: readonly Waiting[]): Promise<void> {
    for (let batch = first; batch.length > 0; batch = this.next(instanceId)) {
      const most = Math.min(...batch.map((one) => one.most));
      const runs = batch.reduce((sum, one) => sum + one.runs, 0);
      if (await this.take(instanceId, batch, runs, most)) continue;
      // Together they are too many: then those that come first, one by one.
      for (const one of batch) await this.take(instanceId, [one], one.runs, one.most);
    }
    this.waiting.delete(instanceId);
  }

  private next(instanceId: string): readonly Waiting[] {
    const waiting = this.waiting.get(instanceId) ?? [];
    return waiting.splice(0);
  }

  /** False when several are too many together, and nothing was decided. */
  private async take(instanceId: string, batch: readonly Waiting[], runs: number, most: number): Promise<boolean> {
    const at = this.options.now();
    try {
      const { taken, used } = await this.options.days.take({ instanceId, day: dayOf(at), runs, most });
      if (!taken && batch.length > 1) return false;
      for (const { decide } of batch) decide(taken ? { kind: 'let-in', at } : { kind: 'full', at, startedToday: used });
    } catch (error) {
      for (const { fail } of batch) fail(error);
    }
    return true;
  }
}
