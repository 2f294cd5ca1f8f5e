/**
 * Exports spans in batches. Work never waits for an export: the queue is limited, and one request is in flight at a time. Spans
 * that do not fit or cannot be exported in time are dropped and counted.
 */
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { Agent, request } from 'undici';
import type { TracingSettings } from '../config/telemetry/tracing-settings.js';
import type { Clock } from '../ports/clock.js';
import type { Log } from '../ports/log.js';
import type { SpanResult } from '../ports/observer.js';
import { ThrottledLog } from '../ports/throttled-log.js';
import { encodeSpans } from './otlp-json.js';
import type { Span, SpanSink } from './span.js';

const compress = promisify(gzip);

/** Statuses after which the same request can succeed when it is repeated. */
const RETRYABLE_STATUSES: ReadonlySet<number> = new Set([429, 502, 503, 504]);
const FIRST_RETRY_DELAY_MS = 1_000;
const SECOND_MS = 1_000;
const MAX_RESPONSE_BYTES = 64 * 1024;
/** Maximum time for which the end of the process waits for the last export. */
const CLOSE_MS = 3_000;

export interface SpanExporterOptions {
  readonly settings: TracingSettings;
  /** A clock that tests can move. It must continue while a simulated clock is paused. */
  readonly clock: Clock;
  readonly log: Log;
  /** Called with the number of spans that were exported, failed or dropped. */
  readonly onResult: (result: SpanResult, count: number) => void;
}

type ExportResponse =
  | { readonly kind: 'accepted'; readonly rejectedCount: number }
  | { readonly kind: 'failed'; readonly reason: string; readonly retryAfterMs: number | null };

/** Returns how many spans the receiver has rejected. */
function rejectedCountIn(text: string): number {
  try {
    const { partialSuccess } = JSON.parse(text) as { partialSuccess?: { rejectedSpans?: unknown } };
    const count = Number(partialSuccess?.rejectedSpans ?? 0);
    return Number.isSafeInteger(count) && count > 0 ? count : 0;
  } catch {
    return 0;
  }
}

export class SpanExporter implements SpanSink {
  private readonly options: SpanExporterOptions;
  private readonly agent = new Agent({ connections: 1 });
  private readonly failureLog: ThrottledLog;
  private queue: Span[] = [];
  private cancelTimer: (() => void) | null = null;
  private exporting: Promise<void> | null = null;
  private readonly closeController = new AbortController();

  constructor(options: SpanExporterOptions) {
    this.options = options;
    this.failureLog = new ThrottledLog(options.log, 'spans could not be exported, dropped', () => options.clock.now());
  }

  add(span: Span): void {
    const { settings, onResult } = this.options;
    if (this.queue.length >= settings.maxQueuedSpans || this.closeController.signal.aborted) {
      onResult('dropped', 1);
      return;
    }
    this.queue.push(span);
    if (this.queue.length >= settings.maxBatchSpans) this.exportSoon(0);
    else this.exportSoon(settings.delayMs);
  }

  /** Exports the queued spans, for a limited time. */
  async close(): Promise<void> {
    const { clock } = this.options;
    this.cancelTimer?.();
    this.cancelTimer = null;
    const cancel = clock.setTimer(clock.now() + CLOSE_MS, () => this.closeController.abort());
    while (this.exporting || (this.queue.length > 0 && !this.closeController.signal.aborted))
      await (this.exporting ?? this.exportNow());
    cancel();
    this.closeController.abort();
    if (this.queue.length > 0) this.options.onResult('dropped', this.queue.length);
    await this.agent.destroy();
  }

  private exportSoon(delayMs: number): void {
    if (this.exporting) return;
    if (delayMs === 0) {
      void this.exportNow();
      return;
    }
    const { clock } = this.options;
    this.cancelTimer ??= clock.setTimer(clock.now() + delayMs, () => {
      this.cancelTimer = null;
      if (!this.exporting) void this.exportNow();
    });
  }

  /** Exports the queued spans. Never rejects. */
  private exportNow(): Promise<void> {
    this.cancelTimer?.();
    this.cancelTimer = null;
    const { maxBatchSpans, delayMs } = this.options.settings;
    const batch = this.queue.splice(0, maxBatchSpans);
    this.exporting = this.exportBatch(batch).then(() => {
      this.exporting = null;
      if (this.queue.length > 0 && !this.closeController.signal.aborted)
        this.exportSoon(this.queue.length >= maxBatchSpans ? 0 : delayMs);
    });
    return this.exporting;
  }

  private async exportBatch(batch: readonly Span[]): Promise<void> {
    const { settings, clock, onResult } = this.options;
    const deadline = clock.now() + settings.timeoutMs;
    const body = await this.encode(batch);
    for (let delayMs = FIRST_RETRY_DELAY_MS; ; delayMs *= 2) {
      const response = await this.send(body, Math.max(1, deadline - clock.now()));
      if (response.kind === 'accepted') {
        const rejectedCount = Math.min(batch.length, response.rejectedCount);
        onResult('exported', batch.length - rejectedCount);
        if (rejectedCount > 0) onResult('failed', rejectedCount);
        return;
      }
      const waitMs = response.retryAfterMs === null ? null : Math.max(delayMs, response.retryAfterMs);
      if (waitMs === null || clock.now() + waitMs >= deadline || this.closeController.signal.aborted) {
        onResult('failed', batch.length);
        this.failureLog.warn({ url: settings.url, spans: batch.length, reason: response.reason });
        return;
      }
      await this.pause(waitMs);
    }
  }

  private pause(ms: number): Promise<void> {
    const { clock } = this.options;
    const { signal } = this.closeController;
    return new Promise((resolve) => {
      const end = () => {
        cancel();
        signal.removeEventListener('abort', end);
        resolve();
      };
      const cancel = clock.setTimer(clock.now() + ms, end);
      signal.addEventListener('abort', end);
    });
  }

  private async encode(batch: readonly Span[]): Promise<string | Buffer> {
    const { settings } = this.options;
    const text = encodeSpans(batch, settings.resource);
    return settings.isCompressed ? compress(text) : text;
  }

  private async send(body: string | Buffer, timeoutMs: number): Promise<ExportResponse> {
    const { url, headers, isCompressed } = this.options.settings;
    try {
      const response = await request(url, {
        method: 'POST',
        dispatcher: this.agent,
        signal: AbortSignal.any([this.closeController.signal, AbortSignal.timeout(timeoutMs)]),
        headers: {
          'content-type': 'application/json',
          ...(isCompressed ? { 'content-encoding': 'gzip' } : {}),
          ...headers,
        },
        body,
      });
      const { statusCode: status } = response;
      if (status >= 200 && status < 300) {
        const length = Number(response.headers['content-length'] ?? MAX_RESPONSE_BYTES + 1);
        if (length <= MAX_RESPONSE_BYTES) return { kind: 'accepted', rejectedCount: rejectedCountIn(await response.body.text()) };
        await response.body.dump({ limit: MAX_RESPONSE_BYTES });
        return { kind: 'accepted', rejectedCount: 0 };
      }
      await response.body.dump({ limit: MAX_RESPONSE_BYTES });
      const requestedDelayMs = Number(response.headers['retry-after'] ?? 0) * SECOND_MS;
      const retryAfterMs = RETRYABLE_STATUSES.has(status) ? (Number.isFinite(requestedDelayMs) ? requestedDelayMs : 0) : null;
      return { kind: 'failed', reason: `status ${status}`, retryAfterMs };
    } catch (error) {
      const reason = error instanceof Error && 'code' in error ? String(error.code) : 'no response';
      return { kind: 'failed', reason, retryAfterMs: 0 };
    }
  }
}
