/** Traces of one process: the trace contexts that it sends, and the observer that creates and exports spans. */
import type { TracingSettings } from '../config/telemetry/tracing-settings.js';
import { combineObservers, type Observer } from '../ports/observer.js';
import { NO_TRACES, type Traces } from '../ports/traces.js';
import { SERVER_VERSION } from '../step-calls/version.js';
import { RunTraces } from './run-traces.js';
import { createSampler } from './sampler.js';
import { SpanExporter, type SpanExporterOptions } from './span-exporter.js';
import { observeSpans } from './span-observer.js';

export interface Tracing {
  readonly traces: Traces;
  readonly observer: Observer;
  /** Exports the last spans, for a limited time. */
  close(): Promise<void>;
}

export interface TracingOptions extends Pick<SpanExporterOptions, 'clock' | 'log'> {
  /** Returns the time of the server's clock, Unix ms. */
  readonly now: () => number;
  /** The other observer of the server, which is also notified of exported spans. */
  readonly observer: Observer;
}

/** Creates the traces of this process. If `settings` is null, there are no spans, and `observer` is returned unchanged. */
export function createTracing(settings: TracingSettings | null, { clock, log, now, observer }: TracingOptions): Tracing {
  if (!settings) return { traces: NO_TRACES, observer, close: async () => {} };
  const traces = new RunTraces(createSampler(settings.sampler, settings.ratio));
  const onExported = observer.spansExported.bind(observer);
  const resource = { 'service.version': SERVER_VERSION, ...settings.resource };
  const exporter = new SpanExporter({ settings: { ...settings, resource }, clock, log, onResult: onExported });
  return { traces, observer: combineObservers(observer, observeSpans(traces, exporter, now)), close: () => exporter.close() };
}
