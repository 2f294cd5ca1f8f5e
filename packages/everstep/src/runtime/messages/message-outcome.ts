/** What came of a message, in the terms of the engine: the answer of a call or of a failure callback as an attempt. */
import { describeRedirect, keptOf, retryAdviceOf, snippetOf } from '../../answers/http-advice.js';
import type { DeliveryFailure } from '../../engine/runs/run.js';
import type { MessageAnswer } from '../../ports/message-sender.js';

const SIGNED_OTHERWISE =
  '; it was signed with the message key, because its origin has no workflow of this queue instance: if the endpoint checks ' +
  'signatures with the signing keys, add its origin (everstep keys origins) or give it the message keys';

/**
 * Why the attempt failed; null when it succeeded, that is with any 2xx. A
 * redirect is not followed, and would be the same the next time. `now` in
 * Unix ms. `hidesData`: the run hides data, so the words quote nothing of the answer.
 */
export function messageFailureOf(answer: MessageAnswer, now: number, hidesData = false): DeliveryFailure | null {
  if (answer.kind === 'failure') return answer.failure;
  const { status, headers, body, sent, expectsSigningKeys } = answer;
  if (status >= 200 && status < 300) return null;
  const redirected = status >= 300 && status < 400;
  return {
    cause: 'http',
    message: redirected
      ? `the endpoint answered ${describeRedirect(status, headers, hidesData)}; redirects are not followed: use the final URL`
      : `the endpoint answered ${status} (${snippetOf(body, hidesData)})${expectsSigningKeys ? SIGNED_OTHERWISE : ''}`,
    status,
    responseHeaders: headers,
    responseBody: keptOf(body),
    ...(sent ? { sent } : {}),
    retry: redirected ? { kind: 'never' } : retryAdviceOf(status, headers, now),
  };
}
