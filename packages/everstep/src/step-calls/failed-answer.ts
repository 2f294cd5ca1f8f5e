/** Failures of deliveries without a usable response, for step calls and messages. */

import type { DeliveryFailure } from '../engine/runs/run.js';
import type { StepAnswer } from '../ports/step-caller.js';
import { valuesOf } from '../responses/endpoint-failure.js';
import { keptOf } from '../responses/retry-advice.js';
import type { HttpAnswer } from './exchanges/exchange.js';

const BACKOFF = { kind: 'backoff' } as const;

export type FailedAnswer = Extract<StepAnswer, { readonly kind: 'failure' }>;

/** Returns a failure without a complete response. */
export function failureWithoutAnswer(
  cause: DeliveryFailure['cause'],
  message: string,
  retry: DeliveryFailure['retry'] = BACKOFF,
): FailedAnswer {
  return {
    kind: 'failure',
    failure: { cause, message, retry, status: null, responseHeaders: {}, responseBody: new Uint8Array(0) },
  };
}

/** Returns a failure for a response that is too long or cannot be decoded. It is retried. */
export function unusableAnswer({ status, headers, body }: HttpAnswer, message: string): FailedAnswer {
  return {
    kind: 'failure',
    failure: { cause: 'http', message, retry: BACKOFF, status, responseHeaders: valuesOf(headers), responseBody: keptOf(body) },
  };
}

/** Returns the failure for a response that was cut off at a limit. */
export function answerTooLong(answer: HttpAnswer, maxBytes: number, limit: string): FailedAnswer {
  return unusableAnswer(answer, `the endpoint answered ${answer.status} with more than ${maxBytes} bytes (${limit})`);
}
