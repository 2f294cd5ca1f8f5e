/** Who sent a request: the token from the header or the query, verified for the region of the host. */
import type { Authority, Caller, TokenVerdict } from '../accounts/authority.js';
import { permits, type TokenNeed } from '../accounts/token-scopes.js';
import type { Region } from '../config/regions.js';
import { ApiError } from '../contract/error-codes.js';
import { bareToken, type Dialect } from '../dialects/index.js';
import { shown } from './parameters/unacceptable.js';
import { type Target, takeToken } from './target.js';

const CHALLENGE = { 'www-authenticate': 'Bearer' } as const;
const BEARER = /^bearer +(\S+) *$/i;

export interface Credential {
  readonly token: string;
  /** The target without the parameter that carried the token. */
  readonly target: Target;
}

/**
 * The header wins: a token parameter beside it belongs to somebody else and stays where it is. `queryTokens`: whether one in
 * the query is taken at all. Throws ApiError.
 */
export function credentialOf(
  authorization: string | undefined,
  target: Target,
  dialect: Dialect,
  queryTokens: boolean,
): Credential {
  if (authorization !== undefined) {
    const token = BEARER.exec(authorization)?.[1];
    if (token !== undefined) return { token: bareToken(token), target };
    const scheme = authorization.split(' ', 1)[0] ?? '';
    throw new ApiError(
      'bad-token',
      `the Authorization header must have the form "Bearer <token>", not the scheme ${shown(scheme)}`,
      CHALLENGE,
    );
  }
  if (!queryTokens)
    throw new ApiError(
      'missing-token',
      'no token was sent in a header; send "Authorization: Bearer <token>": this service takes no tokens in URLs',
      CHALLENGE,
    );
  const found = takeToken(target.query, dialect.tokenParameter);
  if (found && found.token !== '') return { token: bareToken(found.token), target: { path: target.path, query: found.rest } };
  throw new ApiError(
    'missing-token',
    `no token was sent; send "Authorization: Bearer <token>" or the query parameter ${dialect.tokenParameter}`,
    CHALLENGE,
  );
}

/** What an operation of a search index asks of a token. */
export type Need = 'read' | 'read-write';

function admit(verdict: TokenVerdict, need: TokenNeed): Caller {
  if (!verdict.ok) throw new ApiError('bad-token', verdict.message, CHALLENGE);
  requireScope(verdict.caller, need);
  return verdict.caller;
}

/** Throws ApiError `read-only-token` or `missing-scope`. */
export function requireScope(caller: Pick<Caller, 'scopes'>, need: TokenNeed): void {
  if (permits(caller.scopes, need)) return;
  if (caller.scopes.includes('read'))
    throw new ApiError('read-only-token', 'this token may only read; use a read-write token for this operation');
  const has = caller.scopes.join(', ');
  throw new ApiError('missing-scope', `this operation requires a token with the scope "${need}"; this token has: ${has}`);
}

/** Throws, or rejects with, ApiError. At once where the token is remembered. */
export function authenticate(authority: Authority, token: string, region: Region, need: TokenNeed): Caller | Promise<Caller> {
  const remembered = authority.recall(token, region);
  if (remembered) return admit(remembered, need);
  return authority.verify(token, region).then((verdict) => admit(verdict, need));
}
