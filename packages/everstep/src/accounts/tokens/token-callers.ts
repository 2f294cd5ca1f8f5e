/**
 * Finds the callers that tokens belong to. Verified tokens are cached, so that a request costs one map lookup; a
 * revocation drops the token from the cache.
 */
import { LIMITS } from '../../config/limits.js';
import type { AccountStore } from '../../ports/stores/account-store.js';
import { type KeyRing, keyAt } from '../../secrets/key-ring.js';
import { CACHE_TTL_MS, type CacheCoordinator } from '../cache-coordinator.js';
import type { Caller } from './caller.js';
import type { KnownInstances } from './known-instances.js';
import { hashOfToken, NAMED_TOKEN_PREFIX } from './named-token.js';
import { RecentTokens } from './recent-tokens.js';
import { readSignedToken } from './signed-tokens.js';
import { accessOf, permanentTokenName, scopesOf, tokenActor } from './token-scopes.js';

const MAX_REMEMBERED_TOKENS = 10_000;
const USE_RECORD_INTERVAL_MS = 10 * 60_000;

/** A valid token in the cache. */
interface VerifiedToken {
  readonly tokenId: string;
  readonly caller: Caller;
  /** Time at which the token must be verified again, on the clock of `elapsedMs`. */
  readonly verifyAgainAt: number;
  /** Expiry in Unix milliseconds; null if the token does not expire. */
  readonly expiresAt: number | null;
}

const isNamed = (token: string): boolean => token.startsWith(`${NAMED_TOKEN_PREFIX}_`);

export interface TokenCallersOptions {
  readonly accounts: AccountStore;
  readonly ring: KeyRing;
  readonly instances: KnownInstances;
  /** Returns the current time in Unix milliseconds. */
  readonly now: () => number;
  /** Like `now`, of the clock with which the expiries of named tokens are written. */
  readonly namedTokenNow: () => number;
  /** Undefined if no other process uses the store. */
  readonly cacheCoordinator: CacheCoordinator | undefined;
}

export interface TokenCallers {
  /** Returns undefined if the token must be verified. */
  recall(token: string): Caller | undefined;
  /** Returns null for an invalid token. */
  find(token: string): Promise<Caller | null>;
  forgetTokens(tokenIds: readonly string[]): void;
  /** Drops the tokens of an instance from the cache. Null means all instances. */
  forgetInstance(instanceId: string | null): void;
}

/** Returns a function that records a use of a named token at most once in ten minutes. */
function createUseRecorder({
  accounts,
  namedTokenNow,
}: Pick<TokenCallersOptions, 'accounts' | 'namedTokenNow'>): (tokenId: string) => void {
  /** Times at which uses of named tokens were written, Unix ms, oldest first. */
  const recordedUses = new Map<string, number>();
  /** Runs in the background. If a write fails, the next use is written. */
  return (tokenId) => {
    const at = namedTokenNow();
    if (at - (recordedUses.get(tokenId) ?? Number.NEGATIVE_INFINITY) < USE_RECORD_INTERVAL_MS) return;
    recordedUses.delete(tokenId);
    recordedUses.set(tokenId, at);
    const [oldestTokenId] = recordedUses.keys();
    if (recordedUses.size > MAX_REMEMBERED_TOKENS && oldestTokenId !== undefined) recordedUses.delete(oldestTokenId);
    accounts.recordTokenUse({ tokenId, at }).catch(() => recordedUses.delete(tokenId));
  };
}

export function createTokenCallers(options: TokenCallersOptions): TokenCallers {
  const { accounts, ring, instances, now, namedTokenNow, cacheCoordinator } = options;
  const elapsedMs = cacheCoordinator?.elapsedMs ?? (() => 0);
  const verifiedTokens = new RecentTokens<VerifiedToken>(MAX_REMEMBERED_TOKENS);
  const recordUse = createUseRecorder(options);
  /** Counts changes, so that a verification that started before a change is not cached. */
  let changeCount = 0;

  const hasExpired = ({ expiresAt }: { readonly expiresAt: number | null }): boolean =>
    expiresAt !== null && expiresAt <= namedTokenNow();

  function recall(token: string): Caller | undefined {
    const cachedToken = verifiedTokens.get(token);
    if (!cachedToken || (cacheCoordinator && elapsedMs() >= cachedToken.verifyAgainAt) || hasExpired(cachedToken))
      return undefined;
    if (isNamed(token)) recordUse(cachedToken.tokenId);
    return cachedToken.caller;
  }

  async function readNamedToken(token: string): Promise<Caller | null> {
    const [changeCountBefore, verifyAgainAt] = [changeCount, elapsedMs() + CACHE_TTL_MS];
    const record = await accounts.findNamedToken({ tokenHash: hashOfToken(token) });
    if (!record || record.revokedAt !== null || hasExpired(record)) return null;
    const { tokenId, instanceId, name, scopes, expiresAt } = record;
    const instance = await instances.find(instanceId);
    if (!instance) return null;
    const actor = tokenActor(tokenId, name);
    const caller: Caller = Object.freeze({ actor, instanceId, region: instance.region, access: accessOf(scopes), scopes });
    if (changeCountBefore === changeCount) verifiedTokens.set(token, { tokenId, caller, verifyAgainAt, expiresAt });
    recordUse(tokenId);
    return caller;
  }

  async function readToken(token: string): Promise<Caller | null> {
    if (token.length > LIMITS.maxTokenLength) return null;
    if (isNamed(token)) return readNamedToken(token);
    const keys = await ring.keys();
    const claims = await readSignedToken(token, keys, now());
    if (!claims) return null;
    const { instanceId, tokenId, region, access } = claims;
    const [changeCountBefore, verifyAgainAt] = [changeCount, elapsedMs() + CACHE_TTL_MS];
    const record = await accounts.findToken({ tokenId });
    const instance = await instances.find(instanceId);
    if (!record || record.revokedAt !== null || record.instanceId !== instanceId || record.access !== access) return null;
    // An earlier key is only valid for tokens of its time, so a leaked key cannot sign later tokens.
    if (keyAt(keys, record.createdAt) !== claims.key) return null;
    if (instance?.region !== region) return null;
    const scopes = scopesOf(access);
    const actor = tokenActor(tokenId, permanentTokenName(access));
    const caller: Caller = Object.freeze({ actor, instanceId, region, access, scopes });
    if (changeCountBefore === changeCount) verifiedTokens.set(token, { tokenId, caller, verifyAgainAt, expiresAt: null });
    return caller;
  }

  return {
    recall,
    find: async (token) => recall(token) ?? (await readToken(token)),
    forgetTokens(tokenIds) {
      changeCount++;
      for (const tokenId of tokenIds) verifiedTokens.forget(tokenId);
    },
    forgetInstance(instanceId) {
      changeCount++;
      verifiedTokens.forgetAll(({ caller }) => instanceId === null || caller.instanceId === instanceId);
    },
  };
}
