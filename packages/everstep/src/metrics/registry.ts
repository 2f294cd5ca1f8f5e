/** The time series of one process, in the formats of Prometheus and OpenMetrics. */
import { Counter, collectDefaultMetrics, Gauge, Histogram, type OpenMetricsContentType, Registry } from 'prom-client';
import {
  type CounterName,
  type GaugeName,
  type HistogramName,
  type LabelsOf,
  METRICS,
  type MetricDefinition,
  type MetricName,
} from './definitions.js';

export const CONTENT_TYPES = {
  prometheus: Registry.PROMETHEUS_CONTENT_TYPE,
  openMetrics: Registry.OPENMETRICS_CONTENT_TYPE,
} as const;
export type Format = keyof typeof CONTENT_TYPES;

const COUNTER_SUFFIX = '_total';

type Labels<Name extends MetricName> = LabelsOf<Name>;

/** Returns the format for an Accept header. */
export const formatFor = (accept: string | undefined): Format =>
  accept?.includes('application/openmetrics-text') ? 'openMetrics' : 'prometheus';

export interface Exposition {
  readonly contentType: string;
  readonly text: string;
}

export class MetricRegistry {
  private readonly registry = new Registry<OpenMetricsContentType>();
  private readonly counters = new Map<string, Counter>();
  private readonly gauges = new Map<string, Gauge>();
  private readonly histograms = new Map<string, Histogram>();
  private lastExposition: Promise<unknown> = Promise.resolve();

  constructor() {
    const registers = [this.registry];
    for (const [name, { type, help, labels = [], buckets }] of Object.entries<MetricDefinition>(METRICS)) {
      const commonOptions = { name, help, labelNames: labels, registers };
      if (type === 'counter') this.counters.set(name, new Counter(commonOptions));
      else if (type === 'gauge') this.gauges.set(name, new Gauge(commonOptions));
      else this.histograms.set(name, new Histogram({ ...commonOptions, ...(buckets ? { buckets: [...buckets] } : {}) }));
    }
  }

  /** Adds the metrics of the Node process: CPU, memory, garbage collection, event loop delay, open files. */
  observeProcess(): void {
    collectDefaultMetrics({ register: this.registry });
  }

  count<Name extends CounterName>(name: Name, labels: Labels<Name>, by = 1): void {
    this.counters.get(name)?.inc(labels, by);
  }

  observe<Name extends HistogramName>(name: Name, labels: Labels<Name>, value: number): void {
    this.histograms.get(name)?.observe(labels, value);
  }

  set<Name extends GaugeName>(name: Name, labels: Labels<Name>, value: number): void {
    this.gauges.get(name)?.set(labels, value);
  }

  /** Removes all time series of a gauge, before its current ones are set. */
  reset(name: GaugeName): void {
    const gauge = this.gauges.get(name);
    gauge?.reset();
    // The library sets a gauge without labels to 0.
    gauge?.remove({});
  }

  /** Removes the time series of a counter whose label `labelName` has this value. */
  async remove(name: CounterName, labelName: string, labelValue: string): Promise<void> {
    const counter = this.counters.get(name);
    const { values } = (await counter?.get()) ?? { values: [] };
    for (const { labels } of values) if (labels[labelName] === labelValue) counter?.remove(labels);
  }

  /** Returns all time series. Calls run one at a time, because the registry has a single format. */
  expose(format: Format): Promise<Exposition> {
    const exposition = this.lastExposition.then(async () => {
      this.restoreNames();
      this.registry.setContentType(CONTENT_TYPES[format] as OpenMetricsContentType);
      return { contentType: CONTENT_TYPES[format], text: await this.registry.metrics() };
    });
    this.lastExposition = exposition.catch(() => {});
    return exposition;
  }

  /**
   * Restores the names of counters. To write OpenMetrics, the library permanently removes their suffix, which other formats
   * would then lack.
   */
  private restoreNames(): void {
    for (const metric of this.registry.getMetricsAsArray())
      if (metric instanceof Counter && !metric.name.endsWith(COUNTER_SUFFIX)) metric.name += COUNTER_SUFFIX;
  }

  /** Removes all metrics. */
  clear(): void {
    this.registry.clear();
  }
}
