/** Connects the metrics to the running server. */
import { serveMetrics } from '../metrics/metrics-server.js';
import type { StoreWrites } from '../runtime/commits/store-writes.js';
import type { Runtime } from '../runtime/runtime.js';
import { SERVER_VERSION } from '../step-calls/version.js';
import type { Foundation } from './foundation.js';
import type { Senders } from './senders.js';

export async function startMetrics(
  { config, closers, metrics, store, cluster, now }: Foundation,
  { pools }: Senders,
  { runtime, writes }: { readonly runtime: Runtime; readonly writes: StoreWrites },
): Promise<void> {
  if (!metrics) return;
  metrics.setGaugeSources({
    now,
    workload: () => runtime.workload(),
    workers: () => pools.links.map(({ profile, inFlight }) => ({ app: profile.app, slots: profile.maxConcurrency, inFlight })),
    acceptsWrites: () => writes.isOpen,
    measure: () => store.measure(now()),
    nodes: async () => (await cluster?.nodes()) ?? [],
    info: () => ({ version: SERVER_VERSION, store: config.store.kind, node: cluster?.nodeId ?? '' }),
  });
  if (!config.metricsAddress) return;
  const { host, port } = config.metricsAddress;
  const server = await serveMetrics(metrics, { host: host ?? config.host, port });
  closers.add(() => server.close());
}
