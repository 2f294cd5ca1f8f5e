/**
 * Limits the memory of large runs with fair shares. A run remains in memory during a delivery, and the cache cannot remove it.
 * If too many large runs are being delivered, deliveries of further ones wait.
 *
 * When memory may be free, the first delivery of each account is dispatched again. The free memory is checked again when it
 * starts, and then the next delivery of the account is dispatched. A delivery that does not start must not keep the others
 * waiting: its run may have ended, or it may wait at a gate.
 */
import { LIMITS } from '../../config/limits.js';
import { FairShare } from '../../fairness/fair-share.js';
import type { Clock } from '../../ports/clock.js';
import type { InstanceOwners } from '../../ports/stores/instance-owners.js';
import { type Delivery, type DeliveryRef, deliveryKeyOf } from '../gates/delivery.js';
import type { CachedRun } from './run-cache.js';

/** Time in which a delivery that was dispatched again must start before the next one of its account is dispatched. */
const MAX_WAKE_MS = 1_000;

interface BusyRun {
  readonly instanceId: string;
  readonly bytes: number;
  deliveries: number;
}

interface WaitingDelivery {
  readonly delivery: Delivery;
  readonly bytes: number;
}

/** A delivery that was dispatched again and has not started. */
interface WokenDelivery {
  readonly id: string;
  readonly cancelTimer: () => void;
}

/** Dispatches a delivery that has waited outside the dispatcher. */
export interface Redispatcher {
  redispatch(delivery: Delivery): void;
}

export class HeavyRuns {
  private readonly share: FairShare;
  private readonly owners: InstanceOwners;
  /** Large runs with deliveries, by run key. */
  private readonly busyRuns = new Map<string, BusyRun>();
  /** Keyed by account; the next account is first. */
  private readonly waitingByAccount = new Map<string, Map<string, WaitingDelivery>>();
  /** Keyed by account. */
  private readonly wokenByAccount = new Map<string, WokenDelivery>();
  private readonly redispatcher: Redispatcher;
  private readonly clock: Pick<Clock, 'now' | 'setTimer'>;

  constructor(owners: InstanceOwners, redispatcher: Redispatcher, clock: Pick<Clock, 'now' | 'setTimer'>) {
    this.owners = owners;
    this.redispatcher = redispatcher;
    this.clock = clock;
    this.share = new FairShare(LIMITS.maxCachedRunBytes, owners);
  }

  /** Returns whether the delivery waits for memory. */
  isWaiting(ref: DeliveryRef): boolean {
    for (const deliveries of this.waitingByAccount.values()) if (deliveries.has(deliveryKeyOf(ref))) return true;
    return false;
  }

  /**
   * Starts a delivery of the run. Returns a function to call when the delivery ends. Returns null if the delivery must wait: it
   * is dispatched again when memory may be free, and the run should not stay in memory until then.
   */
  start(delivery: Delivery, { run, weight }: CachedRun): (() => void) | null {
    const { key, instanceId } = run;
    // The size that counts is limited, so that a run of any size gets its turn.
    const bytes = Math.min(weight, LIMITS.maxKeptEventBytes);
    const isHeavy = weight >= LIMITS.heavyRunBytes;
    const hasMemory = !isHeavy || this.take(instanceId, key, bytes);
    this.removeWaiting(delivery);
    if (!hasMemory) {
      const accountId = this.owners.accountOf(instanceId);
      const waitingOfAccount = this.waitingByAccount.get(accountId) ?? new Map<string, WaitingDelivery>();
      waitingOfAccount.set(deliveryKeyOf(delivery), { delivery, bytes });
      this.waitingByAccount.set(accountId, waitingOfAccount);
    }
    this.attempted(delivery);
    if (!hasMemory) return null;
    return isHeavy ? () => this.end(key) : () => {};
  }

  /** Called when an attempt to make the delivery has ended, whether it has started or not. */
  attempted(ref: DeliveryRef): void {
    const id = deliveryKeyOf(ref);
    for (const [accountId, woken] of this.wokenByAccount) {
      if (woken.id !== id) continue;
      woken.cancelTimer();
      this.wokenByAccount.delete(accountId);
      this.wakeNext();
      return;
    }
  }

  /** Removes the waiting delivery of a task that no longer exists. */
  withdraw(ref: DeliveryRef): void {
    if (this.removeWaiting(ref)) this.wakeNext();
  }

  /** Removes the waiting deliveries of a run that has ended on another node. */
  withdrawRun(endedRunKey: string): void {
    this.removeAll(({ runKey }) => runKey === endedRunKey);
  }

  /** Removes the waiting deliveries of a deleted queue instance. */
  drop(deletedInstanceId: string): void {
    this.removeAll(({ limits }) => limits.instanceId === deletedInstanceId);
  }

  private removeAll(isObsolete: (delivery: Delivery) => boolean): void {
    for (const [accountId, deliveries] of this.waitingByAccount) {
      for (const [id, { delivery }] of deliveries) if (isObsolete(delivery)) deliveries.delete(id);
      if (deliveries.size === 0) this.waitingByAccount.delete(accountId);
    }
    this.wakeNext();
  }

  /** Removes all waiting deliveries: other nodes continue with them. */
  forget(): void {
    this.waitingByAccount.clear();
    for (const { cancelTimer } of this.wokenByAccount.values()) cancelTimer();
    this.wokenByAccount.clear();
  }

  /** Takes memory for a delivery of the run. Returns false if too little is free. */
  private take(instanceId: string, runKey: string, bytes: number): boolean {
    const busyRun = this.busyRuns.get(runKey);
    if (busyRun) {
      busyRun.deliveries++;
      return true;
    }
    if (!this.share.allows(instanceId, bytes)) return false;
    this.share.take(instanceId, bytes);
    this.busyRuns.set(runKey, { instanceId, bytes, deliveries: 1 });
    return true;
  }

  private end(runKey: string): void {
    const busyRun = this.busyRuns.get(runKey);
    if (!busyRun) return;
    busyRun.deliveries -= 1;
    if (busyRun.deliveries > 0) return;
    this.busyRuns.delete(runKey);
    this.share.give(busyRun.instanceId, busyRun.bytes);
    this.wakeNext();
  }

  /** Returns whether the delivery was waiting. */
  private removeWaiting(ref: DeliveryRef): boolean {
    for (const [accountId, deliveries] of this.waitingByAccount) {
      if (!deliveries.delete(deliveryKeyOf(ref))) continue;
      if (deliveries.size === 0) this.waitingByAccount.delete(accountId);
      return true;
    }
    return false;
  }

  /** Dispatches the first delivery of each account, in turn, if its memory is free and none of the account is about to start. */
  private wakeNext(): void {
    for (const [accountId, waitingDeliveries] of [...this.waitingByAccount]) {
      const [first] = waitingDeliveries;
      if (!first || this.wokenByAccount.has(accountId)) continue;
      const [id, { delivery, bytes }] = first;
      if (!this.share.allows(delivery.limits.instanceId, bytes)) continue;
      waitingDeliveries.delete(id);
      this.waitingByAccount.delete(accountId);
      if (waitingDeliveries.size > 0) this.waitingByAccount.set(accountId, waitingDeliveries);
      const cancelTimer = this.clock.setTimer(this.clock.now() + MAX_WAKE_MS, () => this.attempted(delivery));
      this.wokenByAccount.set(accountId, { id, cancelTimer });
      this.redispatcher.redispatch(delivery);
    }
  }
}
