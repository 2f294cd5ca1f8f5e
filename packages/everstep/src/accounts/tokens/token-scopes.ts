/** Defines what the scopes of a token permit. */

import type { TokenRecord } from '../../ports/stores/account-store.js';
import type { TokenScope } from '../../ports/stores/accounts/named-tokens.js';

/** Scope that an operation requires. It is `read` if the response would be useless without payloads. */
export type RequiredScope = Exclude<TokenScope, 'connect' | `connect:${string}`>;

export function permits(scopes: readonly TokenScope[], requiredScope: RequiredScope): boolean {
  if (scopes.includes('write') || scopes.includes(requiredScope)) return true;
  return requiredScope === 'read-metadata' && scopes.includes('read');
}

/** Returns the error for a worker whose token may not connect workers of the app, or null if the token may. */
export function connectProblem(scopes: readonly TokenScope[], app: string): string | null {
  if (scopes.includes('write') || scopes.includes('connect') || scopes.includes(`connect:${app}`)) return null;
  const scopeChoices = `"connect:${app}", "connect" or "write"`;
  return `a worker of the app "${app}" requires a token with the scope ${scopeChoices}; this token has: ${scopes.join(', ')}`;
}

/** Returns the scopes of a permanent token, which has only an access. */
export const scopesOf = (access: TokenRecord['access']): readonly TokenScope[] => [access === 'read-write' ? 'write' : 'read'];

/** Name of the permanent tokens of an instance, for lists, the audit log and the author of a change. */
export const permanentTokenName = (access: TokenRecord['access']): string => `${access} token`;

/** Identifies a token in the audit log and as the author of a change. */
export const tokenActor = (tokenId: string, name: string): string => `token ${tokenId} (${name})`;

export const accessOf = (scopes: readonly TokenScope[]): TokenRecord['access'] =>
  scopes.includes('write') ? 'read-write' : 'read-only';
