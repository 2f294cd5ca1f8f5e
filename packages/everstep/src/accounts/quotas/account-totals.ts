/**
 * Stored bytes of all queue instances and search indexes of an account, and its active runs. They are counted in the
 * transactions that change them, and read here at most every half second for each account.
 */
import type { AccountStore } from '../../ports/stores/account-store.js';
import type { Plan } from '../account-service.js';
import { FRESH_MS } from '../instances/instance-cache.js';
import type { Plans } from '../plans/plans.js';
import { type AccountLimit, largestLimit } from './account-limits.js';
import { MAX_CACHED_ACCOUNTS, StoredBytesCache } from './stored-bytes-cache.js';

export interface AccountTotals {
  readonly storedBytes: number;
  readonly activeRuns: number;
  /** Plans of the account's instances. */
  readonly plans: readonly Plan[];
  /** Stored bytes by instance. */
  readonly bytesByInstance: ReadonlyMap<string, number>;
}

export interface AccountTotalsCacheOptions {
  readonly accounts: Pick<AccountStore, 'totalsOf'>;
  readonly plans: Plans;
  /** Returns the bytes that all search indexes of the account store. Default: 0. */
  readonly documentBytes?: (accountId: string) => Promise<number>;
  /** A monotonic clock in ms. */
  readonly elapsedMs: () => number;
}

interface CachedTotals {
  readonly readAt: number;
  readonly totals: Promise<AccountTotals>;
}

export class AccountTotalsCache {
  private readonly options: AccountTotalsCacheOptions;
  private readonly documentBytes: StoredBytesCache;
  private readonly cachedTotals = new Map<string, CachedTotals>();

  constructor(options: AccountTotalsCacheOptions) {
    this.options = options;
    this.documentBytes = new StoredBytesCache(options.documentBytes ?? (async () => 0));
  }

  get(accountId: string): Promise<AccountTotals> {
    const cachedEntry = this.cachedTotals.get(accountId);
    const readAt = this.options.elapsedMs();
    if (cachedEntry && readAt - cachedEntry.readAt < FRESH_MS) return cachedEntry.totals;
    const totals = this.read(accountId);
    const newEntry = { readAt, totals };
    this.cachedTotals.delete(accountId);
    this.cachedTotals.set(accountId, newEntry);
    for (const [oldestAccountId] of this.cachedTotals) {
      if (this.cachedTotals.size <= MAX_CACHED_ACCOUNTS) break;
      this.cachedTotals.delete(oldestAccountId);
    }
    // A failure is only reported to the callers that wait for this read. The next caller reads again.
    totals.catch(() => {
      if (this.cachedTotals.get(accountId) === newEntry) this.cachedTotals.delete(accountId);
    });
    return totals;
  }

  /** Clears the cache after a plan or an owner has changed. */
  forget(): void {
    this.cachedTotals.clear();
  }

  limit(totals: AccountTotals, limitName: AccountLimit): number | null {
    return largestLimit(this.options.plans, totals.plans, limitName);
  }

  private async read(accountId: string): Promise<AccountTotals> {
    const { accounts, plans } = this.options;
    const [instances, searchBytes] = await Promise.all([accounts.totalsOf({ accountId }), this.documentBytes.get(accountId)]);
    return {
      storedBytes: instances.reduce((sum, { bytes }) => sum + bytes, searchBytes),
      activeRuns: instances.reduce((sum, { activeRuns }) => sum + activeRuns, 0),
      plans: instances.map(({ plan }) => plans.planOf(plan === null ? {} : { plan })),
      bytesByInstance: new Map(instances.map(({ instanceId, bytes }) => [instanceId, bytes])),
    };
  }
}
