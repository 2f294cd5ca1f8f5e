/**
 * Limits the memory of large runs with fair shares. A run remains in memory during a delivery, and the cache cannot remove it.
 * If too many large runs are being delivered, deliveries of further ones wait.
 */
import { LIMITS } from '../../config/limits.js';
import { FairShare } from '../../fairness/fair-share.js';
import type { InstanceOwners } from '../../ports/stores/instance-owners.js';
import { type Delivery, type DeliveryRef, deliveryKeyOf } from '../gates/delivery.js';
import type { CachedRun } from './run-cache.js';

interface BusyRun {
  readonly instanceId: string;
  readonly bytes: number;
  deliveries: number;
}

interface WaitingDelivery {
  readonly delivery: Delivery;
  readonly bytes: number;
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
  private readonly redispatcher: Redispatcher;

  constructor(owners: InstanceOwners, redispatcher: Redispatcher) {
    this.owners = owners;
    this.redispatcher = redispatcher;
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
    if (weight < LIMITS.heavyRunBytes) return () => {};
    const { key, instanceId } = run;
    // The size that counts is limited, so that a run of any size gets its turn.
    const bytes = Math.min(weight, LIMITS.maxKeptEventBytes);
    const busyRun = this.busyRuns.get(key);
    if (busyRun) busyRun.deliveries++;
    else if (this.share.allows(instanceId, bytes)) {
      this.share.take(instanceId, bytes);
      this.busyRuns.set(key, { instanceId, bytes, deliveries: 1 });
    } else {
      const accountId = this.owners.accountOf(instanceId);
      const waitingOfAccount = this.waitingByAccount.get(accountId) ?? new Map<string, WaitingDelivery>();
      waitingOfAccount.set(deliveryKeyOf(delivery), { delivery, bytes });
      this.waitingByAccount.set(accountId, waitingOfAccount);
      return null;
    }
    return () => this.end(key);
  }

  /** Removes all waiting deliveries: other nodes continue with them. */
  forget(): void {
    this.waitingByAccount.clear();
  }

  private end(runKey: string): void {
    const busyRun = this.busyRuns.get(runKey);
    if (!busyRun) return;
    busyRun.deliveries -= 1;
    if (busyRun.deliveries > 0) return;
    this.busyRuns.delete(runKey);
    this.share.give(busyRun.instanceId, busyRun.bytes);
    // Dispatches one delivery of each account, in turn. The free memory is checked again when the delivery starts.
    for (const [accountId, waitingDeliveries] of [...this.waitingByAccount]) {
      const [first] = waitingDeliveries;
      if (!first) continue;
      const [id, { delivery, bytes }] = first;
      if (!this.share.allows(delivery.limits.instanceId, bytes)) continue;
      waitingDeliveries.delete(id);
      this.waitingByAccount.delete(accountId);
      if (waitingDeliveries.size > 0) this.waitingByAccount.set(accountId, waitingDeliveries);
      this.redispatcher.redispatch(delivery);
    }
  }
}
