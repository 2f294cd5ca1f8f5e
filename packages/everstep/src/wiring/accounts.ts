/** Opens the accounts, with their credentials and limits. */
import { recordPrices } from '../accounts/budgets/prices.js';
import { createLimits } from '../accounts/plans/limits.js';
import { Refusals } from '../accounts/plans/refusals.js';
import { createAuthority } from '../accounts/tokens/authority.js';
import { startAccounts, startSharedAccounts } from '../bootstrap/first-start.js';
import { elapsedMs, machineTime } from '../clock/machine-time.js';
import type { OpenedNode } from '../stores/postgres/index.js';
import type { Foundation } from './foundation.js';

export type AccountParts = Awaited<ReturnType<typeof openAccounts>>;
export type Limits = Awaited<ReturnType<typeof openLimits>>['limits'];

/** Opens the accounts of the store, and creates the first ones if it is new. */
export async function openAccounts({ config, store, accounts, node, cluster, clock, now, random }: Foundation) {
  const notifyAccountChanged = (instanceId: string): void => cluster?.notify({ kind: 'account', instanceId });
  const cacheCoordinator = cluster ? { cacheCoordinator: { elapsedMs, notifyChanged: notifyAccountChanged } } : {};
  const authority = await createAuthority({ store, now: machineTime, namedTokenNow: now, ...cacheCoordinator });
  const { dataDir, region, adminEmail } = config;
  const startOptions = { dataDir, region, adminEmail, accounts, authority, clock, random };
  const runExclusively: OpenedNode['runExclusively'] = (work) => (node ? node.runExclusively(work) : work());
  const installation = node ? await startSharedAccounts({ ...startOptions, runExclusively }) : await startAccounts(startOptions);
  return { authority, installation, runExclusively, notifyAccountChanged };
}

/** Callbacks into parts that are created after the limits. */
export interface LimitsOptions {
  readonly onSpending: (instanceId: string) => void;
  /** Returns the bytes of the search documents of an account. */
  readonly documentBytes: (accountId: string) => Promise<number>;
}

export async function openLimits(
  { config, accounts, plans, now, random, upkeepClock, virtualClock, log, node }: Foundation,
  { runExclusively }: AccountParts,
  { onSpending, documentBytes }: LimitsOptions,
) {
  const refusals = new Refusals({ accounts, now, clock: upkeepClock, log });
  await runExclusively(() => recordPrices({ accounts, plans, now, random }));
  const limits = await createLimits({
    ...{ accounts, plans, now, refusals, onSpending, documentBytes },
    // Advancing a virtual clock makes cached readings outdated.
    elapsedMs: virtualClock ? now : elapsedMs,
    maxTimeoutMs: config.maxTimeoutMs,
    ...(node ? { sharedDailyRuns: node.sharedDailyRuns } : {}),
  });
  return { limits, refusals };
}
