/**
 * What all queue instances and search indexes of an account store together, and how many of its runs are active. Counted in
 * the transactions that change it, and read here at most every half second for each account.
 */
import type { AccountStore } from '../../ports/account-store.js';
import type { Plan } from '../account-service.js';
import { FRESH_MS } from '../known-instances.js';
import type { Plans } from '../plans.js';
import { type AccountLimit, limitOfAccount } from './account-limits.js';

export interface AccountTotals {
  readonly storedBytes: number;
  readonly activeRuns: number;
  /** Plans of its instances. */
  readonly plans: readonly Plan[];
  /** Stored bytes of each instance. */
  readonly bytesOf: ReadonlyMap<string, number>;
}

export interface AccountTotalsOptions {
  readonly accounts: Pick<AccountStore, 'totalsOf'>;
  readonly plans: Plans;
  /** Of all search indexes of the account. None when absent. */
  readonly documentBytes?: (accountId: string) => Promise<number>;
  /** Ms that only ever grow. */
  readonly elapsedMs: () => number;
}

/** Accounts that are remembered; the oldest reading goes first. */
const MOST_KEPT = 10_000;

interface Reading {
  readonly readAt: number;
  readonly totals: Promise<AccountTotals>;
}

export class KnownTotals {
  private readonly options: AccountTotalsOptions;
  private readonly readings = new Map<string, Reading>();

  constructor(options: AccountTotalsOptions) {
    this.options = options;
  }

  of(accountId: string): Promise<AccountTotals> {
    const known = this.readings.get(accountId);
    const readAt = this.options.elapsedMs();
    if (known && readAt - known.readAt < FRESH_MS) return known.totals;
    const totals = this.read(accountId);
    const reading = { readAt, totals };
    this.readings.delete(accountId);
    this.readings.set(accountId, reading);
    for (const [oldest] of this.readings) {
      if (this.readings.size <= MOST_KEPT) break;
      this.readings.delete(oldest);
    }
    // A failure is for those who wait for it; the next one asks the store again.
    totals.catch(() => {
      if (this.readings.get(accountId) === reading) this.readings.delete(accountId);
    });
    return totals;
  }

  /** A plan or an owner has changed. */
  forget(): void {
    this.readings.clear();
  }

  limit(totals: AccountTotals, which: AccountLimit): number | null {
    return limitOfAccount(this.options.plans, totals.plans, which);
  }

  private async read(accountId: string): Promise<AccountTotals> {
    const { accounts, plans, documentBytes } = this.options;
    const [instances, documents] = await Promise.all([accounts.totalsOf({ accountId }), documentBytes?.(accountId) ?? 0]);
    return {
      storedBytes: instances.reduce((sum, { bytes }) => sum + bytes, documents),
      activeRuns: instances.reduce((sum, { activeRuns }) => sum + activeRuns, 0),
      plans: instances.map(({ plan }) => plans.planOf(plan === null ? {} : { plan })),
      bytesOf: new Map(instances.map(({ instanceId, bytes }) => [instanceId, bytes])),
    };
  }
}
