/**
 * How many bytes of replies are in memory, from the first byte that is read until the reply is recorded. A reply that
 * finds no room is not read on: its endpoint waits, and so does its delivery. Accounts have fair shares.
 *
 * A part of each reply is free. What comes after it is reserved at once as far as the length is known, so that no two replies
 * wait for each other, half read. Where it is not known, some more is reserved, and then all that a reply may have; the first
 * of these two only while the second would be possible as well.
 */
import { FairShare } from '../fairness/fair-share.js';
import type { InstanceOwners } from '../ports/instance-owners.js';

const KiB = 1024;
/** Of each reply. */
export const FREE_REPLY_BYTES = 64 * KiB;
/** What is reserved first where the length of a reply is not known. */
const FIRST_STEP_BYTES = 1024 * KiB;

export interface ReplyBudgetLimits {
  /** Of all replies together, without what is free. */
  readonly maxBytes: number;
  /** The most that one reply has. */
  readonly maxReplyBytes: number;
}

interface Waiter {
  readonly reply: ReplyBytes;
  readonly amount: number;
  /** Must be possible besides. */
  readonly margin: number;
  readonly granted: () => void;
}

export class ReplyBudget {
  readonly limits: ReplyBudgetLimits;
  private readonly owners: InstanceOwners;
  private readonly share: FairShare;
  /** By account; the one whose turn it is comes first. */
  private readonly waiting = new Map<string, Set<Waiter>>();

  constructor(limits: ReplyBudgetLimits, owners: InstanceOwners) {
    this.limits = limits;
    this.owners = owners;
    this.share = new FairShare(limits.maxBytes, owners);
  }

  /** Bytes that may still be reserved. */
  get free(): number {
    return this.share.free;
  }

  /** `maxAnswerBytes`: of this reply; what is longer is cut off. */
  open(instanceId: string, maxAnswerBytes: number): ReplyBytes {
    return new ReplyBytes(this, instanceId, maxAnswerBytes);
  }

  /** False when there is no room; `granted` is called when there is, unless the waiter is withdrawn. */
  reserve(waiter: Waiter): boolean {
    if (this.fits(waiter)) {
      this.share.take(waiter.reply.instanceId, waiter.amount);
      return true;
    }
    const accountId = this.owners.accountOf(waiter.reply.instanceId);
    const others = this.waiting.get(accountId);
    if (others) others.add(waiter);
    else this.waiting.set(accountId, new Set([waiter]));
    return false;
  }

  withdraw(waiter: Waiter): void {
    for (const [accountId, waiters] of this.waiting) {
      if (!waiters.delete(waiter)) continue;
      if (waiters.size === 0) this.waiting.delete(accountId);
      return;
    }
  }

  give(instanceId: string, amount: number): void {
    this.share.give(instanceId, amount);
    // An account that was served goes behind the others, and comes up again in this very loop.
    for (const [accountId, waiters] of this.waiting) {
      const next = this.nextOf(waiters);
      if (!next) continue;
      this.share.take(next.reply.instanceId, next.amount);
      waiters.delete(next);
      this.waiting.delete(accountId);
      if (waiters.size > 0) this.waiting.set(accountId, waiters);
      next.granted();
    }
  }

  /** The first one, but those that can end come before those that only begin. */
  private nextOf(waiters: ReadonlySet<Waiter>): Waiter | null {
    let first: Waiter | null = null;
    for (const waiter of waiters) {
      if (waiter.margin > 0) first ??= waiter;
      else return this.fits(waiter) ? waiter : null;
    }
    return first && this.fits(first) ? first : null;
  }

  private fits({ reply, amount, margin }: Waiter): boolean {
    const isOnlyOne = this.share.takenBy(reply.instanceId) === 0;
    return this.share.allows(reply.instanceId, isOnlyOne ? amount : amount + margin);
  }
}

/** The bytes of one reply. */
export class ReplyBytes {
  readonly instanceId: string;
  private readonly budget: ReplyBudget;
  /** What is longer is cut off. */
  private readonly most: number;
  private reserved = 0;
  private waiter: Waiter | null = null;
  private isReleased = false;

  constructor(budget: ReplyBudget, instanceId: string, maxAnswerBytes: number) {
    this.budget = budget;
    this.instanceId = instanceId;
    this.most = Math.min(maxAnswerBytes, budget.limits.maxReplyBytes, budget.limits.maxBytes);
  }

  /**
   * Whether the reply may be read on after so many bytes; `total` is its length, null where it is not known. When it may not,
   * `granted` is called as soon as it may.
   */
  mayContinue(received: number, total: number | null, granted: () => void): boolean {
    if (received <= FREE_REPLY_BYTES + this.reserved || this.isReleased) return true;
    if (this.waiter) return false;
    const { budget, most } = this;
    const wanted = Math.min(total ?? (this.reserved < FIRST_STEP_BYTES ? FIRST_STEP_BYTES : most), most);
    if (wanted <= this.reserved) return true;
    const isFirstStep = total === null && wanted < most;
    const amount = wanted - this.reserved;
    const waiter: Waiter = {
      reply: this,
      amount,
      // After the last one of an account that begins, one of them must still be able to go on to the end.
      margin: isFirstStep ? 2 * budget.limits.maxReplyBytes : 0,
      granted: () => {
        this.waiter = null;
        this.reserved += amount;
        granted();
      },
    };
    if (budget.reserve(waiter)) {
      this.reserved += amount;
      return true;
    }
    this.waiter = waiter;
    return false;
  }

  /** It is recorded, or dropped. */
  release(): void {
    if (this.isReleased) return;
    this.isReleased = true;
    if (this.waiter) this.budget.withdraw(this.waiter);
    this.waiter = null;
    if (this.reserved > 0) this.budget.give(this.instanceId, this.reserved);
  }
}
