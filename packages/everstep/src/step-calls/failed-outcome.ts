/** Failures of deliveries without a usable response, for step calls and messages. */

import type { DeliveryFailure } from '../engine/runs/run.js';
import type { StepOutcome } from '../ports/step-caller.js';
import { valuesOf } from '../responses/endpoint-failure.js';
import { truncateBody } from '../responses/retry-advice.js';
import type { HttpResponse } from './exchanges/exchange.js';

const BACKOFF = { kind: 'backoff' } as const;

export type FailedOutcome = Extract<StepOutcome, { readonly kind: 'failure' }>;

/** Returns a failure without a complete response. */
export function failureWithoutResponse(
  cause: DeliveryFailure['cause'],
  message: string,
  retry: DeliveryFailure['retry'] = BACKOFF,
): FailedOutcome {
  return {
    kind: 'failure',
    failure: { cause, message, retry, status: null, responseHeaders: {}, responseBody: new Uint8Array(0) },
  };
}

/** Returns a failure for a response that is too long or cannot be decoded. It is retried. */
export function unusableResponse({ status, headers, body }: HttpResponse, message: string): FailedOutcome {
  return {
    kind: 'failure',
    failure: {
      cause: 'http',
      message,
      retry: BACKOFF,
      status,
      responseHeaders: valuesOf(headers),
      responseBody: truncateBody(body),
    },
  };
}

/** Returns the failure for a response that was cut off at a limit. */
export function responseTooLong(response: HttpResponse, maxBytes: number, limitName: string): FailedOutcome {
  return unusableResponse(response, `the endpoint returned ${response.status} with more than ${maxBytes} bytes (${limitName})`);
}
