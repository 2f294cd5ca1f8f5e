/** What an account may store and have active: asked where something new is created. What was started continues. */
import type { StorageStanding } from '../account-service.js';
import type { KnownInstances } from '../known-instances.js';
import type { Plans } from '../plans.js';
import { bytesText } from './account-limits.js';
import type { AccountTotals, KnownTotals } from './account-totals.js';

export interface QuotaRefusal {
  readonly kind: 'storage-quota-exceeded' | 'too-many-active-runs';
  /** For the caller. */
  readonly message: string;
}

export interface QuotasOptions {
  readonly totals: KnownTotals;
  readonly instances: Pick<KnownInstances, 'find'>;
  readonly plans: Pick<Plans, 'planOf'>;
}

export class Quotas {
  private readonly options: QuotasOptions;

  constructor(options: QuotasOptions) {
    this.options = options;
  }

  /** Null when the account of the instance may store so many bytes more. */
  async refuseStorage(instanceId: string, bytes: number): Promise<QuotaRefusal | null> {
    const totals = await this.boundedTotals(instanceId, 'maxStoredBytes');
    return totals && this.refuseBytes(totals, bytes);
  }

  /** The same for documents of a search index of the account. */
  async refuseDocuments(accountId: string, bytes: number): Promise<QuotaRefusal | null> {
    return this.refuseBytes(await this.options.totals.of(accountId), bytes);
  }

  /** Null when the account of the instance may have so many active runs more. */
  async refuseActive(instanceId: string, runs: number): Promise<QuotaRefusal | null> {
    const totals = await this.boundedTotals(instanceId, 'maxActiveRuns');
    const limit = totals && this.options.totals.limit(totals, 'maxActiveRuns');
    if (!totals || limit === null || totals.activeRuns + runs <= limit) return null;
    const message = `the account of this queue instance may have ${limit} active runs and messages (maxActiveRuns of its plan), and has ${totals.activeRuns}; retry when some have ended, or cancel runs`;
    return { kind: 'too-many-active-runs', message };
  }

  /** Null when there is no such instance, or it has no owner. */
  async standing(instanceId: string): Promise<StorageStanding | null> {
    const accountId = (await this.options.instances.find(instanceId))?.accountId;
    if (accountId === undefined) return null;
    const { totals } = this.options;
    const known = await totals.of(accountId);
    return {
      instanceBytes: known.bytesOf.get(instanceId) ?? 0,
      accountBytes: known.storedBytes,
      maxBytes: totals.limit(known, 'maxStoredBytes'),
      activeRuns: known.activeRuns,
      maxActiveRuns: totals.limit(known, 'maxActiveRuns'),
    };
  }

  /** Null when the account has no such limit: where the plan of one instance has none, so has the account. */
  private async boundedTotals(instanceId: string, which: 'maxStoredBytes' | 'maxActiveRuns'): Promise<AccountTotals | null> {
    const { instances, plans, totals } = this.options;
    const instance = await instances.find(instanceId);
    if (instance?.accountId === undefined || plans.planOf(instance)[which] === null) return null;
    return totals.of(instance.accountId);
  }

  private refuseBytes(totals: AccountTotals, bytes: number): QuotaRefusal | null {
    const limit = this.options.totals.limit(totals, 'maxStoredBytes');
    const { storedBytes } = totals;
    if (limit === null || (storedBytes < limit && storedBytes + bytes <= limit)) return null;
    const more = bytes === 0 || storedBytes >= limit ? '' : `, and this needs ${bytesText(bytes)}`;
    const message = `the account stores ${bytesText(storedBytes)} of the ${bytesText(limit)} that its plan allows (maxStoredBytes)${more}; delete dead letters, documents or schedules, or shorten the retention of runs; runs under way continue`;
    return { kind: 'storage-quota-exceeded', message };
  }
}
