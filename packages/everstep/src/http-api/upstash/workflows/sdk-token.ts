/** Checks the token format that `@upstash/workflow` requires. */
import { ApiError } from '../../../contract/error-codes.js';
import { readCarriedToken } from '../../../dialects/upstash/token.js';
import type { RequestContext } from '../../operation.js';

/** Only the SDK sends this header, with every request for a run. */
const SDK_HEADER = 'upstash-feature-set';
const BEARER = /^bearer +(\S+) *$/i;

/**
 * Rejects requests of the SDK for a run if the token has another format. Other requests are accepted. The SDK
 * parses the token to build webhook URLs, so the run would fail later with an unclear error. Throws ApiError `bad-token`.
 */
export function requireSdkToken(
  itemHeaders: Readonly<Record<string, unknown>>,
  { headers }: Pick<RequestContext, 'headers'>,
): void {
  if (itemHeaders[SDK_HEADER] === undefined) return;
  const token = BEARER.exec(String(headers.authorization ?? ''))?.[1];
  if (token === undefined || readCarriedToken(token) !== null) return;
  throw new ApiError(
    'bad-token',
    '@upstash/workflow received a token in the EVERSTEP_TOKEN format, but requires QSTASH_TOKEN. Set QSTASH_TOKEN, in the app and wherever a Client is created, to the value that everstep env prints',
  );
}
