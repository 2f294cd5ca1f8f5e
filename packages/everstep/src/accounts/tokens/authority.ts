/**
 * Tokens and signing keys. A token is a JWT (HS256) with the queue instance, region and access. The store records
 * revocations. Verified tokens are cached, so that a request costs one map lookup; a revocation drops the token from
 * the cache before it returns. If several processes share the store, entries expire after a few seconds, and a
 * process that makes a change notifies the others.
 */
import { randomBytes } from 'node:crypto';
import { withRequestDetails } from '../../audit/audited-request.js';
import { newKey } from '../../engine/ids.js';
import type { AccountStore, OutboundRules } from '../../ports/stores/account-store.js';
import type { AuditEntry, Store, TokenRecord } from '../../ports/stores/store.js';
import { KEY_RINGS, KeyRing } from '../../secrets/key-ring.js';
import type { CacheCoordinator } from '../cache-coordinator.js';
import {
  type AuditedAction,
  type ChangeAuthor,
  createInstanceSignatures,
  type InstanceSignatures,
  type InstanceSignaturesOptions,
  type SigningKeys,
} from '../instances/instance-signatures.js';
import { AccountLocks } from '../quotas/account-locks.js';
import type { Caller, TokenAccess } from './caller.js';
import { createKnownInstances } from './known-instances.js';
import { signToken } from './signed-tokens.js';
import { createTokenCallers, type TokenCallers, type TokenCallersOptions } from './token-callers.js';

const SECRET_BYTES = 32;
const TOKEN_ID_BYTES = 16;

export type TokenVerdict =
  | { readonly ok: true; readonly caller: Caller }
  /** `message` is for the sender of the token. */
  | { readonly ok: false; readonly message: string };

export interface Authority extends InstanceSignatures {
  /** Returns the record of a new token. The token is valid once the record is stored. */
  newToken(request: { readonly instanceId: string; readonly access: TokenAccess }): TokenRecord;
  /** Issues a token for an instance. Rejects if the instance does not exist. */
  issueToken(request: { readonly instanceId: string; readonly access: TokenAccess }): Promise<string>;
  /** Rebuilds the token of a record. Rejects if the instance does not exist. */
  tokenOf(record: TokenRecord): Promise<string>;
  /** Drops tokens that were revoked in the store from the cache, so that they are rejected. */
  dropRevoked(instanceId: string, tokenIds: readonly string[]): void;
  /** Calls the listener after tokens that may be invalid were dropped from the cache. Null means tokens of any instance. */
  onTokensChanged(listener: (instanceId: string | null) => void): void;
  /** Revokes a token. After the promise resolves, the token is rejected. Has no effect on unknown and revoked tokens. */
  revoke(tokenId: string): Promise<void>;
  /** Returns the cached verdict, or undefined if the token must be verified. */
  recall(token: string, region: string): TokenVerdict | undefined;
  verify(token: string, region: string): Promise<TokenVerdict>;
  /** Returns whether the token is valid for this instance, in the instance's own region. */
  isValid(token: string, instanceId: string): Promise<boolean>;
  /** Loads the instance into the cache. Returns null if it is already there. Rejects if the store fails. */
  prepare(instanceId: string): Promise<void> | null;
  /** Returns the cached signing keys. Throws if the instance is unknown. */
  signingKeys(instanceId: string): SigningKeys;
  /** Returns the cached region of the instance; null if unknown. */
  regionOf(instanceId: string): string | null;
  /** Returns the cached outbound rules of the instance; null if it has none or is unknown. */
  outboundRulesOf(instanceId: string): OutboundRules | null;
  /**
   * Makes the next key the current one, creates a new next key, and records `author` in the audit log. Rejects if the instance
   * does not exist.
   */
  rotateSigningKeys(instanceId: string, author?: ChangeAuthor): Promise<SigningKeys>;
  /** Writes an audit log entry for the current owner of the instance. */
  note(instanceId: string, action: AuditedAction): Promise<void>;
  /** Returns the audit entry, to be written together with the change. */
  auditEntry(instanceId: string, action: AuditedAction): Promise<AuditEntry>;
  /**
   * Reads an instance again after another process has changed it. Null means all instances. Also resolves if the read fails.
   */
  forget(instanceId: string | null): Promise<void>;
}

const INVALID_TOKEN: TokenVerdict = Object.freeze({
  ok: false,
  message: 'the token is not valid: it is malformed, expired, revoked, or was not issued by this installation',
});

function verdictOf(caller: Caller, region: string): TokenVerdict {
  if (caller.region === region) return { ok: true, caller };
  return {
    ok: false,
    message: `the token belongs to region ${caller.region}, but this host is in ${region}; use the host of the token's region`,
  };
}

const newSigningKey = (): string => `sig_${randomBytes(SECRET_BYTES).toString('base64url')}`;

const newTokenRecord = (
  { instanceId, access }: { readonly instanceId: string; readonly access: TokenAccess },
  createdAt: number,
): TokenRecord => ({
  tokenId: randomBytes(TOKEN_ID_BYTES).toString('base64url'),
  instanceId,
  access,
  createdAt,
  revokedAt: null,
});

interface AuthorityOptions {
  readonly store: Pick<Store, 'accounts'>;
  /** Returns the current time in Unix milliseconds. It is for signed tokens, whose verifiers use the clocks of their machines. */
  readonly now: () => number;
  /** Like `now`, of the clock with which the expiries of named tokens are written. Default: `now`. */
  readonly namedTokenNow?: () => number;
  /** Absent if no other process uses the store. */
  readonly cacheCoordinator?: CacheCoordinator;
}

/** Returns a function that makes an audit entry for the current owner of an instance. */
function createAuditEntries({ store: { accounts }, now }: AuthorityOptions): Authority['auditEntry'] {
  return async (instanceId, action) => {
    const at = now();
    const ownerId = (await accounts.findInstance({ instanceId }))?.accountId;
    return withRequestDetails({
      auditId: `aud_${newKey({ now: at, random: { bytes: randomBytes } })}`,
      at,
      ...action,
      accountIds: ownerId === undefined ? [] : [ownerId],
    });
  };
}

type Revocations = Pick<Authority, 'dropRevoked' | 'revoke' | 'forget' | 'onTokensChanged'>;

/** Returns the parts of the authority that drop tokens from the cache. */
function createRevocations({
  accounts,
  ring,
  instances,
  now,
  cacheCoordinator,
  callers,
}: Omit<TokenCallersOptions, 'namedTokenNow'> & { readonly callers: TokenCallers }): Revocations {
  const listeners: ((instanceId: string | null) => void)[] = [];
  const notifyListeners = (instanceId: string | null): void => {
    for (const listener of listeners) listener(instanceId);
  };
  const notifyAll = (instanceId: string): void => {
    cacheCoordinator?.notifyChanged(instanceId);
    notifyListeners(instanceId);
  };
  return {
    onTokensChanged: (listener) => void listeners.push(listener),
    dropRevoked(instanceId, tokenIds) {
      callers.forgetTokens(tokenIds);
      notifyAll(instanceId);
    },
    async revoke(tokenId) {
      await accounts.revokeToken({ tokenId, at: now() });
      callers.forgetTokens([tokenId]);
      const record = await accounts.findToken({ tokenId });
      if (record) notifyAll(record.instanceId);
    },
    async forget(instanceId) {
      if (instanceId === null) ring.forget();
      callers.forgetInstance(instanceId);
      // If a read fails, the entry is refreshed when it expires.
      await (instanceId === null ? instances.readAll() : instances.read(instanceId)).catch(() => {});
      notifyListeners(instanceId);
    },
  };
}

/** Returns a function that changes the keys of an instance after the earlier changes in any process, and notifies the others. */
function createKeyLock(
  { runExclusively }: AccountStore,
  cacheCoordinator: CacheCoordinator | undefined,
): InstanceSignaturesOptions['withLock'] {
  const locks = new AccountLocks();
  return async (instanceId, work) => {
    const result = await locks.run([instanceId], () => (runExclusively ? runExclusively(work, [instanceId]) : work()));
    cacheCoordinator?.notifyChanged(instanceId);
    return result;
  };
}

/** Loads the token keys and the instances. */
export async function createAuthority(options: AuthorityOptions): Promise<Authority> {
  const { now, namedTokenNow = now, cacheCoordinator } = options;
  const { accounts } = options.store;
  const ring = new KeyRing({
    accounts,
    name: KEY_RINGS.tokens.name,
    ...(cacheCoordinator ? { elapsedMs: cacheCoordinator.elapsedMs } : {}),
  });
  await ring.keys();
  const instances = createKnownInstances(accounts, cacheCoordinator);
  await instances.readAll();
  const callers = createTokenCallers({ accounts, ring, instances, now, namedTokenNow, cacheCoordinator });
  const auditEntryOf = createAuditEntries(options);
  const withLock = createKeyLock(accounts, cacheCoordinator);

  const sign = async (record: TokenRecord): Promise<string> => {
    const { region } = await instances.require(record.instanceId);
    return signToken(record, { region, keys: await ring.keys() });
  };

  async function rotate(instanceId: string, author: ChangeAuthor | undefined): Promise<SigningKeys> {
    await instances.read(instanceId);
    const instance = await instances.require(instanceId);
    const keys: SigningKeys = { current: instance.nextSigningKey, next: newSigningKey() };
    const action = { action: 'queue.rotate-signing-keys', subject: instanceId, details: {} };
    const audit = author && (await auditEntryOf(instanceId, { ...author, ...action }));
    await accounts.setSigningKeys({ instanceId, ...keys, ...(audit ? { audit } : {}) });
    const latestInstance = instances.peek(instanceId) ?? instance;
    instances.putWritten({ ...latestInstance, currentSigningKey: keys.current, nextSigningKey: keys.next });
    return keys;
  }

  const signatures = createInstanceSignatures({
    accounts,
    recall: instances.recallExisting,
    find: instances.find,
    read: instances.read,
    auditOf: auditEntryOf,
    withLock,
    notifyChanged: (instanceId) => cacheCoordinator?.notifyChanged(instanceId),
  });

  return {
    ...signatures,
    newToken: (request) => newTokenRecord(request, now()),
    async issueToken(request) {
      const record = newTokenRecord(request, now());
      const token = await sign(record);
      await accounts.createToken(record);
      return token;
    },
    tokenOf: sign,
    ...createRevocations({ accounts, ring, callers, instances, now, cacheCoordinator }),
    recall(token, region) {
      const caller = callers.recall(token);
      return caller && verdictOf(caller, region);
    },
    async verify(token, region) {
      const caller = await callers.find(token);
      return caller ? verdictOf(caller, region) : INVALID_TOKEN;
    },
    async isValid(token, instanceId) {
      return (await callers.find(token))?.instanceId === instanceId;
    },
    prepare: (instanceId) => (instances.peek(instanceId) ? null : instances.read(instanceId).then(() => undefined)),
    signingKeys(instanceId) {
      const { currentSigningKey: current, nextSigningKey: next } = instances.recallExisting(instanceId);
      return { current, next };
    },
    outboundRulesOf: (instanceId) => instances.recall(instanceId)?.outboundRules ?? null,
    regionOf: (instanceId) => instances.peek(instanceId)?.region ?? null,
    rotateSigningKeys: (instanceId, author) => withLock(instanceId, () => rotate(instanceId, author)),
    auditEntry: auditEntryOf,
    async note(instanceId, action) {
      await accounts.addAudit(await auditEntryOf(instanceId, action));
    },
  };
}
