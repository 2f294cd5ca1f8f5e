/** Deliveries that got no answer, or none that could be taken: the same for a step call and for a message. */
import { valuesOf } from '../answers/endpoint-failure.js';
import { keptOf } from '../answers/http-advice.js';
import type { DeliveryFailure } from '../engine/run.js';
import type { StepAnswer } from '../ports/step-caller.js';
import type { HttpAnswer } from './exchange.js';

const BACKOFF = { kind: 'backoff' } as const;

export type FailedAnswer = Extract<StepAnswer, { readonly kind: 'failure' }>;

/** A failure for which there is no complete answer. */
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

/** An answer that came, but cannot be taken: too long, or not to be decoded. Another may be. */
export function untakenAnswer({ status, headers, body }: HttpAnswer, message: string): FailedAnswer {
  return {
    kind: 'failure',
    failure: { cause: 'http', message, retry: BACKOFF, status, responseHeaders: valuesOf(headers), responseBody: keptOf(body) },
  };
}

/** An answer that was cut off at the limit, with the name of that. */
export function answerTooLong(answer: HttpAnswer, maxBytes: number, limit: string): FailedAnswer {
  return untakenAnswer(answer, `the endpoint answered ${answer.status} with more than ${maxBytes} bytes (${limit})`);
}
