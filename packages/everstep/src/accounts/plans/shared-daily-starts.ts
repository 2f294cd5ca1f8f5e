/**
 * Counts the runs started today (UTC) by all processes on one store, for plans with a daily limit. Runs are counted
 * in the store before admission. Each instance has at most one store request in progress; runs that arrive during it share the
 * next request. Runs that never start, for example because a process is killed, stay counted until the day ends.
 */
import type { SharedDailyRuns } from '../../ports/stores/shared-daily-runs.js';
import { dayOf } from '../budgets/months.js';
import type { DayDecision } from './daily-starts.js';

export interface SharedDailyStartsOptions {
  readonly sharedDailyRuns: SharedDailyRuns;
  /** Returns the current time in Unix milliseconds. */
  readonly now: () => number;
}

interface WaitingRuns {
  readonly runs: number;
  readonly max: number;
  readonly decide: (decision: DayDecision) => void;
  readonly fail: (error: unknown) => void;
}

export class SharedDailyStarts {
  private readonly options: SharedDailyStartsOptions;
  private readonly waitingRuns = new Map<string, WaitingRuns[]>();

  constructor(options: SharedDailyStartsOptions) {
    this.options = options;
  }

  /** Counts the runs unless the total would exceed `max`. */
  admit(instanceId: string, runs: number, max: number): Promise<DayDecision> {
    return new Promise((decide, fail) => {
      const request = { runs, max, decide, fail };
      const waitingRequests = this.waitingRuns.get(instanceId);
      if (waitingRequests) {
        waitingRequests.push(request);
        return;
      }
      this.waitingRuns.set(instanceId, []);
      void this.decideAll(instanceId, [request]);
    });
  }

  /** Subtracts runs that were admitted at `at` (Unix ms) but not started. If this fails, they stay counted. */
  release(instanceId: string, runs: number, at: number): void {
    this.options.sharedDailyRuns.release({ instanceId, day: dayOf(at), runs }).catch(() => {});
  }

  startedToday(instanceId: string): Promise<number> {
    return this.options.sharedDailyRuns.used({ instanceId, day: dayOf(this.options.now()) });
  }

  /** Has no effect, because no count is cached. */
  forget(_instanceId: string): void {}

  private async decideAll(instanceId: string, firstBatch: readonly WaitingRuns[]): Promise<void> {
    for (let batch = firstBatch; batch.length > 0; batch = this.takeWaitingRuns(instanceId)) {
      const max = Math.min(...batch.map((request) => request.max));
      const runs = batch.reduce((sum, request) => sum + request.runs, 0);
      if (await this.tryCount(instanceId, batch, runs, max)) continue;
      // The batch exceeds the limit, so the runs are admitted one by one in their order.
      for (const request of batch) await this.tryCount(instanceId, [request], request.runs, request.max);
    }
    this.waitingRuns.delete(instanceId);
  }

  private takeWaitingRuns(instanceId: string): readonly WaitingRuns[] {
    return (this.waitingRuns.get(instanceId) ?? []).splice(0);
  }

  /** Returns false, without a decision, if a batch of more than one request exceeds the limit. */
  private async tryCount(instanceId: string, batch: readonly WaitingRuns[], runs: number, max: number): Promise<boolean> {
    const at = this.options.now();
    try {
      const { isReserved, used } = await this.options.sharedDailyRuns.reserve({ instanceId, day: dayOf(at), runs, max });
      if (!isReserved && batch.length > 1) return false;
      for (const { decide } of batch) decide(isReserved ? { kind: 'admitted', at } : { kind: 'full', at, startedToday: used });
    } catch (error) {
      for (const { fail } of batch) fail(error);
    }
    return true;
  }
}
