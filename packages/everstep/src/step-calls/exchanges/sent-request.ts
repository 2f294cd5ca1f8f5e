/** Describes a sent request, for the log of failed attempts. */
import type { SentRequest } from '../../engine/runs/exchanges.js';
import type { FailedOutcome } from '../failed-outcome.js';
import type { ExchangeOutcome, ExchangeRequest } from './exchange.js';

/** Describes a request. `startedAt` and `endedAt` are Unix ms. `keepsBody` is false if the body is recorded elsewhere. */
export const sentRequest = (
  url: string,
  { method, headers, body }: Pick<ExchangeRequest, 'method' | 'headers' | 'body'>,
  outcome: ExchangeOutcome | FailedOutcome,
  startedAt: number,
  endedAt: number,
  keepsBody: boolean,
): SentRequest => ({
  startedAt,
  // The clock can be set back.
  durationMs: Math.max(0, endedAt - startedAt),
  method,
  url,
  headers,
  bodyBytes: body?.byteLength ?? 0,
  body: keepsBody && body instanceof Uint8Array ? body : null,
  responseBytes: 'response' in outcome ? outcome.response.body.byteLength : null,
});

export const addSentRequest = (outcome: FailedOutcome, sent: SentRequest): FailedOutcome => ({
  kind: 'failure',
  failure: { ...outcome.failure, sent },
});
