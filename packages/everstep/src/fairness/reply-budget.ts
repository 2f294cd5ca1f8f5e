/**
 * Limits the memory for replies, from the first byte read until the reply is recorded. If the budget is exhausted,
 * reading pauses, so the endpoint and its delivery wait. Accounts have fair shares.
 *
 * The first bytes of each reply are free. If the length is known, the rest is reserved at once, so that partly read
 * replies never wait for each other. If it is unknown, a first amount is reserved, then the maximum reply size. The
 * first amount is granted only while the maximum would still be available as well.
 */

import type { InstanceOwners } from '../ports/stores/instance-owners.js';
import { FairShare } from './fair-share.js';

const KiB = 1024;
/** Number of bytes of each reply that are not limited. */
export const FREE_REPLY_BYTES = 64 * KiB;
/** First reservation for a reply of unknown length. */
const FIRST_RESERVATION_BYTES = 1024 * KiB;

export interface ReplyBudgetLimits {
  /** Maximum number of bytes of all replies together, except free bytes. */
  readonly maxBytes: number;
  /** Maximum number of bytes of one reply. */
  readonly maxReplyBytes: number;
}

interface Waiter {
  readonly reply: ReplyBytes;
  readonly amount: number;
  /** Number of bytes that must be available in addition to `amount`. */
  readonly margin: number;
  readonly onGranted: () => void;
}

export class ReplyBudget {
  readonly limits: ReplyBudgetLimits;
  private readonly owners: InstanceOwners;
  private readonly share: FairShare;
  /** Waiters by account; the account to serve next comes first. */
  private readonly waitersByAccount = new Map<string, Set<Waiter>>();

  constructor(limits: ReplyBudgetLimits, owners: InstanceOwners) {
    this.limits = limits;
    this.owners = owners;
    this.share = new FairShare(limits.maxBytes, owners);
  }

  /** Number of bytes that can still be reserved. */
  get free(): number {
    return this.share.free;
  }

  /** Starts counting a reply. Its bytes after `maxResponseBytes` are dropped. */
  open(instanceId: string, maxResponseBytes: number): ReplyBytes {
    return new ReplyBytes(this, instanceId, maxResponseBytes);
  }

  /**
   * Reserves bytes for the waiter. Returns false if they are not available. `onGranted` is then called later, unless the waiter
   * is withdrawn.
   */
  reserve(waiter: Waiter): boolean {
    if (this.fits(waiter)) {
      this.share.take(waiter.reply.instanceId, waiter.amount);
      return true;
    }
    const accountId = this.owners.accountOf(waiter.reply.instanceId);
    const waiters = this.waitersByAccount.get(accountId);
    if (waiters) waiters.add(waiter);
    else this.waitersByAccount.set(accountId, new Set([waiter]));
    return false;
  }

  withdraw(waiter: Waiter): void {
    for (const [accountId, waiters] of this.waitersByAccount) {
      if (!waiters.delete(waiter)) continue;
      if (waiters.size === 0) this.waitersByAccount.delete(accountId);
      return;
    }
  }

  give(instanceId: string, amount: number): void {
    this.share.give(instanceId, amount);
    // A served account moves to the end, so this loop visits it again.
    for (const [accountId, waiters] of this.waitersByAccount) {
      const nextWaiter = this.nextOf(waiters);
      if (!nextWaiter) continue;
      this.share.take(nextWaiter.reply.instanceId, nextWaiter.amount);
      waiters.delete(nextWaiter);
      this.waitersByAccount.delete(accountId);
      if (waiters.size > 0) this.waitersByAccount.set(accountId, waiters);
      nextWaiter.onGranted();
    }
  }

  /** Returns the first waiter that fits. Replies that will finish take precedence over replies that start. */
  private nextOf(waiters: ReadonlySet<Waiter>): Waiter | null {
    let firstStarting: Waiter | null = null;
    for (const waiter of waiters) {
      if (waiter.margin > 0) firstStarting ??= waiter;
      else return this.fits(waiter) ? waiter : null;
    }
    return firstStarting && this.fits(firstStarting) ? firstStarting : null;
  }

  private fits({ reply, amount, margin }: Waiter): boolean {
    const hasNothingReserved = this.share.takenBy(reply.instanceId) === 0;
    return this.share.allows(reply.instanceId, hasNothingReserved ? amount : amount + margin);
  }
}

/** Tracks the memory of one reply. */
export class ReplyBytes {
  readonly instanceId: string;
  private readonly budget: ReplyBudget;
  /** Maximum size of the reply; longer replies are cut off. */
  private readonly maxBytes: number;
  private reservedBytes = 0;
  private waiter: Waiter | null = null;
  private isReleased = false;

  constructor(budget: ReplyBudget, instanceId: string, maxResponseBytes: number) {
    this.budget = budget;
    this.instanceId = instanceId;
    this.maxBytes = Math.min(maxResponseBytes, budget.limits.maxReplyBytes, budget.limits.maxBytes);
  }

  /**
   * Returns whether reading may continue after `receivedBytes` bytes. `totalBytes` is the reply length, or null if unknown. If
   * the result is false, `onGranted` is called as soon as reading may continue.
   */
  canContinue(receivedBytes: number, totalBytes: number | null, onGranted: () => void): boolean {
    if (receivedBytes <= FREE_REPLY_BYTES + this.reservedBytes || this.isReleased) return true;
    if (this.waiter) return false;
    const { budget, maxBytes } = this;
    const targetBytes = Math.min(
      totalBytes ?? (this.reservedBytes < FIRST_RESERVATION_BYTES ? FIRST_RESERVATION_BYTES : maxBytes),
      maxBytes,
    );
    if (targetBytes <= this.reservedBytes) return true;
    const isFirstReservation = totalBytes === null && targetBytes < maxBytes;
    const amount = targetBytes - this.reservedBytes;
    const waiter: Waiter = {
      reply: this,
      amount,
      // When several replies of an account start while little is free, one of them must still be able to finish.
      margin: isFirstReservation ? 2 * budget.limits.maxReplyBytes : 0,
      onGranted: () => {
        this.waiter = null;
        this.reservedBytes += amount;
        onGranted();
      },
    };
    if (budget.reserve(waiter)) {
      this.reservedBytes += amount;
      return true;
    }
    this.waiter = waiter;
    return false;
  }

  /** Frees the memory when the reply is recorded or dropped. */
  release(): void {
    if (this.isReleased) return;
    this.isReleased = true;
    if (this.waiter) this.budget.withdraw(this.waiter);
    this.waiter = null;
    if (this.reservedBytes > 0) this.budget.give(this.instanceId, this.reservedBytes);
  }
}
