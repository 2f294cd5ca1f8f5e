/** Determines whether an attempt of a call, a message or a failure callback has failed. */

import type { DeliveryFailure } from '../../engine/runs/run.js';
import type { MessageOutcome } from '../../ports/message-sender.js';
import { describeRedirect, retryAdviceOf, snippetOf, truncateBody } from '../../responses/retry-advice.js';

const SIGNED_WITH_MESSAGE_KEY =
  '; it was signed with the message key, because its origin has no workflow of this queue instance: if the endpoint checks ' +
  'signatures with the signing keys, add its origin (everstep keys origins) or give it the message keys';

/**
 * Returns why the attempt failed, or null if it succeeded, that is, with any 2xx status. A redirect is not followed and not
 * retried. `now` is Unix ms. If the run redacts data (`hidesData`), the error text does not quote the response.
 */
export function messageFailureOf(outcome: MessageOutcome, now: number, hidesData = false): DeliveryFailure | null {
  if (outcome.kind === 'failure') return outcome.failure;
  const { status, headers, body, sent, expectsSigningKeys } = outcome;
  if (status >= 200 && status < 300) return null;
  const isRedirect = status >= 300 && status < 400;
  return {
    cause: 'http',
    message: isRedirect
      ? `the endpoint responded ${describeRedirect(status, headers, hidesData)}; redirects are not followed: use the final URL`
      : `the endpoint returned ${status} (${snippetOf(body, hidesData)})${expectsSigningKeys ? SIGNED_WITH_MESSAGE_KEY : ''}`,
    status,
    responseHeaders: headers,
    responseBody: truncateBody(body),
    ...(sent ? { sent } : {}),
    retry: isRedirect ? { kind: 'never' } : retryAdviceOf(status, headers, now),
  };
}
