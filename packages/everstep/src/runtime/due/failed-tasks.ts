/** Tasks that could not be handled, and when they are handled again. */
import { type DeliveryRef, deliveryKeyOf } from '../gates/delivery.js';

const FIRST_RETRY_MS = 1_000;
/** A value that was damaged on disk remains damaged until it is restored. */
const MAX_RETRY_MS = 60_000;

interface FailedTask<Task> {
  readonly task: Task;
  /** Time of the retry, Unix ms; infinite while the task is being handled. */
  readonly retryAt: number;
  readonly retryAfterMs: number;
}

export class FailedTasks<Task extends DeliveryRef> {
  /** Keyed by delivery. */
  private readonly failed = new Map<string, FailedTask<Task>>();

  /** Plans the next retry of a task that has failed now (Unix ms). Returns the delay, which doubles with each failure. */
  add(task: Task, now: number): number {
    const key = deliveryKeyOf(task);
    const previousMs = this.failed.get(key)?.retryAfterMs;
    const retryAfterMs = previousMs === undefined ? FIRST_RETRY_MS : Math.min(2 * previousMs, MAX_RETRY_MS);
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
  dueAt(now: number): readonly Task[] {
    return [...this.failed.values()].filter(({ retryAt }) => retryAt <= now).map(({ task }) => task);
  }

  /** Time of the next retry, Unix ms; infinite if there is none. */
  get nextRetryAt(): number {
    let nextRetryAt = Number.POSITIVE_INFINITY;
    for (const { retryAt } of this.failed.values()) nextRetryAt = Math.min(nextRetryAt, retryAt);
    return nextRetryAt;
  }
}
