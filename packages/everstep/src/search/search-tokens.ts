/**
 * Tokens of search indexes are random, shown only at creation, and stored as hashes. Tokens created by an earlier
 * version were derived from a key of the installation. They stay valid until they are replaced.
 */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { hashOfToken } from '../accounts/tokens/named-token.js';
import type { AccountStore } from '../ports/stores/account-store.js';
import type { SearchIndexRecord, SearchIndexStore, SearchTokenHashes } from '../ports/stores/search-store.js';

/** Name of the secret from which tokens were derived. */
export const SEARCH_TOKEN_KEY = 'search-token-key';
const TOKEN_BYTES = 32;
const PREFIXES = { 'read-write': 'srw', 'read-only': 'sro' } as const;

export type SearchAccess = keyof typeof PREFIXES;

/** Random tokens; only their hashes are stored. */
export interface IssuedSearchTokens {
  readonly token: string;
  readonly readOnlyToken: string;
  readonly hashes: SearchTokenHashes;
}

const hashesOf = (tokenOf: (access: SearchAccess) => string): SearchTokenHashes => ({
  readWrite: hashOfToken(tokenOf('read-write')),
  readOnly: hashOfToken(tokenOf('read-only')),
});

export function issueSearchTokens(): IssuedSearchTokens {
  const newToken = (access: SearchAccess) => `${PREFIXES[access]}_${randomBytes(TOKEN_BYTES).toString('base64url')}`;
  const tokens = { 'read-write': newToken('read-write'), 'read-only': newToken('read-only') };
  return { token: tokens['read-write'], readOnlyToken: tokens['read-only'], hashes: hashesOf((access) => tokens[access]) };
}

/** Returns the hashes for an index without stored hashes; null if the key was deleted, which makes its tokens invalid. */
async function derivedHashes(
  accounts: Pick<AccountStore, 'findSecret'>,
  { indexId, derivedNumber }: SearchIndexRecord,
): Promise<SearchTokenHashes | null> {
  const key = await accounts.findSecret({ name: SEARCH_TOKEN_KEY });
  if (key === null) return null;
  return hashesOf((access) => {
    const mac = createHmac('sha256', key).update(`${indexId} ${derivedNumber} ${access}`).digest('base64url');
    return `${PREFIXES[access]}_${mac}`;
  });
}

const hashesEqual = (hash: string, otherHash: string): boolean =>
  timingSafeEqual(Buffer.from(hash, 'hex'), Buffer.from(otherHash, 'hex'));

/** Returns the access of a token to the index, or null if it has none. Takes the same time for every token. */
export async function searchAccessOf(
  accounts: Pick<AccountStore, 'findSecret'>,
  index: SearchIndexRecord,
  token: string,
): Promise<SearchAccess | null> {
  const hashes = index.tokenHashes ?? (await derivedHashes(accounts, index));
  if (!hashes) return null;
  const tokenHash = hashOfToken(token);
  const [mayWrite, mayRead] = [hashesEqual(tokenHash, hashes.readWrite), hashesEqual(tokenHash, hashes.readOnly)];
  if (mayWrite) return 'read-write';
  return mayRead ? 'read-only' : null;
}

/** Stores the hashes of derived tokens, which stay valid, and deletes the key, so that no further tokens can be derived. */
export async function endDerivedTokens(accounts: AccountStore, indexes: SearchIndexStore): Promise<void> {
  for (const indexId of await indexes.listIds()) {
    const index = await indexes.find({ indexId });
    const hashes = index && !index.tokenHashes ? await derivedHashes(accounts, index) : null;
    if (hashes) await indexes.hashDerivedTokens({ indexId, hashes });
  }
  await accounts.deleteSecret({ name: SEARCH_TOKEN_KEY });
}
