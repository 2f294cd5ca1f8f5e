/** What was sent, for the account of an attempt that failed. */
import type { SentRequest } from '../engine/exchanges.js';
import type { ExchangeOutcome, ExchangeRequest } from './exchange.js';
import type { FailedAnswer } from './failed-answer.js';

/** `startedAt` and `endedAt` in Unix ms. */
export const sentRequest = (
  url: string,
  { method, headers, body }: Pick<ExchangeRequest, 'method' | 'headers' | 'body'>,
  outcome: ExchangeOutcome | FailedAnswer,
  startedAt: number,
  endedAt: number,
): SentRequest => ({
  startedAt,
  // Clocks are set back.
  durationMs: Math.max(0, endedAt - startedAt),
  method,
  url,
  headers,
  bodyBytes: body?.byteLength ?? 0,
  answerBytes: 'answer' in outcome ? outcome.answer.body.byteLength : null,
});

export const withSent = (failed: FailedAnswer, sent: SentRequest): FailedAnswer => ({
  kind: 'failure',
  failure: { ...failed.failure, sent },
});
