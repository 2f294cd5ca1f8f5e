/**
 * A resource of fixed size that accounts and queue instances share: slots, lookups, bytes.
 *
 * An account's share depends on the free amount: `2 * free² / total`. One account therefore gets at most half of the
 * resource, and the more is taken, the less the next one gets. Even if n accounts take their maximum one after the
 * other and never return anything, more than 1 / (2 * n) stays free. An account that has nothing may take any free
 * amount. Inside an account with several instances, the same rule divides the account's share among its instances. A
 * single account with a single instance may take everything.
 */
import type { InstanceOwners } from '../ports/stores/instance-owners.js';

interface AccountLoad {
  readonly accountId: string;
  takenAmount: number;
}

/**
 * Amount that an instance has taken. From its first taken unit until it has returned all of them, the instance stays assigned
 * to the same account.
 */
interface InstanceLoad {
  readonly account: AccountLoad;
  takenAmount: number;
}

/** Amounts that are taken, as inputs of the rule. */
interface AmountsInUse {
  readonly free: number;
  readonly byAccount: number;
  readonly byInstance: number;
}

const allowedShare = (total: number, free: number): number => (2 * free * free) / total;

/** Tracks the amounts of a resource that accounts and instances have taken. See the rule above. */
export class FairShare {
  private readonly total: number;
  private readonly owners: InstanceOwners;
  private readonly accounts = new Map<string, AccountLoad>();
  private readonly instances = new Map<string, InstanceLoad>();
  private usedAmount = 0;

  constructor(total: number, owners: InstanceOwners) {
    this.total = total;
    this.owners = owners;
  }

  get free(): number {
    return this.total - this.usedAmount;
  }
  get isUnused(): boolean {
    return this.instances.size === 0;
  }

  takenBy(instanceId: string): number {
    return this.instances.get(instanceId)?.takenAmount ?? 0;
  }

  /** Returns whether the instance may take this amount now. */
  allows(instanceId: string, amount = 1): boolean {
    if (amount > this.free) return false;
    const accountId = this.accountIdOf(instanceId);
    return !this.isLimited(accountId) || this.mayTake(accountId, this.amountsInUse(instanceId, accountId), amount);
  }

  /**
   * Returns how many units the instance may take one after the other; infinite if it shares the resource with no
   * other instance, so that only the total limits it.
   */
  countFor(instanceId: string): number {
    const accountId = this.accountIdOf(instanceId);
    if (!this.isLimited(accountId)) return Number.POSITIVE_INFINITY;
    return this.countFrom(accountId, this.amountsInUse(instanceId, accountId));
  }

  /** Returns the largest amount that the instance could have if nothing else was taken. */
  ceilingOf(instanceId: string): number {
    const accountId = this.accountIdOf(instanceId);
    const noAmounts = { free: this.total, byAccount: 0, byInstance: 0 };
    return this.isLimited(accountId) ? this.countFrom(accountId, noAmounts) : this.total;
  }

  /** Takes an amount, without checking whether it is allowed. */
  take(instanceId: string, amount = 1): void {
    const load = this.instances.get(instanceId) ?? this.newLoad(instanceId);
    load.takenAmount += amount;
    load.account.takenAmount += amount;
    this.usedAmount += amount;
  }

  /** Releases an amount that was taken. */
  give(instanceId: string, amount = 1): void {
    const load = this.instances.get(instanceId);
    if (!load) return;
    load.takenAmount -= amount;
    load.account.takenAmount -= amount;
    this.usedAmount -= amount;
    if (load.takenAmount > 0) return;
    this.instances.delete(instanceId);
    if (load.account.takenAmount <= 0) this.accounts.delete(load.account.accountId);
  }

  private isLimited(accountId: string): boolean {
    return this.owners.isShared || this.owners.hasSeveralInstances(accountId);
  }

  private amountsInUse(instanceId: string, accountId: string): AmountsInUse {
    const byAccount = this.accounts.get(accountId)?.takenAmount ?? 0;
    return { free: this.free, byAccount, byInstance: this.takenBy(instanceId) };
  }

  private mayTake(accountId: string, { free, byAccount, byInstance }: AmountsInUse, amount: number): boolean {
    const { isShared } = this.owners;
    const accountShare = isShared ? allowedShare(this.total, free) : Number.POSITIVE_INFINITY;
    if (byAccount > 0 && byAccount + amount > accountShare) return false;
    if (byInstance === 0 || !this.owners.hasSeveralInstances(accountId)) return true;
    const capacity = Math.min(accountShare, byAccount + free);
    return byInstance + amount <= allowedShare(capacity, capacity - byAccount);
  }

  /** Returns how many units may be taken one after the other. */
  private countFrom(accountId: string, { free, byAccount, byInstance }: AmountsInUse): number {
    let [min, max] = [0, free];
    while (min < max) {
      const count = Math.ceil((min + max) / 2);
      const amounts = { free: free - count + 1, byAccount: byAccount + count - 1, byInstance: byInstance + count - 1 };
      if (this.mayTake(accountId, amounts, 1)) min = count;
      else max = count - 1;
    }
    return min;
  }

  private accountIdOf(instanceId: string): string {
    return this.instances.get(instanceId)?.account.accountId ?? this.owners.accountOf(instanceId);
  }

  private newLoad(instanceId: string): InstanceLoad {
    const accountId = this.owners.accountOf(instanceId);
    let account = this.accounts.get(accountId);
    if (!account) {
      account = { accountId, takenAmount: 0 };
      this.accounts.set(accountId, account);
    }
    const load = { account, takenAmount: 0 };
    this.instances.set(instanceId, load);
    return load;
  }
}
