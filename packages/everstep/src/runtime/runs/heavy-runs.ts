/**
 * Runs that carry many bytes stay in memory while a delivery of theirs is under way, and the cache cannot let them go. So
 * there may be only so many bytes of such runs at a time, in fair shares; deliveries of others wait.
 */
import { LIMITS } from '../../config/limits.js';
import { FairShare } from '../../fairness/fair-share.js';
import type { InstanceOwners } from '../../ports/stores/instance-owners.js';
import type { Ticket } from '../gates/delivery-gates.js';
import type { CachedRun } from './run-cache.js';

interface Busy {
  readonly instanceId: string;
  readonly bytes: number;
  deliveries: number;
}

interface Waiting {
  readonly instanceId: string;
  readonly bytes: number;
  readonly again: () => void;
}

const idOf = ({ runKey, slot }: Ticket): string => `${runKey}/${slot}`;

export class HeavyRuns {
  private readonly share: FairShare;
  private readonly owners: InstanceOwners;
  /** By the key of the run. */
  private readonly busy = new Map<string, Busy>();
  /** By account; the one whose turn it is comes first. */
  private readonly waiting = new Map<string, Map<string, Waiting>>();

  constructor(owners: InstanceOwners) {
    this.owners = owners;
    this.share = new FairShare(LIMITS.maxCachedRunBytes, owners);
  }

  isWaiting(ticket: Ticket): boolean {
    for (const waiting of this.waiting.values()) if (waiting.has(idOf(ticket))) return true;
    return false;
  }

  /**
   * What ends the delivery, or null when it has to wait: then `again` is called once there may be room, and the run should
   * not stay in memory meanwhile.
   */
  begin(ticket: Ticket, { run, weight }: CachedRun, again: () => void): (() => void) | null {
    if (weight < LIMITS.heavyRunBytes) return () => {};
    const { key, instanceId } = run;
    // One that is larger than all of it must have its turn, too.
    const bytes = Math.min(weight, LIMITS.maxKeptEventBytes);
    const busy = this.busy.get(key);
    if (busy) busy.deliveries++;
    else if (this.share.allows(instanceId, bytes)) {
      this.share.take(instanceId, bytes);
      this.busy.set(key, { instanceId, bytes, deliveries: 1 });
    } else {
      const accountId = this.owners.accountOf(instanceId);
      const others = this.waiting.get(accountId) ?? new Map<string, Waiting>();
      others.set(idOf(ticket), { instanceId, bytes, again });
      this.waiting.set(accountId, others);
      return null;
    }
    return () => this.end(key);
  }

  /** Nobody waits any more: others continue with all of it. */
  forget(): void {
    this.waiting.clear();
  }

  private end(runKey: string): void {
    const busy = this.busy.get(runKey);
    if (!busy) return;
    busy.deliveries -= 1;
    if (busy.deliveries > 0) return;
    this.busy.delete(runKey);
    this.share.give(busy.instanceId, busy.bytes);
    // One of each account, by turns: which of them has room is found out when it begins.
    for (const [accountId, waiting] of [...this.waiting]) {
      const [first] = waiting;
      if (!first) continue;
      const [id, { instanceId, bytes, again }] = first;
      if (!this.share.allows(instanceId, bytes)) continue;
      waiting.delete(id);
      this.waiting.delete(accountId);
      if (waiting.size > 0) this.waiting.set(accountId, waiting);
      again();
    }
  }
}
