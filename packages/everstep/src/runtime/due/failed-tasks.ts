/** Due tasks that could not be handled, and when they are handled again. */
import type { DueTask } from '../../ports/stores/store.js';
import { deliveryKeyOf } from '../gates/delivery.js';

const FIRST_RETRY_MS = 1_000;
/** A value that was damaged on disk remains damaged until it is restored. */
const MAX_RETRY_MS = 60_000;

interface FailedTask {
  readonly task: DueTask;
  readonly retryAt: number;
  readonly retryAfterMs: number;
}

export class FailedTasks {
  /** Keyed by delivery. */
  private readonly failed = new Map<string, FailedTask>();

  /** Plans the next retry of a task that has failed now (Unix ms). Returns the delay, which doubles with each failure. */
  add(task: DueTask, now: number): number {
    const key = deliveryKeyOf(task);
    const previousMs = this.failed.get(key)?.retryAfterMs;
    const retryAfterMs = previousMs === undefined ? FIRST_RETRY_MS : Math.min(2 * previousMs, MAX_RETRY_MS);
    this.failed.set(key, { task, retryAt: now + retryAfterMs, retryAfterMs });
    return retryAfterMs;
  }

  /** Removes a task that was handled. */
  remove(task: DueTask): void {
    if (this.failed.size > 0) this.failed.delete(deliveryKeyOf(task));
  }

  clear(): void {
    this.failed.clear();
  }

  /** Returns the tasks whose retries are due. They remain here until they are removed. */
  dueAt(now: number): readonly DueTask[] {
    return [...this.failed.values()].filter(({ retryAt }) => retryAt <= now).map(({ task }) => task);
  }

  /** Time of the next retry, Unix ms; null if there is none. */
  get nextRetryAt(): number | null {
    return this.failed.size === 0 ? null : Math.min(...[...this.failed.values()].map(({ retryAt }) => retryAt));
  }
}
