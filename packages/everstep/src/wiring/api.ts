/** The HTTP APIs of the server: their dependencies, and the addresses on which they listen. */
import { fileURLToPath } from 'node:url';
import { addressesOf, type Listener, localUrl, managementListener } from '../bootstrap/listeners.js';
import { listenError } from '../bootstrap/start-error.js';
import { EVENT_LOOP } from '../clock/event-loop.js';
import { elapsedMs } from '../clock/machine-time.js';
import { createElapsedClock } from '../clock/system-clock.js';
import type { Config } from '../config/config.js';
import { connectionLimits } from '../config/connection-limits.js';
import {
  createHttpApi,
  type HttpApi,
  type HttpApiDependencies,
  ReadBudget,
  RefusalDelays,
  readDashboard,
} from '../http-api/index.js';
import { UPSTASH_API } from '../http-api/upstash/index.js';
import type { OwnListener } from '../step-calls/addresses/address-policy.js';
import { SERVER_VERSION } from '../step-calls/version.js';
import { type Addresses, type ListeningAddresses, usesHttps } from './addresses.js';
import type { Foundation } from './foundation.js';
import type { Senders } from './senders.js';

/** Directory of the dashboard in the published package. */
const DASHBOARD_DIRECTORY = fileURLToPath(new URL('../../static', import.meta.url));

/** Dependencies of the APIs that other parts do not provide. */
type OwnDependencies = Pick<
  HttpApiDependencies,
  | 'service'
  | 'authority'
  | 'accounts'
  | 'signIn'
  | 'loginLinks'
  | 'search'
  | 'limits'
  | 'audit'
  | 'isStarting'
  | 'isStopping'
  | 'storeRefusal'
>;

/** Creates the dependencies of the APIs from the parts of the server. */
export async function createApiDependencies(
  { config, store, log, logLevel, metrics, observer, steadyClock, virtualClock, tls, cluster }: Foundation,
  { slices, replies, pools, clusterWorkers, addressPolicyOf, mailRecipients }: Senders,
  addresses: Addresses,
  ownDependencies: OwnDependencies,
): Promise<HttpApiDependencies> {
  const processLimits = connectionLimits();
  return {
    ...ownDependencies,
    ...{ store, slices, log, logLevel, observer, version: SERVER_VERSION },
    reads: new ReadBudget({}, ownDependencies.limits?.owners),
    refusalDelays: new RefusalDelays(EVENT_LOOP, elapsedMs),
    publicUrl: () => addresses.publicUrl,
    ...(processLimits ? { connectionLimits: processLimits } : {}),
    workers: {
      pools,
      clock: steadyClock,
      elapsedClock: createElapsedClock(),
      replies,
      ...(clusterWorkers ? { cluster: clusterWorkers } : {}),
    },
    ...(metrics && config.metricsToken !== null ? { metrics: { token: config.metricsToken, page: metrics.page } } : {}),
    hasLease: () => cluster?.canStartWork ?? true,
    ...(cluster ? { nodeId: () => cluster.nodeId, nodes: () => cluster.nodes() } : {}),
    destinationPolicy: { check: (url, instanceId) => addressPolicyOf(instanceId).check(url) },
    ...(mailRecipients ? { mailRecipients } : {}),
    dialectOperations: UPSTASH_API,
    ...(virtualClock ? { virtualTime: virtualClock } : {}),
    dashboard: await readDashboard(DASHBOARD_DIRECTORY),
    // A host name without a region belongs to the region of this installation.
    defaultRegion: config.region,
    trustedProxies: config.trustedProxies,
    acceptsQueryTokens: config.queryTokens,
    isAccessLogEnabled: config.accessLog,
    ...(tls ? { tls } : {}),
  };
}

export interface StartedServers extends ListeningAddresses {
  close(): Promise<void>;
}

/** Starts both APIs on one address or two. Rejects with StartError if an address is not available. */
export async function serve(config: Config, dependencies: HttpApiDependencies): Promise<StartedServers> {
  const [runtimeListener, managementApiListener] = [{ host: config.host, port: config.port }, managementListener(config)];
  const apis: HttpApi[] = [];
  const listeners: OwnListener[] = [];
  const close = async () => {
    await Promise.all(apis.map((api) => api.close()));
  };
  async function listen(serves: 'runtime' | 'management' | 'both', { host, port, settings }: Listener): Promise<string> {
    const api = createHttpApi({ ...dependencies, serves, usesHttps: usesHttps(config, serves) });
    apis.push(api);
    try {
      const boundAddress = await api.listen({ host, port });
      listeners.push({ addresses: addressesOf(boundAddress.address), port: boundAddress.port });
      return localUrl(config, host, boundAddress.port);
    } catch (error) {
      await close();
      throw listenError(host, port, error, settings);
    }
  }
  const url = await listen(managementApiListener ? 'runtime' : 'both', runtimeListener);
  return {
    url,
    managementUrl: managementApiListener ? await listen('management', managementApiListener) : url,
    listeners,
    close,
  };
}
