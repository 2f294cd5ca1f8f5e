/** The form of the token that `@upstash/workflow` needs. */
import { ApiError } from '../../../contract/error-codes.js';
import type { RequestContext } from '../../../http-api/operation.js';
import { readCarriedToken } from '../token.js';

/** Only the SDK sends it, with everything that belongs to a run. */
const OF_THE_SDK = 'upstash-feature-set';
const BEARER = /^bearer +(\S+) *$/i;

/**
 * Refuses what the SDK sends for a run with a token in another form. The SDK shows itself only in some of its requests, and reads
 * the token itself to make the URL of a webhook, so a run would fail later, and with words that do not say why.
 * Throws ApiError `bad-token`.
 */
export function requireSdkToken(
  itemHeaders: Readonly<Record<string, unknown>>,
  { headers }: Pick<RequestContext, 'headers'>,
): void {
  if (itemHeaders[OF_THE_SDK] === undefined) return;
  const token = BEARER.exec(String(headers.authorization ?? ''))?.[1];
  if (token === undefined || readCarriedToken(token) !== null) return;
  throw new ApiError(
    'bad-token',
    '@upstash/workflow was given a token in the form of EVERSTEP_TOKEN. It needs QSTASH_TOKEN: set that variable, in the app and wherever a Client is created, to the value that everstep env prints',
  );
}
