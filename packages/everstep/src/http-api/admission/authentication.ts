/** Authenticates requests to the runtime API. Verifies the token in the header or the query for the region of the host. */
import type { Authority, TokenVerdict } from '../../accounts/tokens/authority.js';
import type { Caller } from '../../accounts/tokens/caller.js';
import { permits, type RequiredScope } from '../../accounts/tokens/token-scopes.js';
import type { Region } from '../../config/regions.js';
import { ApiError } from '../../contract/error-codes.js';
import { type Dialect, unwrapToken } from '../../dialects/index.js';
import { quoteValue } from '../parameters/value-errors.js';
import { type Target, takeToken } from '../server/target.js';

const CHALLENGE = { 'www-authenticate': 'Bearer' } as const;
const BEARER = /^bearer +(\S+) *$/i;

export interface Credential {
  readonly token: string;
  /** The target without the token parameter. */
  readonly target: Target;
}

/**
 * Returns the token of a request. The header takes precedence: if it is present, a token parameter is not removed from the query,
 * because it belongs to the workflow URL. Throws ApiError if there is no valid token, or if it is in the query although
 * `acceptsQueryTokens` is false.
 */
export function credentialOf(
  authorization: string | undefined,
  target: Target,
  dialect: Dialect,
  acceptsQueryTokens: boolean,
): Credential {
  if (authorization !== undefined) {
    const token = BEARER.exec(authorization)?.[1];
    if (token !== undefined) return { token: unwrapToken(token), target };
    const scheme = authorization.split(' ', 1)[0] ?? '';
    const problem = scheme.toLowerCase() === 'bearer' ? 'with one token' : `not the scheme ${quoteValue(scheme)}`;
    throw new ApiError('bad-token', `the Authorization header must have the form "Bearer <token>", ${problem}`, CHALLENGE);
  }
  if (!acceptsQueryTokens)
    throw new ApiError(
      'missing-token',
      'the request has no token; send "Authorization: Bearer <token>" (this server does not accept tokens in URLs)',
      CHALLENGE,
    );
  const parameter = takeToken(target.query, dialect.tokenParameter);
  if (parameter && parameter.token !== '')
    return { token: unwrapToken(parameter.token), target: { path: target.path, query: parameter.remainingQuery } };
  throw new ApiError(
    'missing-token',
    `the request has no token; send "Authorization: Bearer <token>" or the query parameter ${dialect.tokenParameter}`,
    CHALLENGE,
  );
}

/** Access that a search operation requires. */
export type SearchAccess = 'read' | 'read-write';

function admit(verdict: TokenVerdict, need: RequiredScope): Caller {
  if (!verdict.ok) throw new ApiError('bad-token', verdict.message, CHALLENGE);
  requireScope(verdict.caller, need);
  return verdict.caller;
}

/** Checks that a caller has the required scope. Throws ApiError `read-only-token` or `missing-scope`. */
export function requireScope(caller: Pick<Caller, 'scopes'>, need: RequiredScope): void {
  if (permits(caller.scopes, need)) return;
  if (caller.scopes.includes('read'))
    throw new ApiError('read-only-token', 'this token can only read; use a read-write token for this operation');
  const scopeList = caller.scopes.join(', ');
  throw new ApiError('missing-scope', `this operation requires a token with the scope "${need}"; this token has: ${scopeList}`);
}

/** Returns the caller of the token, synchronously if the token is cached. Throws or rejects with ApiError. */
export function authenticate(authority: Authority, token: string, region: Region, need: RequiredScope): Caller | Promise<Caller> {
  const cachedVerdict = authority.recall(token, region);
  if (cachedVerdict) return admit(cachedVerdict, need);
  return authority.verify(token, region).then((verdict) => admit(verdict, need));
}
