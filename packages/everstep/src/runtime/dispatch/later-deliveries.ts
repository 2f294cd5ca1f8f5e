/**
 * Deliveries that wait outside the gates and slots until they are dispatched again: for the end of an older delivery of the same
 * slot, or for a retry, because their last attempt ended with an unexpected error or could not be made.
 */
import { CALLBACK_SLOT } from '../../engine/runs/run.js';
import type { Clock } from '../../ports/clock.js';
import { retryDelayMsAfter } from '../due/failed-tasks.js';
import { type Delivery, type DeliveryRef, deliveryKeyOf } from '../gates/delivery.js';
import type { Redispatcher } from '../runs/heavy-runs.js';

/** Delay before a delivery that could not be attempted is dispatched again. */
const RETRY_ATTEMPT_MS = 1_000;

interface Retry {
  delivery: Delivery;
  /** Delay after the last failure; null if the last attempt did not fail, but could not be made. */
  readonly failureDelayMs: number | null;
  /** Cancels the timer of the retry; null after the delivery was dispatched again. */
  cancelTimer: (() => void) | null;
}

export class LaterDeliveries {
  private readonly redispatcher: Redispatcher;
  private readonly clock: Pick<Clock, 'now' | 'setTimer'>;
  /** Deliveries that became due while an older one of the same slot was in flight, or waited for a slot with other limits. */
  private readonly dueAgain = new Map<string, Delivery>();
  private readonly retries = new Map<string, Retry>();
  private isStopped = false;

  constructor(redispatcher: Redispatcher, clock: Pick<Clock, 'now' | 'setTimer'>) {
    this.redispatcher = redispatcher;
    this.clock = clock;
  }

  /** Keeps a delivery until the older one of the same slot ends. */
  keepDueAgain(delivery: Delivery): void {
    this.dueAgain.set(deliveryKeyOf(delivery), delivery);
  }

  /** Returns and removes the delivery that became due while this older one of the same slot was waiting or in flight. */
  takeDueAgain(ref: DeliveryRef): Delivery | undefined {
    const key = deliveryKeyOf(ref);
    const next = this.dueAgain.get(key);
    this.dueAgain.delete(key);
    return next;
  }

  /** Keeps a delivery that was taken, unless a newer one is kept. */
  returnDueAgain(delivery: Delivery): void {
    if (!this.dueAgain.has(deliveryKeyOf(delivery))) this.keepDueAgain(delivery);
  }

  /** Plans the retry of a delivery that has failed. Returns the delay, which doubles with each failure. */
  retryFailed(delivery: Delivery): number {
    const delayMs = retryDelayMsAfter(this.retries.get(deliveryKeyOf(delivery))?.failureDelayMs ?? null);
    this.retry(delivery, delayMs, delayMs);
    return delayMs;
  }

  /** Plans the retry of a delivery that could not be attempted. */
  retryUnattempted(delivery: Delivery): void {
    this.retry(delivery, RETRY_ATTEMPT_MS, null);
  }

  private retry(delivery: Delivery, delayMs: number, failureDelayMs: number | null): void {
    const key = deliveryKeyOf(delivery);
    this.retries.get(key)?.cancelTimer?.();
    if (this.isStopped) return;
    const retry: Retry = { delivery, failureDelayMs, cancelTimer: null };
    retry.cancelTimer = this.clock.setTimer(this.clock.now() + delayMs, () => {
      retry.cancelTimer = null;
      this.redispatcher.redispatch(retry.delivery);
    });
    this.retries.set(key, retry);
  }

  /** Called when a scan has found the delivery. Returns whether it waits for a retry, which then has the limits of this one. */
  updateRetry(delivery: Delivery): boolean {
    const retry = this.retries.get(deliveryKeyOf(delivery));
    if (!retry?.cancelTimer) return false;
    retry.delivery = delivery;
    return true;
  }

  /** Called when the delivery is dispatched: it no longer waits for a retry. */
  dispatched(ref: DeliveryRef): void {
    const retry = this.retries.get(deliveryKeyOf(ref));
    retry?.cancelTimer?.();
    if (retry) retry.cancelTimer = null;
  }

  /** Called when an attempt has ended without an unexpected error. The delivery remains here if another retry is planned. */
  attempted(ref: DeliveryRef): void {
    const key = deliveryKeyOf(ref);
    if (this.retries.get(key)?.cancelTimer === null) this.retries.delete(key);
  }

  /** Removes the delivery of a task that no longer exists. */
  withdraw(ref: DeliveryRef): void {
    const key = deliveryKeyOf(ref);
    this.dueAgain.delete(key);
    this.retries.get(key)?.cancelTimer?.();
    this.retries.delete(key);
  }

  /** Removes the deliveries of a run that has ended on another node, except that of its failure callback. */
  withdrawRun(endedRunKey: string): void {
    this.removeAll(({ runKey, slot }) => runKey === endedRunKey && slot !== CALLBACK_SLOT);
  }

  /** Removes the deliveries of a deleted queue instance. */
  drop(deletedInstanceId: string): void {
    this.removeAll(({ limits }) => limits.instanceId === deletedInstanceId);
  }

  private removeAll(isObsolete: (delivery: Delivery) => boolean): void {
    const retriedDeliveries = [...this.retries.values()].map(({ delivery }) => delivery);
    for (const delivery of [...this.dueAgain.values(), ...retriedDeliveries]) if (isObsolete(delivery)) this.withdraw(delivery);
  }

  /** Forgets the retries, because all due tasks are read again. */
  forgetRetries(): void {
    for (const { cancelTimer } of this.retries.values()) cancelTimer?.();
    this.retries.clear();
  }

  forget(): void {
    this.dueAgain.clear();
    this.forgetRetries();
  }

  /** Plans no more retries. */
  stop(): void {
    this.isStopped = true;
  }
}
