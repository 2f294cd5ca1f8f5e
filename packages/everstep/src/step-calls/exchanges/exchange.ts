/**
 * Performs one HTTP exchange: sends a request and reads the response up to a limit.
 *
 * It uses undici's `dispatch`, the layer below `request`. Chunks are collected without a stream object, which would
 * be a large part of the cost of a delivery.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { Readable } from 'node:stream';
import type { Dispatcher, Pool } from 'undici';
import type { ReplyBytes } from '../../fairness/reply-budget.js';

export const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const;
export type Method = (typeof METHODS)[number];

/** A long body in parts, so that it is not built and signed all at once. */
export interface BodyParts {
  readonly parts: readonly Uint8Array[];
  readonly byteLength: number;
  /** SHA-256 of all parts in base64url. */
  readonly digest: string;
}

export interface ExchangeRequest {
  readonly method: Method;
  readonly path: string;
  /** Headers, as alternating names and values. */
  readonly headers: string[];
  readonly body: Uint8Array | BodyParts | null;
  /** Timeout of the whole exchange, from waiting for a connection to the last byte. */
  readonly timeoutMs: number;
  readonly maxResponseBytes: number;
  /** Returns how many bytes of a response with these headers are needed. The rest is not received. If absent, all are needed. */
  readonly neededBytes?: ((headers: IncomingHttpHeaders) => number) | undefined;
  /** Called when the request is sent on a connection. */
  readonly onSent?: (() => void) | undefined;
  /**
   * Settles when the response is recorded or dropped. Its bytes count as memory for replies until then; if absent, until the
   * exchange ends.
   */
  readonly outcomeRecorded?: Promise<void> | undefined;
}

export interface HttpResponse {
  readonly status: number;
  /** Headers with lowercase names. */
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

export type ExchangeOutcome =
  | { readonly kind: 'response'; readonly response: HttpResponse }
  /** The response exceeded the limit; `response.body` is its beginning. */
  | { readonly kind: 'too-long'; readonly response: HttpResponse }
  | { readonly kind: 'timed-out' }
  | { readonly kind: 'aborted' }
  | { readonly kind: 'broken'; readonly error: Error };

class Exchange implements Dispatcher.DispatchHandler {
  private readonly request: ExchangeRequest;
  private readonly signal: AbortSignal;
  private readonly finish: (outcome: ExchangeOutcome) => void;
  private readonly timer: NodeJS.Timeout;
  private controller: Dispatcher.DispatchController | null = null;
  private hasEnded = false;
  private status = 0;
  private headers: IncomingHttpHeaders = {};
  private readonly chunks: Buffer[] = [];
  private receivedBytes = 0;
  /** Length of the whole response; null if unknown. */
  private contentLength: number | null = null;
  private neededBytes = Number.POSITIVE_INFINITY;
  private readonly replyBytes: ReplyBytes;

  constructor(request: ExchangeRequest, replyBytes: ReplyBytes, signal: AbortSignal, finish: (outcome: ExchangeOutcome) => void) {
    this.request = request;
    this.replyBytes = replyBytes;
    this.signal = signal;
    this.finish = finish;
    this.timer = setTimeout(() => this.abortWith({ kind: 'timed-out' }), request.timeoutMs);
    signal.addEventListener('abort', this.onAborted);
  }

  private readonly onAborted = (): void => this.abortWith({ kind: 'aborted' });

  private end(outcome: ExchangeOutcome): void {
    if (this.hasEnded) return;
    this.hasEnded = true;
    clearTimeout(this.timer);
    this.signal.removeEventListener('abort', this.onAborted);
    this.finish(outcome);
  }

  private abortWith(outcome: ExchangeOutcome): void {
    this.end(outcome);
    this.controller?.abort(new Error('the exchange was aborted'));
  }

  private buildResponse(): HttpResponse {
    const [firstChunk] = this.chunks;
    const body = firstChunk && this.chunks.length === 1 ? firstChunk : Buffer.concat(this.chunks, this.receivedBytes);
    return { status: this.status, headers: this.headers, body };
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.controller = controller;
    // The exchange ended while it waited for a connection. Nothing must be sent.
    if (this.hasEnded) controller.abort(new Error('the exchange was aborted'));
    else this.request.onSent?.();
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    // Informational responses (1xx) precede the final one.
    this.status = status;
    this.headers = headers;
    const length = Number(headers['content-length'] ?? Number.NaN);
    this.contentLength = Number.isSafeInteger(length) ? length : null;
    this.neededBytes = this.request.neededBytes?.(headers) ?? Number.POSITIVE_INFINITY;
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    const remainingBytes = Math.min(this.request.maxResponseBytes, this.neededBytes) - this.receivedBytes;
    this.chunks.push(chunk.length > remainingBytes ? chunk.subarray(0, remainingBytes) : chunk);
    this.receivedBytes += Math.min(chunk.length, remainingBytes);
    const isRestNeeded = this.request.maxResponseBytes <= this.neededBytes;
    if (chunk.length > remainingBytes)
      this.abortWith({ kind: isRestNeeded ? 'too-long' : 'response', response: this.buildResponse() });
    else if (!this.replyBytes.canContinue(this.receivedBytes, this.contentLength, () => controller.resume())) controller.pause();
  }

  onResponseEnd(): void {
    this.end({ kind: 'response', response: this.buildResponse() });
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.end({ kind: 'broken', error });
  }
}

function contentOf({ headers, body }: ExchangeRequest): { headers: string[]; body: Buffer | Readable | null } {
  if (body === null) return { headers, body };
  if (body instanceof Uint8Array) return { headers, body: Buffer.from(body.buffer, body.byteOffset, body.byteLength) };
  const lengthHeader = ['content-length', String(body.byteLength)];
  return { headers: [...headers, ...lengthHeader], body: Readable.from(body.parts, { objectMode: true }) };
}

/** Performs the exchange. Never rejects. Releases `replyBytes` when the response is recorded. */
export async function exchange(
  pool: Pool,
  request: ExchangeRequest,
  replyBytes: ReplyBytes,
  signal: AbortSignal,
): Promise<ExchangeOutcome> {
  if (signal.aborted) return { kind: 'aborted' };
  const outcome = await new Promise<ExchangeOutcome>((resolve) => {
    const { method, path } = request;
    pool.dispatch({ path, method, ...contentOf(request) }, new Exchange(request, replyBytes, signal, resolve));
  });
  if ('response' in outcome && request.outcomeRecorded) void request.outcomeRecorded.then(() => replyBytes.release());
  else replyBytes.release();
  return outcome;
}
