/** Tokens of search indexes: made from a secret of the installation, so that none is stored, and every one can be shown again. */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { AccountStore } from '../ports/account-store.js';
import type { SearchIndexRecord } from '../ports/search-store.js';

const SECRET_NAME = 'search-token-key';
const SECRET_BYTES = 32;
const PREFIXES = { 'read-write': 'srw', 'read-only': 'sro' } as const;

export type SearchAccess = keyof typeof PREFIXES;
type TokenClaims = Pick<SearchIndexRecord, 'indexId' | 'tokenNumber'>;

export interface SearchTokens {
  tokenOf(index: TokenClaims, access: SearchAccess): string;
  /** What the token may do with the index; null: nothing. Takes as long for any token of the usual length. */
  accessOf(index: TokenClaims, token: string): SearchAccess | null;
}

export async function createSearchTokens(accounts: Pick<AccountStore, 'secret'>): Promise<SearchTokens> {
  const secret = await accounts.secret({ name: SECRET_NAME, value: randomBytes(SECRET_BYTES).toString('base64url') });
  const tokenOf = ({ indexId, tokenNumber }: TokenClaims, access: SearchAccess): string => {
    const mac = createHmac('sha256', secret).update(`${indexId} ${tokenNumber} ${access}`).digest('base64url');
    return `${PREFIXES[access]}_${mac}`;
  };
  const equal = (a: string, b: string): boolean => {
    const [left, right] = [Buffer.from(a), Buffer.from(b)];
    return left.length === right.length && timingSafeEqual(left, right);
  };
  return {
    tokenOf,
    accessOf(index, token) {
      const [mayWrite, mayRead] = [equal(token, tokenOf(index, 'read-write')), equal(token, tokenOf(index, 'read-only'))];
      if (mayWrite) return 'read-write';
      return mayRead ? 'read-only' : null;
    },
  };
}
