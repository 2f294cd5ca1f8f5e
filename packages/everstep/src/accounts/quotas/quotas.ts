/**
 * Quotas for stored bytes and active runs of an account. They are checked when something new is created. Work that has
 * started continues.
 * Keeps invariant 44.
 */
import type { StorageUsage } from '../account-service.js';
import type { InstanceCache } from '../instances/instance-cache.js';
import type { Plans } from '../plans/plans.js';
import { bytesText } from './account-limits.js';
import type { AccountTotals, AccountTotalsCache } from './account-totals.js';

export interface QuotaRefusal {
  readonly kind: 'storage-quota-exceeded' | 'too-many-active-runs';
  /** Error text for the caller. */
  readonly message: string;
}

export interface QuotasOptions {
  readonly totalsCache: AccountTotalsCache;
  readonly instances: Pick<InstanceCache, 'find'>;
  readonly plans: Pick<Plans, 'planOf'>;
}

export class Quotas {
  private readonly options: QuotasOptions;

  constructor(options: QuotasOptions) {
    this.options = options;
  }

  /** Returns null if the account of the instance may store this many additional bytes. */
  async refuseStorage(instanceId: string, bytes: number): Promise<QuotaRefusal | null> {
    const totals = await this.limitedTotals(instanceId, 'maxStoredBytes');
    return totals && this.refuseBytes(totals, bytes);
  }

  /** Checks the storage quota for documents in a search index of the account. Returns null if allowed. */
  async refuseDocuments(accountId: string, bytes: number): Promise<QuotaRefusal | null> {
    return this.refuseBytes(await this.options.totalsCache.get(accountId), bytes);
  }

  /** Returns null if the account of the instance may have this many additional active runs. */
  async refuseActive(instanceId: string, runs: number): Promise<QuotaRefusal | null> {
    const totals = await this.limitedTotals(instanceId, 'maxActiveRuns');
    const limit = totals && this.options.totalsCache.limit(totals, 'maxActiveRuns');
    if (!totals || limit === null || totals.activeRuns + runs <= limit) return null;
    const message = `the account of this queue instance can have at most ${limit} active runs and messages (maxActiveRuns of its plan), and has ${totals.activeRuns}; retry when some have ended, or cancel runs`;
    return { kind: 'too-many-active-runs', message };
  }

  /** Returns null if the instance does not exist or has no owner. */
  async usage(instanceId: string): Promise<StorageUsage | null> {
    const accountId = (await this.options.instances.find(instanceId))?.accountId;
    if (accountId === undefined) return null;
    const { totalsCache } = this.options;
    const totals = await totalsCache.get(accountId);
    return {
      instanceBytes: totals.bytesByInstance.get(instanceId) ?? 0,
      accountBytes: totals.storedBytes,
      maxBytes: totalsCache.limit(totals, 'maxStoredBytes'),
      activeRuns: totals.activeRuns,
      maxActiveRuns: totalsCache.limit(totals, 'maxActiveRuns'),
    };
  }

  /** Returns null if the account has no such limit. One instance whose plan has no limit makes the account unlimited. */
  private async limitedTotals(instanceId: string, limitName: 'maxStoredBytes' | 'maxActiveRuns'): Promise<AccountTotals | null> {
    const { instances, plans, totalsCache } = this.options;
    const instance = await instances.find(instanceId);
    if (instance?.accountId === undefined || plans.planOf(instance)[limitName] === null) return null;
    return totalsCache.get(instance.accountId);
  }

  private refuseBytes(totals: AccountTotals, bytes: number): QuotaRefusal | null {
    const limit = this.options.totalsCache.limit(totals, 'maxStoredBytes');
    const { storedBytes } = totals;
    if (limit === null || (storedBytes < limit && storedBytes + bytes <= limit)) return null;
    const requiredText = bytes === 0 || storedBytes >= limit ? '' : `, and this requires ${bytesText(bytes)}`;
    const message = `the account stores ${bytesText(storedBytes)} of the ${bytesText(limit)} that its plan allows (maxStoredBytes)${requiredText}; delete dead letters, documents or schedules, or shorten the retention of runs. Active runs continue`;
    return { kind: 'storage-quota-exceeded', message };
  }
}
