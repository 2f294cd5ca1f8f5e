/** Creates the services for accounts: the audit log, budget alerts, search indexes, sign-in and the management of accounts. */
import { BudgetAlerts } from '../accounts/budgets/budget-alerts.js';
import { createAccountService } from '../accounts/service.js';
import { LoginLinks } from '../accounts/users/login-links.js';
import { createAudit } from '../audit/index.js';
import type { RotateRequest, RotateResult } from '../backup/control-channel.js';
import type { AccessFiles } from '../bootstrap/access-files.js';
import { elapsedMs, machineTime } from '../clock/machine-time.js';
import { observeDocuments } from '../metrics/observed-store.js';
import type { SharedChange } from '../ports/cluster.js';
import { rotateSecrets } from '../rotation/rotating.js';
import { refuseMessagesWhileClosed, type StoreWrites } from '../runtime/commits/store-writes.js';
import type { Runtime } from '../runtime/runtime.js';
import { createSearchService } from '../search/service.js';
import { createSignIn } from '../sign-in/sign-in.js';
import type { AccountParts, Limits } from './accounts.js';
import type { Addresses } from './addresses.js';
import type { Foundation } from './foundation.js';
import type { Senders } from './senders.js';

export type AccountReports = ReturnType<typeof createAccountReports>;

/** Creates what reports on accounts while the server runs: budget alerts and the audit log. */
export function createAccountReports(
  { config, accounts, store, upkeepClock, now, random, log, node }: Foundation,
  limits: Limits,
  { messageSender }: Senders,
  writes: StoreWrites,
) {
  const sender = refuseMessagesWhileClosed(messageSender, writes);
  const budgetAlerts = new BudgetAlerts({
    ...{ accounts, sender, writes, clock: upkeepClock, log, isShared: node !== null },
    readStatus: (instanceId) => limits.budgets.storedStatus(instanceId),
  });
  const audit = createAudit({
    ...{ accounts, audit: store.audit, now, clock: upkeepClock, random, log, writes, isShared: node !== null, sender },
    retentionMs: config.auditRetentionMs,
    webhookUrl: config.auditWebhookUrl,
  });
  return { budgetAlerts, audit };
}

/** Returns a function that reloads cached accounts after a change on another node. */
export function createReload(
  { authority }: AccountParts,
  limits: Limits,
  { clusterWorkers }: Senders,
  { budgetAlerts, accessFiles }: { readonly budgetAlerts: BudgetAlerts; readonly accessFiles: AccessFiles },
): (change: SharedChange) => Promise<void> {
  return async (change) => {
    if (change.kind === 'workers' || change.kind === 'everything') void clusterWorkers?.refresh();
    if (change.kind !== 'account' && change.kind !== 'everything') return;
    const instanceId = change.kind === 'account' ? change.instanceId : null;
    // A removed node may not have published its changes.
    if (change.kind === 'everything') budgetAlerts.start();
    await authority.forget(instanceId);
    await (instanceId === null ? limits.forgetEverything() : limits.forget(instanceId));
    await accessFiles.refresh(instanceId);
  };
}

/** Opens the search documents, and the socket for commands that need the running server. */
export async function openSearch(
  { openedStore, secrets, accounts, closers, log, metrics, observer, store, plans, now, random }: Foundation,
  { authority }: AccountParts,
  { audit }: AccountReports,
  addresses: Addresses,
) {
  async function rotate(request: RotateRequest): Promise<RotateResult> {
    const { sealer } = secrets;
    const result = await rotateSecrets({ ...request, store: openedStore.store, sealer, now: machineTime() });
    await authority.forget(null);
    return result;
  }
  const { documents, control } = await openedStore.openDocuments(
    ({ message }) => log.error({ error: message }, 'background work on a search index failed'),
    { rotate, record: (command, details) => audit.records.command(command, details) },
  );
  closers.add(() => documents.close());
  closers.add(async () => control?.close());
  return createSearchService({
    ...{ accounts, indexes: store.searchIndexes, plans, now, random, log },
    documents: metrics ? observeDocuments(documents, observer, elapsedMs) : documents,
    publicUrl: () => addresses.publicUrl,
  });
}

/** Creates the account service of the management API, single sign-on and login links. */
export async function openAccountServices(
  { config, accounts, now, random, plans, log }: Foundation,
  { authority, notifyAccountChanged }: AccountParts,
  limits: Limits,
  { runtime, outgoing, addresses }: { readonly runtime: Runtime; readonly outgoing: Senders; readonly addresses: Addresses },
) {
  const { proxiedFetch } = outgoing;
  const accountService = createAccountService({
    ...{ accounts, authority, now, random, plans, log },
    async onInstanceChanged(instanceId) {
      await Promise.all([limits.forget(instanceId), authority.forget(instanceId)]);
      notifyAccountChanged(instanceId);
      runtime.live.changed(instanceId, 'settings');
    },
    async onInstanceDeleted(instanceId) {
      await Promise.all([limits.forget(instanceId), authority.forget(instanceId), runtime.deletedInstances.refresh()]);
      notifyAccountChanged(instanceId);
    },
    currentRefusals: (instanceId) => limits.currentRefusals(instanceId),
    storage: (instanceId) => limits.storage(instanceId),
  });
  const signIn = await createSignIn({
    ...(proxiedFetch ? { send: proxiedFetch } : {}),
    ...{ settings: config.signIn, store: accounts, accounts: accountService, now: machineTime, elapsedMs, log },
    dashboardUrl: () => addresses.dashboardUrl,
  });
  return { accountService, signIn, loginLinks: new LoginLinks(elapsedMs, random) };
}
