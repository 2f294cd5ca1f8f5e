/** Wires the server together. The only file that knows all of its parts. */
import { fileURLToPath } from 'node:url';
import type { Logger } from 'pino';
import { BudgetAlerts } from './accounts/budgets/budget-alerts.js';
import { recordPrices } from './accounts/budgets/prices.js';
import { createLimits } from './accounts/plans/limits.js';
import { Refusals } from './accounts/plans/refusals.js';
import { createAccountService } from './accounts/service.js';
import { createAuthority } from './accounts/tokens/authority.js';
import { LoginLinks } from './accounts/users/login-links.js';
import { createAudit, withAuditKey } from './audit/index.js';
import type { RotateAnswer, RotateRequest } from './backup/control-channel.js';
import { AccessFiles } from './bootstrap/access-files.js';
import type { Credentials } from './bootstrap/credentials.js';
import { openDataDir } from './bootstrap/data-dir.js';
import { type Joined, type Started, startAccounts, startSharedAccounts } from './bootstrap/first-start.js';
import { keepIdleMemoryLow } from './bootstrap/idle-memory.js';
import {
  addressesOf,
  findPortsFree,
  type Listener,
  lacksTrustedProxy,
  localUrl,
  managementListener,
} from './bootstrap/listeners.js';
import { LogLevelSwitch } from './bootstrap/log-level-switch.js';
import { readPlans } from './bootstrap/plans-file.js';
import { openSecrets } from './bootstrap/secrets-key.js';
import { createServiceLog } from './bootstrap/service-log.js';
import { listenError } from './bootstrap/start-error.js';
import { readTlsFiles, watchTlsFiles } from './bootstrap/tls-files.js';
import { LOOP_TIME } from './clock/loop-time.js';
import { elapsedMs, machineTime } from './clock/machine-time.js';
import { createSystemClock } from './clock/system-clock.js';
import { createSystemRandom } from './clock/system-random.js';
import { createVirtualClock } from './clock/virtual-clock.js';
import { within } from './clock/within.js';
import type { Config } from './config/config.js';
import { connectionLimits } from './config/connection-limits.js';
import { assertLimits, LIMITS } from './config/limits.js';
import { ReplyBudget } from './fairness/reply-budget.js';
import { WorkSlices } from './fairness/work-slices.js';
import { createHttpApi, type HttpApi, type HttpApiDependencies, ReadBudget, readDashboard } from './http-api/index.js';
import { TlsListener } from './http-api/tls/tls-listener.js';
import { UPSTASH_API } from './http-api/upstash/index.js';
import { createMetrics } from './metrics/index.js';
import { serveMetrics } from './metrics/metrics-server.js';
import { observedCaller, observedSender } from './metrics/observed-calls.js';
import { observedDocuments, observedStore } from './metrics/observed-store.js';
import { openDatabase, openFile } from './open-store.js';
import type { SharedChange } from './ports/cluster.js';
import { NO_OBSERVER } from './ports/observer.js';
import type { Store } from './ports/stores/store.js';
import { rotateSecrets } from './rotation/rotating.js';
import { StoreWrites, sendingWhileOpen } from './runtime/commits/store-writes.js';
import { createRuntime } from './runtime/runtime.js';
import { createSearchService } from './search/service.js';
import { createSignIn } from './sign-in/sign-in.js';
import { createAddressPolicies } from './step-calls/addresses/address-policies.js';
import type { OwnListener } from './step-calls/addresses/address-policy.js';
import { createNameResolver } from './step-calls/names/index.js';
import { createOutbound } from './step-calls/outbound.js';
import { createProxiedFetch } from './step-calls/proxied-fetch.js';
import { SERVICE_VERSION } from './step-calls/version.js';
import type { OpenedNode } from './stores/postgres/index.js';
import { createTracing } from './tracing/index.js';
import { ClusterWorkers } from './worker-connections/cluster-workers.js';
import { WorkerPools } from './worker-connections/worker-pools.js';
import { WorkerStepCaller } from './worker-connections/worker-step-caller.js';

/** Time for deliveries in flight to end when the server stops. Others are delivered again. */
const GRACE_MS = 5_000;
/** Time for responses to clients after that. */
const CLOSE_MS = 2_000;

/** Directory of the dashboard in the published package. */
const DASHBOARD_DIRECTORY = fileURLToPath(new URL('../static', import.meta.url));

export interface RunningService {
  readonly url: string;
  readonly managementUrl: string;
  /** Null for a node that joined others; the credentials are on the node that was started first. */
  readonly credentials: Credentials | null;
  /** Start time on the server's clock in Unix ms, before it continued pending work. */
  readonly startedAt: number;
  /** Whether the credentials were created now. */
  readonly start: (Started | Joined)['kind'];
  /** New path of credentials of another store that were in the data directory. */
  readonly setAside: string | null;
  /** Switches the log to `debug`, or back to the level of the settings. Rejects if the audit entry cannot be written. */
  toggleDebug(): Promise<void>;
  /** Returns the address of the dashboard that logs the first user in, once. Null when this process has no credentials. */
  loginUrl(): string | null;
  /** Stops accepting work, waits a bounded time for work in flight, and closes the store. */
  stop(): Promise<void>;
}

export interface StartOptions {
  /** Called when the credentials are known, before anything is delivered or accepted. */
  readonly beforeWork?: (credentials: Credentials) => Promise<void>;
  readonly log?: Logger;
}

interface Served {
  readonly url: string;
  readonly managementUrl: string;
  readonly listeners: readonly OwnListener[];
  close(): Promise<void>;
}

/** Starts both APIs on one address or two. Rejects with StartError when an address is not available. */
async function serve(config: Config, dependencies: HttpApiDependencies): Promise<Served> {
  const [runtime, management] = [{ host: config.host, port: config.port }, managementListener(config)];
  const apis: HttpApi[] = [];
  const listeners: OwnListener[] = [];
  const close = async () => {
    await Promise.all(apis.map((api) => api.close()));
  };
  async function listen(serves: HttpApiDependencies['serves'], { host, port, settings }: Listener): Promise<string> {
    const api = createHttpApi({ ...dependencies, ...(serves ? { serves } : {}) });
    apis.push(api);
    try {
      const listening = await api.listen({ host, port });
      listeners.push({ addresses: addressesOf(listening.address), port: listening.port });
      return localUrl(config, host, listening.port);
    } catch (error) {
      await close();
      throw listenError(host, port, error, settings);
    }
  }
  const url = await listen(management ? 'runtime' : 'both', runtime);
  return { url, managementUrl: management ? await listen('management', management) : url, listeners, close };
}

/**
 * Starts the server and resolves when it accepts requests. Rejects with StartError, whose message is for the operator, when
 * it cannot start: for example the data directory is not writable or in use, or the port is taken.
 */
export async function startService(config: Config, options: StartOptions = {}): Promise<RunningService> {
  assertLimits();
  const log = options.log ?? createServiceLog({ level: config.logLevel, format: config.mode === 'serve' ? 'json' : 'text' });
  const logLevel = new LogLevelSwitch(log, config.logLevel);
  const plans = await readPlans(config.plansFile, config.newInstancePlan);
  const tls = config.tls && new TlsListener(await readTlsFiles(config.tls));
  await findPortsFree([{ host: config.host, port: config.port }, managementListener(config)]);
  await openDataDir(config.dataDir);
  const metrics = config.metricsAddress || config.metricsToken !== null ? createMetrics(config.metricsNames) : null;
  const observer = metrics?.observer ?? NO_OBSERVER;
  const onDiskFailure = (error: Error) => {
    log.error({ error: error.message }, 'disk sync failed, exiting before anything acts on unsynced data');
    process.exit(1);
  };
  const openedStore =
    config.store.kind === 'postgres'
      ? await openDatabase(config.store.url, config, log, observer)
      : await openFile(config.store.file, config, log, { onDiskFailure, observer });
  /** What to close, in the order in which it was opened. */
  const opened: (() => Promise<void>)[] = [() => openedStore.store.close()];
  const closeAll = async () => {
    for (const close of opened.reverse()) await close();
  };
  try {
    const { node, openDocuments, place } = openedStore;
    const secrets = await openSecrets(openedStore.store.accounts, config);
    const { accounts } = secrets;
    const plainStore: Store = { ...openedStore.store, accounts };
    const cluster = node?.cluster ?? null;
    // Nodes use the time of their database, whatever the clocks of their machines say.
    const wall = cluster ? { wall: () => cluster.now() } : {};
    const steadyClock = createSystemClock({ notBefore: await plainStore.latestTime(), ...wall });
    const virtualClock = config.virtualClock
      ? createVirtualClock({
          base: steadyClock,
          quiet: () => runtime.idle(),
          maxInstants: LIMITS.maxClockInstants,
          quietTimeoutMs: LIMITS.clockQuietTimeoutMs,
        })
      : null;
    const clock = virtualClock ?? steadyClock;
    const random = createSystemRandom();
    const accountChanged = (instanceId: string): void => cluster?.notify({ kind: 'account', instanceId });
    const sharing = cluster ? { sharing: { elapsedMs, changed: accountChanged } } : {};
    const authority = await createAuthority({ store: plainStore, now: machineTime, ...sharing });
    const { dataDir, region, adminEmail } = config;
    const first = { dataDir, region, adminEmail, accounts, authority, clock, random };
    const exclusively: OpenedNode['exclusively'] = (work) => (node ? node.exclusively(work) : work());
    const account = node ? await startSharedAccounts({ ...first, exclusively }) : await startAccounts(first);
    const { credentials } = account;
    if (credentials) await options.beforeWork?.(credentials);

    /** Final once the server is listening, because the port may be chosen then; nothing is decided before. */
    let managementUrl = '';
    let publicUrl = config.publicUrl ?? localUrl(config, config.host, config.port);
    const upkeepClock = virtualClock?.upkeep ?? clock;
    if (metrics) opened.push(async () => metrics.close());
    const tracing = createTracing(config.tracing, { clock: steadyClock, now: () => clock.now(), log, observer });
    opened.push(() => tracing.close());
    const store: Store = metrics ? observedStore(plainStore, observer, elapsedMs) : plainStore;
    const writes = new StoreWrites({ store, clock: upkeepClock, random, log });
    const now = () => clock.now();
    await exclusively(() => recordPrices({ accounts, plans, now, random }));
    const refusals = new Refusals({ accounts, now, clock: upkeepClock, log });
    const limits = await createLimits({
      accounts,
      plans,
      now,
      // When a virtual clock advances, earlier reads are outdated.
      elapsedMs: virtualClock ? now : elapsedMs,
      maxTimeoutMs: config.maxTimeoutMs,
      onSpending: (instanceId) => budgetAlerts.spent(instanceId),
      refusals,
      documentBytes: (accountId) => search.storedBytes(accountId),
      ...(node ? { sharedDailyRuns: node.sharedDailyRuns } : {}),
    });
    const { owners } = limits;
    const slices = new WorkSlices(owners, LOOP_TIME);
    const names = createNameResolver({ source: config.nameSource, owners });
    let ownListeners: readonly OwnListener[] = [];
    const addressPolicyOf = createAddressPolicies({
      allowLoopback: config.allowLoopback,
      allow: config.allowAddresses,
      deny: config.denyAddresses,
      allowPorts: config.allowPorts,
      nat64Prefixes: config.nat64Prefixes,
      resolvesNames: config.egressProxy === null,
      // In dev mode the developer is the operator and may want to call the server itself.
      explain: config.mode === 'dev',
      ...(config.mode === 'serve' ? { ownListeners: () => ownListeners } : {}),
      names,
      rulesOf: (instanceId) => authority.outboundRulesOf(instanceId),
    });
    const { signingKeys, learnWorkflowOrigin, regionOf, prepare } = authority;
    const egressProxy = config.egressProxy === null ? null : { url: config.egressProxy };
    const keys = { signingKeys, ...withAuditKey(authority, config.auditWebhookKey), learnWorkflowOrigin, regionOf, prepare };
    const { maxReplyBytesInMemory: maxBytes, maxReplyBytes } = LIMITS;
    const replies = new ReplyBudget({ maxBytes, maxReplyBytes }, owners);
    const sending = { ...keys, ...(egressProxy ? { egressProxy } : {}), addressPolicyOf, owners, replies, slices };
    const outbound = createOutbound({ ...sending, now: machineTime, random, log });
    opened.push(() => outbound.close());
    const pools = new WorkerPools(steadyClock);
    const clusterWorkers = cluster && new ClusterWorkers({ local: pools, board: cluster, clock: steadyClock, log });
    const overConnections = new WorkerStepCaller({ pools, others: outbound, now: machineTime });
    const stepCaller = observedCaller(overConnections, tracing.observer, elapsedMs);
    const messageSender = observedSender(overConnections, tracing.observer, elapsedMs);
    const budgetAlerts = new BudgetAlerts({
      accounts,
      standing: (instanceId) => limits.budgets.standingNow(instanceId),
      sender: sendingWhileOpen(messageSender, writes),
      writes,
      clock: upkeepClock,
      log,
      shared: node !== null,
    });
    const audit = createAudit({
      ...{ accounts, audit: store.audit, now, clock: upkeepClock, random, log, writes, isShared: node !== null },
      sender: sendingWhileOpen(messageSender, writes),
      retentionMs: config.auditRetentionMs,
      webhookUrl: config.auditWebhookUrl,
    });
    const accessFiles = new AccessFiles({ dataDir, envFile: config.envFile, authority, log });
    /** Reloads cached accounts. */
    async function changedElsewhere(change: SharedChange): Promise<void> {
      if (change.kind === 'workers' || change.kind === 'everything') void clusterWorkers?.refresh();
      if (change.kind !== 'account' && change.kind !== 'everything') return;
      const instanceId = change.kind === 'account' ? change.instanceId : null;
      // A removed node may not have published its changes.
      if (change.kind === 'everything') budgetAlerts.start();
      await authority.forget(instanceId);
      await (instanceId === null ? limits.forgetEverything() : limits.forget(instanceId));
      await accessFiles.changedElsewhere(instanceId);
    }
    const runtime = createRuntime({
      store,
      clock,
      upkeepClock,
      paceClock: steadyClock,
      limits,
      owners,
      insightRetention: config.insightRetention,
      slices,
      random,
      stepCaller,
      messageSender,
      workers: clusterWorkers ?? pools,
      ...{ observer: tracing.observer, traces: tracing.traces },
      writes,
      log,
      ...(cluster ? { cluster } : {}),
      onChange: (change) => void changedElsewhere(change),
      publicUrl: () => publicUrl,
    });
    async function rotate(request: RotateRequest): Promise<RotateAnswer> {
      const { sealer } = secrets;
      const answer = await rotateSecrets({ ...request, store: openedStore.store, sealer, now: machineTime() });
      await authority.forget(null);
      return answer;
    }
    const { documents, control } = await openDocuments(
      ({ message }) => log.error({ error: message }, 'search document store failed'),
      { rotate, record: (command, details) => audit.records.command(command, details) },
    );
    opened.push(() => documents.close());
    opened.push(async () => control?.close());
    const search = createSearchService({
      accounts,
      indexes: store.searchIndexes,
      documents: metrics ? observedDocuments(documents, observer, elapsedMs) : documents,
      plans,
      now,
      random,
      log,
      publicUrl: () => publicUrl,
    });
    const descriptors = connectionLimits();
    let [starting, stopping] = [true, false];
    const accountService = createAccountService({
      accounts,
      authority,
      now,
      random,
      plans,
      async instanceChanged(instanceId) {
        await Promise.all([limits.forget(instanceId), authority.forget(instanceId)]);
        accountChanged(instanceId);
        runtime.live.changed(instanceId, 'settings');
      },
      async instanceDeleted(instanceId) {
        await Promise.all([limits.forget(instanceId), authority.forget(instanceId), runtime.deletedInstances.refresh()]);
        accountChanged(instanceId);
      },
      refusedNow: (instanceId) => limits.refusedNow(instanceId),
      storage: (instanceId) => limits.storage(instanceId),
      log,
    });
    const proxied = egressProxy && createProxiedFetch({ egressProxy, allow: config.allowAddresses, log });
    if (proxied) opened.push(() => proxied.close());
    const loginLinks = new LoginLinks(elapsedMs, random);
    const signIn = await createSignIn({
      ...(proxied ? { send: proxied.fetch } : {}),
      settings: config.signIn,
      store: accounts,
      accounts: accountService,
      now: machineTime,
      elapsedMs,
      dashboardUrl: () => config.publicUrl ?? managementUrl,
      log,
    });
    const dependencies: HttpApiDependencies = {
      service: runtime,
      store,
      authority: accessFiles.authority,
      accounts: accountService,
      signIn,
      loginLinks,
      search,
      limits,
      slices,
      log,
      audit: audit.records,
      logLevel,
      version: SERVICE_VERSION,
      publicUrl: () => publicUrl,
      ...(descriptors ? { connectionLimits: descriptors } : {}),
      reads: new ReadBudget(),
      workers: { pools, clock: steadyClock, replies, ...(clusterWorkers ? { cluster: clusterWorkers } : {}) },
      observer,
      ...(metrics && config.metricsToken !== null ? { metrics: { token: config.metricsToken, page: metrics.page } } : {}),
      ...(cluster ? { nodeId: () => cluster.nodeId } : {}),
      isStarting: () => starting,
      isStopping: () => stopping,
      hasLease: () => cluster?.canStartWork ?? true,
      storeRefusal: () => writes.refusal,
      ...(cluster ? { nodes: () => cluster.nodes() } : {}),
      addressPolicy: { check: (url, instanceId) => addressPolicyOf(instanceId).check(url) },
      dialectOperations: UPSTASH_API,
      ...(virtualClock ? { virtualTime: virtualClock } : {}),
      dashboard: await readDashboard(DASHBOARD_DIRECTORY),
      // A host without a region means the region of this installation.
      defaultRegion: config.region,
      trustedProxies: config.trustedProxies,
      queryTokens: config.queryTokens,
      accessLog: config.accessLog,
      isPublicHttps: config.publicUrl?.startsWith('https:') ?? false,
      ...(tls ? { tls } : {}),
    };
    const served = await serve(config, dependencies);
    const { url } = served;
    managementUrl = served.managementUrl;
    ownListeners = served.listeners;
    opened.push(async () => {
      const closing = served.close();
      await runtime.stop({ graceMs: GRACE_MS });
      await clusterWorkers?.stop();
      await budgetAlerts.stop();
      await audit.stop();
      await search.stop();
      await within(CLOSE_MS, closing);
      await refusals.write();
    });
    if (tls && config.tls) {
      const watch = watchTlsFiles(config.tls, { log, onChange: (files) => tls.replace(files) });
      opened.push(async () => watch.close());
    }
    publicUrl = config.publicUrl ?? url;
    metrics?.observe({
      now,
      workload: () => runtime.workload(),
      workers: () => pools.links.map(({ profile, inFlight }) => ({ app: profile.app, places: profile.maxConcurrency, inFlight })),
      acceptsWrites: () => writes.isOpen,
      measure: () => store.measure(),
      nodes: async () => (await cluster?.nodes()) ?? [],
      info: () => ({ version: SERVICE_VERSION, store: config.store.kind, node: cluster?.nodeId ?? '' }),
    });
    if (metrics && config.metricsAddress) {
      const { host, port } = config.metricsAddress;
      const server = await serveMetrics(metrics, { host: host ?? config.host, port });
      opened.push(() => server.close());
    }
    const startedAt = clock.now();
    await runtime.start();
    await clusterWorkers?.start();
    budgetAlerts.start();
    audit.start();
    search.start();
    const stopKeeping = keepIdleMemoryLow();
    opened.push(async () => stopKeeping());
    const addresses = { url, managementUrl };
    if (credentials) await accessFiles.write({ ...credentials, ...addresses });
    // Last, because a script that waits for this line reads the env file next.
    starting = false;
    log.info({ url, dataDir, store: place, region }, 'server started');
    if (!secrets.areEncrypted)
      log.warn({}, 'secrets in the database are not encrypted, set EVERSTEP_SECRETS_KEY_FILE on every node');
    if (lacksTrustedProxy(config))
      log.warn(
        { publicUrl },
        'public URL is https without a trusted proxy, set EVERSTEP_TRUSTED_PROXIES to see client addresses',
      );
    let stopped: Promise<void> | undefined;
    const stop = () => {
      stopping = true;
      stopped ??= closeAll();
      return stopped;
    };
    const toggleDebug = () => audit.records.command('log-level', { level: logLevel.toggleDebug('signal') });
    const loginUrl = () => loginLinks.pageUrl(managementUrl, credentials);
    const { kind: start, setAside } = account;
    return { ...addresses, credentials, startedAt, start, setAside, loginUrl, toggleDebug, stop };
  } catch (error) {
    await closeAll();
    throw error;
  }
}
