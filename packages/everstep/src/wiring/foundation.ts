/** The parts on which all others depend: the log, metrics, the store with its secrets, clocks and randomness. */
import type { Logger } from 'pino';
import { openDataDir } from '../bootstrap/data-dir.js';
import { checkListeners, managementListener } from '../bootstrap/listeners.js';
import { LogLevelSwitch } from '../bootstrap/log-level-switch.js';
import { readPlans } from '../bootstrap/plans-file.js';
import { openSecrets } from '../bootstrap/secrets-key.js';
import { createServerLog } from '../bootstrap/server-log.js';
import { readTlsFiles } from '../bootstrap/tls-files.js';
import { elapsedMs } from '../clock/machine-time.js';
import { createSystemClock } from '../clock/system-clock.js';
import { createSystemRandom } from '../clock/system-random.js';
import { createVirtualClock } from '../clock/virtual-clock.js';
import type { Config } from '../config/config.js';
import { LIMITS } from '../config/limits.js';
import { TlsListener } from '../http-api/tls/tls-listener.js';
import { createMetrics } from '../metrics/index.js';
import { observeStore } from '../metrics/observed-store.js';
import { NO_OBSERVER } from '../ports/observer.js';
import type { Store } from '../ports/stores/store.js';
import { createTracing } from '../tracing/index.js';
import type { Closers } from './closers.js';
import { type OpenedStore, openDatabase, openFile } from './open-store.js';

export type PreparedStart = Awaited<ReturnType<typeof prepare>>;
export type Foundation = Awaited<ReturnType<typeof openFoundation>>;

export interface FoundationOptions {
  readonly closers: Closers;
  /** Resolves when the server has nothing to do. A virtual clock advances only then. */
  readonly whenIdle: () => Promise<void>;
}

/** Creates everything that does not need the store. Rejects with StartError if a file or a port is not available. */
export async function prepare(config: Config, logger: Logger | undefined) {
  const log = logger ?? createServerLog({ level: config.logLevel, format: config.mode === 'serve' ? 'json' : 'text' });
  const plans = await readPlans(config.plansFile, config.newInstancePlan);
  const tls = config.tls && new TlsListener(await readTlsFiles(config.tls));
  await checkListeners([{ host: config.host, port: config.port }, managementListener(config)]);
  await openDataDir(config.dataDir);
  return { config, log, logLevel: new LogLevelSwitch(log, config.logLevel), plans, tls };
}

/**
 * Opens the store. Rejects with StartError if the store cannot be opened, and with StoreUnavailableError if this may succeed
 * later.
 */
export async function openFoundation(prepared: PreparedStart, options: FoundationOptions) {
  const { config, log } = prepared;
  const metrics = config.metricsAddress || config.metricsToken !== null ? createMetrics(config.metricsNames) : null;
  const observer = metrics?.observer ?? NO_OBSERVER;
  if (metrics) options.closers.add(async () => metrics.close());
  const openedStore = await openStore();
  options.closers.add(() => openedStore.store.close());
  const { node } = openedStore;
  const cluster = node?.cluster ?? null;
  const secrets = await openSecrets(openedStore.store.accounts, config);
  const { accounts } = secrets;
  const plainStore: Store = { ...openedStore.store, accounts };
  const clocks = await openClocks(plainStore);
  node?.setClock(clocks.now);
  const tracing = createTracing(config.tracing, { clock: clocks.steadyClock, now: clocks.now, log, observer });
  options.closers.add(() => tracing.close());
  return {
    ...{ ...prepared, closers: options.closers },
    ...{ metrics, observer, tracing, openedStore, node, cluster, secrets, accounts },
    store: metrics ? observeStore(plainStore, observer, elapsedMs) : plainStore,
    random: createSystemRandom(),
    ...clocks,
  };

  function openStore(): Promise<OpenedStore> {
    const onDiskFailure = (error: Error) => {
      log.error({ error: error.message }, 'disk sync failed, exiting before anything acts on unsynced data');
      process.exit(1);
    };
    return config.store.kind === 'postgres'
      ? openDatabase(config.store.url, config, log, observer)
      : openFile(config.store.file, config, log, { onDiskFailure, observer });
  }

  /**
   * Creates the clocks. `clock` is for decisions. `steadyClock` is never virtual. `upkeepClock` is for work that a virtual
   * clock does not wait for.
   */
  async function openClocks(store: Store) {
    // Nodes use the time of their database instead of the clocks of their machines.
    const wallOption = cluster ? { wall: () => cluster.now() } : {};
    const steadyClock = createSystemClock({ notBefore: await store.latestTime(), ...wallOption });
    const virtualClock = config.virtualClock
      ? createVirtualClock({
          base: steadyClock,
          quiet: options.whenIdle,
          maxInstants: LIMITS.maxClockInstants,
          quietTimeoutMs: LIMITS.clockQuietTimeoutMs,
        })
      : null;
    const clock = virtualClock ?? steadyClock;
    return { clock, steadyClock, virtualClock, upkeepClock: virtualClock?.upkeep ?? clock, now: () => clock.now() };
  }
}
