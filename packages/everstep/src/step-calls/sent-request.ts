/** What was sent, for the account of an attempt that failed. */
import type { SentRequest } from '../engine/exchanges.js';
import type { ExchangeOutcome, ExchangeRequest } from './exchange.js';
import type { FailedAnswer } from './failed-answer.js';

/** `startedAt` and `endedAt` in Unix ms; `keep`: its body is in nothing else that is recorded. */
export const sentRequest = (
  url: string,
  { method, headers, body }: Pick<ExchangeRequest, 'method' | 'headers' | 'body'>,
  outcome: ExchangeOutcome | FailedAnswer,
  startedAt: number,
  endedAt: number,
  keep: boolean,
): SentRequest => ({
  startedAt,
  // Clocks are set back.
  durationMs: Math.max(0, endedAt - startedAt),
  method,
  url,
  headers,
  bodyBytes: body?.byteLength ?? 0,
  body: keep ? (body ?? null) : null,
  answerBytes: 'answer' in outcome ? outcome.answer.body.byteLength : null,
});

export const withSent = (failed: FailedAnswer, sent: SentRequest): FailedAnswer => ({
  kind: 'failure',
  failure: { ...failed.failure, sent },
});
