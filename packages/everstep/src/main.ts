/** Starts the server: the only file that knows the order in which its parts are created. */
import type { Logger } from 'pino';
import { AccessFiles } from './bootstrap/access-files.js';
import type { Credentials } from './bootstrap/credentials.js';
import type { JoinedStore, StartedInstallation } from './bootstrap/first-start.js';
import { keepIdleMemoryLow } from './bootstrap/idle-memory.js';
import { lacksTrustedProxy } from './bootstrap/listeners.js';
import { StartError } from './bootstrap/start-error.js';
import { watchTlsFiles } from './bootstrap/tls-files.js';
import { pause } from './clock/pause.js';
import { waitWithTimeout } from './clock/wait-with-timeout.js';
import type { Config } from './config/config.js';
import { assertLimits } from './config/limits.js';
import { StoreWrites } from './runtime/commits/store-writes.js';
import { createRuntime } from './runtime/runtime.js';
import { createAccountReports, createReload, openAccountServices, openSearch } from './wiring/account-services.js';
import { openAccounts, openLimits } from './wiring/accounts.js';
import { Addresses } from './wiring/addresses.js';
import { createApiDependencies, serve } from './wiring/api.js';
import { Closers } from './wiring/closers.js';
import { openFoundation, type PreparedStart, prepare } from './wiring/foundation.js';
import { startMetrics } from './wiring/metrics.js';
import { openSenders } from './wiring/senders.js';
import { type AvailabilityOptions, untilAvailable } from './wiring/start/until-available.js';
import { WaitingServer } from './wiring/start/waiting-server.js';

/** Time for deliveries in flight to end when the server stops. Others are delivered again. */
const GRACE_MS = 5_000;
/** Additional time for responses to clients. */
const CLOSE_MS = 2_000;

export interface RunningServer {
  readonly url: string;
  readonly managementUrl: string;
  /** Null for a node that joined others; the credentials are on the node that was started first. */
  readonly credentials: Credentials | null;
  /** Time on the server's clock before it continued pending work, Unix ms. */
  readonly startedAt: number;
  /** What the start created, for example new credentials. */
  readonly start: (StartedInstallation | JoinedStore)['kind'];
  /** New path of credentials of another store that were in the data directory. */
  readonly setAsidePath: string | null;
  /** Switches the log to `debug`, or back to the level of the settings. Rejects if the audit entry cannot be written. */
  toggleDebug(): Promise<void>;
  /** Returns a dashboard URL that logs in the first user once; null if this process has no credentials. */
  loginUrl(): string | null;
  /** Stops accepting work, waits a bounded time for work in flight, and closes the store. */
  stop(): Promise<void>;
}

export interface StartOptions {
  /** Called once the credentials are known, before anything is delivered or accepted. */
  readonly beforeWork?: (credentials: Credentials) => Promise<void>;
  readonly log?: Logger;
  /** Aborts a start that waits for its store. */
  readonly signal?: AbortSignal;
}

/**
 * Starts the server and resolves when it accepts requests. While the store is unavailable, it waits and responds to requests
 * with 503. Rejects with StartError, whose message is for the operator, if it cannot start, for example because the data directory
 * is not writable or in use, or the port is taken.
 */
export async function startServer(config: Config, options: StartOptions = {}): Promise<RunningServer> {
  assertLimits();
  const closers = new Closers();
  const prepared = await prepare(config, options.log);
  const { log, tls } = prepared;
  const waitingServer = new WaitingServer(config, tls);
  const canceled = () => {
    throw new StartError('The server was stopped before its store was available.');
  };
  const waitOptions = { log, pause: (ms: number) => pause(ms, options.signal).catch(canceled) };
  try {
    const parts = await untilAvailable(() => openParts(prepared, closers), {
      ...waitOptions,
      async onUnavailable(reason) {
        await closers.close();
        await waitingServer.respond(reason);
      },
    });
    await waitingServer.close();
    const { credentials } = parts.accountParts.installation;
    if (credentials) await options.beforeWork?.(credentials);
    return await startParts(parts, waitOptions);
  } catch (error) {
    await waitingServer.close();
    await closers.close();
    throw error;
  }
}

type Parts = Awaited<ReturnType<typeof openParts>>;

/** Creates the parts, starting with those that depend on nothing. Nothing is delivered or accepted yet. */
async function openParts(prepared: PreparedStart, closers: Closers) {
  const base = await openFoundation(prepared, { closers, whenIdle: () => runtime.idle() });
  const { config, store, clock, upkeepClock, steadyClock, random, log, cluster, tracing } = base;
  const accountParts = await openAccounts(base);
  const addresses = new Addresses(config);
  const writes = new StoreWrites({ store, clock: upkeepClock, random, log });
  const { limits, refusals } = await openLimits(base, accountParts, {
    onSpending: (instanceId) => budgetAlerts.scheduleCheck(instanceId),
    documentBytes: (accountId) => search.storedBytes(accountId),
  });
  const outgoing = openSenders(base, accountParts, limits, () => addresses.listeners);
  const reports = createAccountReports(base, limits, outgoing, writes);
  const { budgetAlerts } = reports;
  const { dataDir, envFile } = config;
  const accessFiles = new AccessFiles({ dataDir, envFile, authority: accountParts.authority, log });
  const reload = createReload(accountParts, limits, outgoing, { budgetAlerts, accessFiles });
  const { slices, stepCaller, messageSender, clusterWorkers, pools } = outgoing;
  const runtime = createRuntime({
    ...{
      store,
      clock,
      upkeepClock,
      paceClock: steadyClock,
      limits,
      owners: limits.owners,
      slices,
      random,
      budgetOf: (instanceId) => limits.budgets.storedStatus(instanceId),
      observer: tracing.observer,
      writes,
      log,
    },
    traces: tracing.traces,
    ...{ stepCaller, messageSender, workers: clusterWorkers ?? pools },
    ...(cluster ? { cluster } : {}),
    onChange: (change) => void reload(change),
    publicUrl: () => addresses.publicUrl,
    dashboardUrl: () => addresses.dashboardUrl,
  });
  const search = await openSearch(base, accountParts, reports, addresses);
  const services = await openAccountServices(base, accountParts, limits, { runtime, outgoing, addresses });
  return {
    base,
    accountParts,
    addresses,
    writes,
    limits,
    refusals,
    outgoing,
    reports,
    accessFiles,
    runtime,
    search,
    ...services,
  };
}

/** Listens, continues pending work, and accepts requests. */
async function startParts(parts: Parts, waitOptions: Pick<AvailabilityOptions, 'log' | 'pause'>): Promise<RunningServer> {
  const {
    base,
    accountParts,
    addresses,
    writes,
    limits,
    refusals,
    outgoing,
    reports,
    accessFiles,
    runtime,
    search,
    signIn,
    loginLinks,
  } = parts;
  const { config, closers, log, logLevel, tls, clock, secrets } = base;
  const { audit, budgetAlerts } = reports;
  let [isStarting, isStopping] = [true, false];
  /** Reason why the pending work cannot be read yet; null if it can be. */
  let startFault: string | null = null;
  const dependencies = await createApiDependencies(base, outgoing, addresses, {
    ...{ service: runtime, authority: accessFiles.authority, accounts: parts.accountService, signIn, loginLinks, search, limits },
    audit: audit.records,
    isStarting: () => isStarting && startFault === null,
    isStopping: () => isStopping,
    storeRefusal: () => startFault ?? writes.refusal,
  });
  const servers = await serve(config, dependencies);
  addresses.set(servers);
  closers.add(async () => {
    const serversClosed = servers.close();
    await runtime.stop({ graceMs: GRACE_MS });
    await outgoing.clusterWorkers?.stop();
    await budgetAlerts.stop();
    await audit.stop();
    await search.stop();
    await waitWithTimeout(CLOSE_MS, serversClosed);
    await refusals.write();
  });
  if (tls && config.tls) {
    const watch = watchTlsFiles(config.tls, { log, onChange: (files) => tls.replace(files) });
    closers.add(async () => watch.close());
  }
  await startMetrics(base, outgoing, { runtime, writes });
  const startedAt = clock.now();
  await untilAvailable(() => runtime.start(), {
    ...waitOptions,
    onUnavailable(reason) {
      startFault = reason;
    },
  });
  startFault = null;
  await outgoing.clusterWorkers?.start();
  budgetAlerts.start();
  audit.start();
  search.start();
  const stopReleasingMemory = keepIdleMemoryLow();
  closers.add(async () => stopReleasingMemory());

  const { credentials, kind, setAsidePath } = accountParts.installation;
  const { url, managementUrl } = servers;
  if (credentials) await accessFiles.write({ ...credentials, url, managementUrl });
  // Last, because a script that waits for this line reads the env file next.
  isStarting = false;
  log.info({ url, dataDir: config.dataDir, store: base.openedStore.location, region: config.region }, 'server started');
  if (!secrets.areEncrypted)
    log.warn({}, 'secrets in the database are not encrypted, set EVERSTEP_SECRETS_KEY_FILE on every node');
  if (lacksTrustedProxy(config))
    log.warn(
      { publicUrl: addresses.publicUrl },
      'public URL is https without a trusted proxy, set EVERSTEP_TRUSTED_PROXIES to see client addresses',
    );
  let stopResult: Promise<void> | undefined;
  const stop = () => {
    isStopping = true;
    stopResult ??= closers.close();
    return stopResult;
  };
  const toggleDebug = () => audit.records.command('log-level', { level: logLevel.toggleDebug('signal') });
  const loginUrl = () => loginLinks.pageUrl(managementUrl, credentials);
  return { url, managementUrl, credentials, startedAt, start: kind, setAsidePath, loginUrl, toggleDebug, stop };
}
