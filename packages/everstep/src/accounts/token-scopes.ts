/** What the scopes of a token permit. */

import type { TokenRecord } from '../ports/account-store.js';
import type { TokenScope } from '../ports/named-tokens.js';

/** What an operation asks of a token. `read`: its answer is worth nothing without payloads. */
export type TokenNeed = Exclude<TokenScope, 'connect'>;

export function permits(scopes: readonly TokenScope[], need: TokenNeed): boolean {
  if (scopes.includes('write') || scopes.includes(need)) return true;
  return need === 'read-metadata' && scopes.includes('read');
}

/** The scopes of tokens that have only an access. */
export const scopesOf = (access: TokenRecord['access']): readonly TokenScope[] => [access === 'read-write' ? 'write' : 'read'];

export const accessOf = (scopes: readonly TokenScope[]): TokenRecord['access'] =>
  scopes.includes('write') ? 'read-write' : 'read-only';
