/** Due tasks that could not be handled, and when they are handled again. */
import type { DueTask } from '../../ports/stores/store.js';
import { type DeliveryRef, deliveryKeyOf } from '../gates/delivery.js';

const FIRST_RETRY_MS = 1_000;
/** A value that was damaged on disk remains damaged until it is restored. */
const MAX_RETRY_MS = 60_000;

/** Returns the delay after a failure, which doubles with each one. `previousMs` is null after the first failure. */
export const retryDelayMsAfter = (previousMs: number | null): number =>
  previousMs === null ? FIRST_RETRY_MS : Math.min(2 * previousMs, MAX_RETRY_MS);

interface FailedTask {
  readonly task: DueTask;
  /** Time of the retry, Unix ms; infinite while the task is being handled. */
  readonly retryAt: number;
  readonly retryAfterMs: number;
}

export class FailedTasks {
  /** Keyed by delivery. */
  private readonly failed = new Map<string, FailedTask>();

  /** Plans the next retry of a task that has failed now (Unix ms). Returns the delay, which doubles with each failure. */
  add(task: DueTask, now: number): number {
    const key = deliveryKeyOf(task);
    const retryAfterMs = retryDelayMsAfter(this.failed.get(key)?.retryAfterMs ?? null);
    this.failed.set(key, { task, retryAt: now + retryAfterMs, retryAfterMs });
    return retryAfterMs;
  }

  /** Called when a task is about to be handled. Returns false if it has failed and must wait for its retry. */
  mayHandle(task: DeliveryRef, now: number): boolean {
    if (this.failed.size === 0) return true;
    const key = deliveryKeyOf(task);
    const failedTask = this.failed.get(key);
    if (!failedTask) return true;
    if (failedTask.retryAt > now) return false;
    this.failed.set(key, { ...failedTask, retryAt: Number.POSITIVE_INFINITY });
    return true;
  }

  /** Called when a task was handled. It remains here if it has failed again. */
  handled(task: DeliveryRef): void {
    if (this.failed.get(deliveryKeyOf(task))?.retryAt === Number.POSITIVE_INFINITY) this.remove(task);
  }

  remove(task: DeliveryRef): void {
    if (this.failed.size > 0) this.failed.delete(deliveryKeyOf(task));
  }

  clear(): void {
    this.failed.clear();
  }

  /** Returns the tasks whose retries are due. They remain here until they are removed. */
  dueAt(now: number): readonly DueTask[] {
    return [...this.failed.values()].filter(({ retryAt }) => retryAt <= now).map(({ task }) => task);
  }

  /** Time of the next retry, Unix ms; infinite if there is none. */
  get nextRetryAt(): number {
    let nextRetryAt = Number.POSITIVE_INFINITY;
    for (const { retryAt } of this.failed.values()) nextRetryAt = Math.min(nextRetryAt, retryAt);
    return nextRetryAt;
  }
}
