/**
 * Caches queue instances, so that checks on every request need no lookup. Expired entries are read again on demand.
 * After a change to an instance, its entry is read again, and the result of a read in progress is not cached.
 */
import type { AccountStore, QueueInstance } from '../../ports/stores/account-store.js';
import type { InstanceOwners } from '../../ports/stores/instance-owners.js';

/** Cache time: the longest time for which a change made elsewhere can go unnoticed. */
export const FRESH_MS = 500;
/** Time for which an account counts as active after one of its entries was read. Entries in use are read every 500 ms. */
const ACTIVE_MS = 10_000;

interface CachedInstance {
  readonly instance: QueueInstance | null;
  readonly readAt: number;
}

export interface InstanceCacheOptions {
  readonly accounts: Pick<AccountStore, 'findInstance'>;
  /** A monotonic clock in ms, which also advances while the server clock is stopped. */
  readonly elapsedMs: () => number;
  /** Called when a read finds that another process has changed the instance. */
  readonly onChangedElsewhere?: (instanceId: string) => void;
}

const hasSameBilling = (a: QueueInstance, b: QueueInstance): boolean =>
  a.plan === b.plan &&
  a.budgetDollars === b.budgetDollars &&
  a.accountId === b.accountId &&
  a.budgetAlertUrl === b.budgetAlertUrl;

export class InstanceCache implements InstanceOwners {
  private readonly options: InstanceCacheOptions;
  private readonly entries = new Map<string, CachedInstance>();
  /** Number of cached instances by account. */
  private readonly instanceCounts = new Map<string, number>();
  private readonly readsInProgress = new Map<string, Promise<QueueInstance | null>>();
  /** Time when an instance of each account was last used. Accounts that have become inactive are removed. */
  private readonly lastUsedAt = new Map<string, number>();

  constructor(options: InstanceCacheOptions) {
    this.options = options;
  }

  /** Adds instances that were just read from the store. */
  addAll(instances: readonly QueueInstance[]): void {
    const readAt = this.options.elapsedMs();
    for (const instance of instances) this.put(instance.instanceId, { instance, readAt });
  }

  /** Returns the cached instance or null, and refreshes an expired entry in the background. */
  recall(instanceId: string): QueueInstance | null {
    const entry = this.entries.get(instanceId);
    // An error is ignored here: it occurs again, and is reported, where a caller waits for the read.
    if (!entry || this.isExpired(entry)) this.read(instanceId).catch(() => {});
    return entry?.instance ?? null;
  }

  /** Returns null if the instance does not exist. Rejects if the store fails. */
  async find(instanceId: string): Promise<QueueInstance | null> {
    const entry = this.entries.get(instanceId);
    return entry && !this.isExpired(entry) ? entry.instance : this.read(instanceId);
  }

  /**
   * Invalidates the entry for callers that wait for a read. Until the read ends, `recall` still returns the old
   * entry, so that limits always apply. Resolves when the read has succeeded or failed; after a failure the next
   * `find` reads again.
   */
  async forget(instanceId: string): Promise<void> {
    const entry = this.entries.get(instanceId);
    if (entry) this.put(instanceId, { ...entry, readAt: Number.NEGATIVE_INFINITY });
    this.readsInProgress.delete(instanceId);
    await this.read(instanceId).catch(() => {});
  }

  /** Returns the ids of all cached instances. */
  instanceIds(): readonly string[] {
    return [...this.entries.keys()];
  }

  accountOf(instanceId: string): string {
    return this.entries.get(instanceId)?.instance?.accountId ?? instanceId;
  }

  get isShared(): boolean {
    return this.instanceCounts.size > 1;
  }

  othersAreActive(instanceId: string): boolean {
    const now = this.options.elapsedMs();
    const accountId = this.accountOf(instanceId);
    for (const [otherAccountId, usedAt] of this.lastUsedAt) {
      if (now - usedAt >= ACTIVE_MS) this.lastUsedAt.delete(otherAccountId);
      else if (otherAccountId !== accountId) return true;
    }
    return false;
  }

  hasSeveralInstances(accountId: string): boolean {
    return (this.instanceCounts.get(accountId) ?? 0) > 1;
  }

  private put(instanceId: string, entry: CachedInstance): void {
    const previousAccountId = this.entries.get(instanceId)?.instance?.accountId;
    const accountId = entry.instance?.accountId;
    this.entries.set(instanceId, entry);
    if (previousAccountId === accountId) return;
    this.addToCount(previousAccountId, -1);
    this.addToCount(accountId, 1);
  }

  private addToCount(accountId: string | undefined, change: number): void {
    if (accountId === undefined) return;
    const instanceCount = (this.instanceCounts.get(accountId) ?? 0) + change;
    if (instanceCount > 0) this.instanceCounts.set(accountId, instanceCount);
    else this.instanceCounts.delete(accountId);
  }

  private isExpired({ readAt }: CachedInstance): boolean {
    return this.options.elapsedMs() - readAt >= FRESH_MS;
  }

  private read(instanceId: string): Promise<QueueInstance | null> {
    const readInProgress = this.readsInProgress.get(instanceId);
    if (readInProgress) return readInProgress;
    const readAt = this.options.elapsedMs();
    const newRead = this.options.accounts.findInstance({ instanceId }).then(
      (instance) => {
        if (this.readsInProgress.get(instanceId) === newRead) {
          this.readsInProgress.delete(instanceId);
          const previousInstance = this.entries.get(instanceId)?.instance;
          this.put(instanceId, { instance, readAt });
          if (instance?.accountId) this.lastUsedAt.set(instance.accountId, readAt);
          if (previousInstance && instance && !hasSameBilling(previousInstance, instance))
            this.options.onChangedElsewhere?.(instanceId);
        }
        return instance;
      },
      (error: unknown) => {
        if (this.readsInProgress.get(instanceId) === newRead) this.readsInProgress.delete(instanceId);
        throw error;
      },
    );
    this.readsInProgress.set(instanceId, newRead);
    return newRead;
  }
}
