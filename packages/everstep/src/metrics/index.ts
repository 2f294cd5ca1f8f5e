/** Metrics of one process: the observer that counts, and the page that Prometheus reads. */
import type { Observer } from '../ports/observer.js';
import { Metrics } from './metrics.js';
import { type Exposition, formatFor, MetricRegistry } from './registry.js';
import { type GaugeSources, ServiceGauges } from './service-gauges.js';

export type { GaugeSources } from './service-gauges.js';

export interface ServiceMetrics {
  readonly observer: Observer;
  /** Sets the sources of the gauges. Until then, the page contains no server gauges. */
  setGaugeSources(sources: GaugeSources): void;
  /** Returns the page in the format that the Accept header requests. */
  page(accept: string | undefined): Promise<Exposition>;
  close(): void;
}

/** Creates the metrics. At most `maxNames` workflows, keys, queues and apps each have their own time series. */
export function createMetrics(maxNames: number): ServiceMetrics {
  const registry = new MetricRegistry();
  registry.observeProcess();
  let gauges: ServiceGauges | null = null;
  return {
    observer: new Metrics(registry, maxNames),
    setGaugeSources(sources) {
      gauges = new ServiceGauges(registry, sources, maxNames);
    },
    async page(accept) {
      await gauges?.read();
      return registry.expose(formatFor(accept));
    },
    close: () => registry.clear(),
  };
}
