/**
 * Limits the memory of large runs with fair shares. A run remains in memory during a delivery, and the cache cannot remove it.
 * If too many large runs are being delivered, deliveries of further ones wait.
 */
import { LIMITS } from '../../config/limits.js';
import { FairShare } from '../../fairness/fair-share.js';
import type { InstanceOwners } from '../../ports/stores/instance-owners.js';
import { type Delivery, type DeliveryRef, idOf } from '../gates/delivery.js';
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
  private readonly waiting = new Map<string, Map<string, WaitingDelivery>>();
  private readonly redispatcher: Redispatcher;

  constructor(owners: InstanceOwners, redispatcher: Redispatcher) {
    this.owners = owners;
    this.redispatcher = redispatcher;
    this.share = new FairShare(LIMITS.maxCachedRunBytes, owners);
  }

  /** Returns whether the delivery waits for memory. */
  isWaiting(ref: DeliveryRef): boolean {
    for (const deliveries of this.waiting.values()) if (deliveries.has(idOf(ref))) return true;
    return false;
  }

  /**
   * Starts a delivery of the run. Returns a function to call when the delivery ends. Returns null if the delivery must wait: it
   * is dispatched again when memory may be free, and the run should not stay in memory until then.
   */
  start(delivery: Delivery, { run, weight }: CachedRun): (() => void) | null {
    if (weight < LIMITS.heavyRunBytes) return () => {};
    const { key, instanceId } = run;
    // A run that is larger than the total limit must get its turn as well.
    const bytes = Math.min(weight, LIMITS.maxKeptEventBytes);
    const busy = this.busyRuns.get(key);
    if (busy) busy.deliveries++;
    else if (this.share.allows(instanceId, bytes)) {
      this.share.take(instanceId, bytes);
      this.busyRuns.set(key, { instanceId, bytes, deliveries: 1 });
    } else {
      const accountId = this.owners.accountOf(instanceId);
      const waitingOfAccount = this.waiting.get(accountId) ?? new Map<string, WaitingDelivery>();
      waitingOfAccount.set(idOf(delivery), { delivery, bytes });
      this.waiting.set(accountId, waitingOfAccount);
      return null;
    }
    return () => this.end(key);
  }

  /** Removes all waiting deliveries: other nodes continue with them. */
  forget(): void {
    this.waiting.clear();
  }

  private end(runKey: string): void {
    const busy = this.busyRuns.get(runKey);
    if (!busy) return;
    busy.deliveries -= 1;
    if (busy.deliveries > 0) return;
    this.busyRuns.delete(runKey);
    this.share.give(busy.instanceId, busy.bytes);
    // Dispatches one delivery of each account, in turn. The free memory is checked again when the delivery starts.
    for (const [accountId, waiting] of [...this.waiting]) {
      const [first] = waiting;
      if (!first) continue;
      const [id, { delivery, bytes }] = first;
      if (!this.share.allows(delivery.limits.instanceId, bytes)) continue;
      waiting.delete(id);
      this.waiting.delete(accountId);
      if (waiting.size > 0) this.waiting.set(accountId, waiting);
      this.redispatcher.redispatch(delivery);
    }
  }
}
