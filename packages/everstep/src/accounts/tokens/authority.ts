/**
 * Tokens and signing keys. A token is a JWT (HS256) with the queue instance, region and access. The store records
 * revocations. Verified tokens are cached, so that a request costs one map lookup; a revocation drops the token from
 * the cache before it returns. If several processes share the store, entries expire after a few seconds, and a
 * process that makes a change notifies the others.
 */
import { randomBytes } from 'node:crypto';
import type { JWTPayload } from 'jose';
import { SignJWT } from 'jose/jwt/sign';
import { jwtVerify } from 'jose/jwt/verify';
import { ofThisRequest } from '../../audit/audited-request.js';
import { newKey } from '../../engine/ids.js';
import type { OutboundRules } from '../../ports/stores/account-store.js';
import type { TokenScope } from '../../ports/stores/accounts/named-tokens.js';
import type { AuditEntry, QueueInstance, Store, TokenRecord } from '../../ports/stores/store.js';
import { KEY_RINGS, KeyRing, keyAt, type Ring } from '../../secrets/key-ring.js';
import {
  createInstanceSignatures,
  type InstanceSignatures,
  type KeyRotation,
  type NotedAction,
  type SigningKeys,
} from '../instances/instance-signatures.js';
import { CACHED_MS, type Sharing } from '../sharing.js';
import { hashOfToken, NAMED_TOKEN_PREFIX } from './named-token.js';
import { RecentTokens } from './recent-tokens.js';
import { accessOf, scopesOf } from './token-scopes.js';

const ISSUER = 'Everstep';
const ALGORITHM = 'HS256';
const SECRET_BYTES = 32;
const TOKEN_ID_BYTES = 16;
const REMEMBERED_TOKENS = 10_000;
const USE_NOTED_EVERY_MS = 10 * 60_000;
/** Everstep's own tokens have about 350 characters. */
const MAX_TOKEN_LENGTH = 4_096;

export type Access = TokenRecord['access'];

/** The caller of an instance operation: the holder of a token, or a user with a session. */
export interface Caller {
  /** Name for the audit log and for people: `token <id>`, or the email of the user. */
  readonly actor: string;
  readonly instanceId: string;
  readonly region: string;
  readonly access: Access;
  /** Permitted scopes; `access` follows from them. */
  readonly scopes: readonly TokenScope[];
  /** Absent for the holder of a token. */
  readonly user?: SessionUser;
}

/** A user with a session. */
export interface SessionUser {
  readonly userId: string;
  readonly sessionId: string;
}

export type TokenVerdict =
  | { readonly ok: true; readonly caller: Caller }
  /** `message` is for the sender of the token. */
  | { readonly ok: false; readonly message: string };

export interface Authority extends InstanceSignatures {
  /** Returns the record of a new token. The token is valid once the record is stored. */
  newToken(request: { readonly instanceId: string; readonly access: Access }): TokenRecord;
  /** Issues a token for an instance. Rejects if the instance does not exist. */
  issueToken(request: { readonly instanceId: string; readonly access: Access }): Promise<string>;
  /** Rebuilds the token of a record. Rejects if the instance does not exist. */
  tokenOf(record: TokenRecord): Promise<string>;
  /** Drops tokens that were revoked in the store from the cache, so that they are refused. */
  revoked(instanceId: string, tokenIds: readonly string[]): void;
  /** When it resolves, the token is refused. An unknown or revoked token stays refused. */
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
   * Makes the next key the current one and creates a new next key. `by` is in the audit log. Rejects if the instance
   * does not exist.
   */
  rotateSigningKeys(instanceId: string, by?: KeyRotation): Promise<SigningKeys>;
  /** Writes an audit log entry for the current owner of the instance. */
  note(instanceId: string, action: NotedAction): Promise<void>;
  /** Returns the audit entry, to be written together with the change. */
  auditEntry(instanceId: string, action: NotedAction): Promise<AuditEntry>;
  /** Reads an instance again after another process changed it (null: all of them). Also resolves if the read fails. */
  forget(instanceId: string | null): Promise<void>;
}

/** A valid token in the cache. */
interface Verified {
  readonly tokenId: string;
  readonly caller: Caller;
  /** Time at which it must be verified again. */
  readonly until: number;
  /** Unix ms; null: never. */
  readonly expiresAt: number | null;
}

interface Known {
  readonly instance: QueueInstance;
  /** Age of the entry, and the order in which reads started, so that an earlier read does not replace a later one. */
  readonly readAt: number;
  readonly reading: number;
}

const MALFORMED: TokenVerdict = Object.freeze({
  ok: false,
  message: 'the token is not valid: it is malformed, expired, revoked, or was not issued by this installation',
});

function judge(caller: Caller, region: string): TokenVerdict {
  if (caller.region === region) return { ok: true, caller };
  return {
    ok: false,
    message: `the token belongs to region ${caller.region}, but this host is in ${region}; use the host of the token's region`,
  };
}

const isNamed = (token: string): boolean => token.startsWith(`${NAMED_TOKEN_PREFIX}_`);
const isAccess = (value: unknown): value is Access => value === 'read-write' || value === 'read-only';
const bytesOf = (key: string): Uint8Array => new TextEncoder().encode(key);
const newSigningKey = (): string => `sig_${randomBytes(SECRET_BYTES).toString('base64url')}`;

/** Loads the token keys and the instances. `now` returns Unix ms. */
export async function createAuthority(options: {
  readonly store: Pick<Store, 'accounts'>;
  readonly now: () => number;
  /** Absent: no other process uses the store. */
  readonly sharing?: Sharing;
}): Promise<Authority> {
  const { now, sharing } = options;
  const { accounts } = options.store;
  const ring = new KeyRing({ accounts, name: KEY_RINGS.tokens.name, ...(sharing ? { elapsedMs: sharing.elapsedMs } : {}) });
  await ring.keys();
  const elapsedMs = sharing?.elapsedMs ?? (() => 0);
  const instances = new Map<string, Known>();
  const verified = new RecentTokens<Verified>(REMEMBERED_TOKENS);
  /** Times at which uses of named tokens were written, Unix ms, oldest first. */
  const notedUses = new Map<string, number>();
  /** Counts changes, so that a verification that started before a change is not cached. */
  let changes = 0;
  let readings = 0;

  const beginReading = () => ({ readAt: elapsedMs(), reading: ++readings });

  function learn(instance: QueueInstance, when: Omit<Known, 'instance'>): void {
    const known = instances.get(instance.instanceId);
    if (!known || known.reading <= when.reading) instances.set(instance.instanceId, { instance, ...when });
  }

  /** Removes a deleted instance. */
  function unlearn(instanceId: string, { reading }: Omit<Known, 'instance'>): void {
    const known = instances.get(instanceId);
    if (known && known.reading <= reading) instances.delete(instanceId);
  }

  async function readAll(): Promise<void> {
    const when = beginReading();
    const found = await accounts.listInstances();
    for (const instance of found) learn(instance, when);
    const ids = new Set(found.map(({ instanceId }) => instanceId));
    for (const instanceId of instances.keys()) if (!ids.has(instanceId)) unlearn(instanceId, when);
  }
  await readAll();

  async function readInstance(instanceId: string): Promise<QueueInstance | null> {
    const when = beginReading();
    const found = await accounts.findInstance({ instanceId });
    if (found) learn(found, when);
    else unlearn(instanceId, when);
    return found;
  }

  /** Returns the cached instance, and refreshes an old entry in the background. */
  function recallInstance(instanceId: string): QueueInstance | null {
    const known = instances.get(instanceId);
    if (sharing && known && elapsedMs() - known.readAt >= CACHED_MS) {
      // Prevents concurrent refreshes. A failed one is repeated later.
      learn(known.instance, { ...known, readAt: elapsedMs() });
      readInstance(instanceId).catch(() => {});
    }
    return known?.instance ?? null;
  }

  const findInstance = async (instanceId: string): Promise<QueueInstance | null> =>
    recallInstance(instanceId) ?? readInstance(instanceId);

  function recallCaller(token: string): Caller | undefined {
    const known = verified.get(token);
    if (!known || (sharing && elapsedMs() >= known.until) || hasExpired(known)) return undefined;
    if (isNamed(token)) noteUse(known.tokenId);
    return known.caller;
  }

  async function requireInstance(instanceId: string): Promise<QueueInstance> {
    const instance = await findInstance(instanceId);
    if (!instance) throw new Error(`queue instance ${instanceId} does not exist`);
    return instance;
  }

  /** A JWT with HS256 is deterministic: the same claims in the same order are the same text. */
  async function sign({ tokenId, instanceId, access, createdAt }: TokenRecord): Promise<string> {
    const { region } = await requireInstance(instanceId);
    const key = keyAt(await ring.keys(), createdAt);
    return new SignJWT({ region, access })
      .setProtectedHeader({ alg: ALGORITHM, typ: 'JWT' })
      .setIssuer(ISSUER)
      .setSubject(instanceId)
      .setJti(tokenId)
      .setIssuedAt(Math.floor(createdAt / 1000))
      .sign(bytesOf(key));
  }

  const hasExpired = ({ expiresAt }: { readonly expiresAt: number | null }): boolean => expiresAt !== null && expiresAt <= now();

  /** Runs in the background. If a write fails, the next use is written. */
  function noteUse(tokenId: string): void {
    const at = now();
    if (at - (notedUses.get(tokenId) ?? Number.NEGATIVE_INFINITY) < USE_NOTED_EVERY_MS) return;
    notedUses.delete(tokenId);
    notedUses.set(tokenId, at);
    const [oldest] = notedUses.keys();
    if (notedUses.size > REMEMBERED_TOKENS && oldest !== undefined) notedUses.delete(oldest);
    accounts.noteTokenUse({ tokenId, at }).catch(() => notedUses.delete(tokenId));
  }

  async function readNamedToken(token: string): Promise<Caller | null> {
    const [before, until] = [changes, elapsedMs() + CACHED_MS];
    const record = await accounts.findNamedToken({ tokenHash: hashOfToken(token) });
    if (!record || record.revokedAt !== null || hasExpired(record)) return null;
    const { tokenId, instanceId, name, scopes, expiresAt } = record;
    const instance = await findInstance(instanceId);
    if (!instance) return null;
    const actor = `token ${tokenId} (${name})`;
    const caller: Caller = Object.freeze({ actor, instanceId, region: instance.region, access: accessOf(scopes), scopes });
    if (before === changes) verified.set(token, { tokenId, caller, until, expiresAt });
    noteUse(tokenId);
    return caller;
  }

  /** Returns the claims and the key that signed them; null if no key did. */
  async function verifiedBy(token: string, keys: Ring): Promise<{ readonly payload: JWTPayload; readonly key: string } | null> {
    const options = { issuer: ISSUER, algorithms: [ALGORITHM], currentDate: new Date(now()) };
    for (const { key } of keys.toReversed()) {
      const read = await jwtVerify(token, bytesOf(key), options).catch(() => null);
      if (read) return { payload: read.payload, key };
    }
    return null;
  }

  async function readToken(token: string): Promise<Caller | null> {
    if (token.length > MAX_TOKEN_LENGTH) return null;
    if (isNamed(token)) return readNamedToken(token);
    const keys = await ring.keys();
    const read = await verifiedBy(token, keys);
    if (!read) return null;
    const { sub, jti, region, access } = read.payload;
    if (typeof sub !== 'string' || typeof jti !== 'string' || typeof region !== 'string' || !isAccess(access)) return null;
    const [before, until] = [changes, elapsedMs() + CACHED_MS];
    const record = await accounts.findToken({ tokenId: jti });
    const instance = await findInstance(sub);
    if (!record || record.revokedAt !== null || record.instanceId !== sub || record.access !== access) return null;
    // An earlier key is only valid for tokens of its time, so a leaked key cannot sign later tokens.
    if (keyAt(keys, record.createdAt) !== read.key) return null;
    if (instance?.region !== region) return null;
    const scopes = scopesOf(access);
    const caller: Caller = Object.freeze({ actor: `token ${jti}`, instanceId: sub, region, access, scopes });
    if (before === changes) verified.set(token, { tokenId: jti, caller, until, expiresAt: null });
    return caller;
  }

  const newToken: Authority['newToken'] = ({ instanceId, access }) => {
    const tokenId = randomBytes(TOKEN_ID_BYTES).toString('base64url');
    return { tokenId, instanceId, access, createdAt: now(), revokedAt: null };
  };

  function forgetTokens(tokenIds: readonly string[]): void {
    changes++;
    for (const tokenId of tokenIds) verified.forget(tokenId);
  }

  /** The entry belongs to the current owner of the instance. */
  async function auditOf(instanceId: string, action: NotedAction): Promise<AuditEntry> {
    const at = now();
    const owner = (await accounts.findInstance({ instanceId }))?.accountId;
    return ofThisRequest({
      auditId: `aud_${newKey({ now: at, random: { bytes: randomBytes } })}`,
      at,
      ...action,
      accountIds: owner === undefined ? [] : [owner],
    });
  }

  async function rotate(instanceId: string, by: KeyRotation | undefined): Promise<SigningKeys> {
    const instance = (sharing && (await readInstance(instanceId))) ?? (await requireInstance(instanceId));
    const keys: SigningKeys = { current: instance.nextSigningKey, next: newSigningKey() };
    const action = { action: 'queue.rotate-signing-keys', subject: instanceId, details: {} };
    const audit = by && (await auditOf(instanceId, { ...by, ...action }));
    await accounts.setSigningKeys({ instanceId, ...keys, ...(audit ? { audit } : {}) });
    const latest = instances.get(instanceId)?.instance ?? instance;
    learn({ ...latest, currentSigningKey: keys.current, nextSigningKey: keys.next }, beginReading());
    return keys;
  }

  /** Runs changes one at a time on the current state, because another process may just have changed it. */
  async function inTurn<Result>(instanceId: string, work: () => Promise<Result>): Promise<Result> {
    const result = await (accounts.exclusively?.(work, [instanceId]) ?? work());
    sharing?.changed(instanceId);
    return result;
  }

  function recall(instanceId: string): QueueInstance {
    const instance = recallInstance(instanceId);
    if (!instance) throw new Error(`queue instance ${instanceId} does not exist`);
    return instance;
  }

  const signatures = createInstanceSignatures({
    accounts,
    recall,
    find: findInstance,
    read: readInstance,
    auditOf,
    inTurn,
    changed: (instanceId) => sharing?.changed(instanceId),
  });

  const authority: Authority = {
    ...signatures,
    newToken,
    async issueToken(request) {
      const record = newToken(request);
      const token = await sign(record);
      await accounts.createToken(record);
      return token;
    },
    tokenOf: sign,
    revoked(instanceId, tokenIds) {
      forgetTokens(tokenIds);
      sharing?.changed(instanceId);
    },
    async revoke(tokenId) {
      await accounts.revokeToken({ tokenId, at: now() });
      forgetTokens([tokenId]);
      const record = sharing && (await accounts.findToken({ tokenId }));
      if (record) sharing.changed(record.instanceId);
    },
    recall(token, region) {
      const caller = recallCaller(token);
      return caller && judge(caller, region);
    },
    async verify(token, region) {
      const caller = recallCaller(token) ?? (await readToken(token));
      return caller ? judge(caller, region) : MALFORMED;
    },
    async isValid(token, instanceId) {
      return (recallCaller(token) ?? (await readToken(token)))?.instanceId === instanceId;
    },
    prepare: (instanceId) => (instances.has(instanceId) ? null : readInstance(instanceId).then(() => undefined)),
    signingKeys(instanceId) {
      const { currentSigningKey: current, nextSigningKey: next } = recall(instanceId);
      return { current, next };
    },
    outboundRulesOf: (instanceId) => recallInstance(instanceId)?.outboundRules ?? null,
    regionOf: (instanceId) => instances.get(instanceId)?.instance.region ?? null,
    rotateSigningKeys: (instanceId, by) => inTurn(instanceId, () => rotate(instanceId, by)),
    auditEntry: auditOf,
    async note(instanceId, action) {
      await accounts.addAudit(await auditOf(instanceId, action));
    },
    async forget(instanceId) {
      changes++;
      if (instanceId === null) ring.forget();
      verified.forgetAll(({ caller }) => instanceId === null || caller.instanceId === instanceId);
      // If a read fails, the entry is refreshed when it expires.
      await (instanceId === null ? readAll() : readInstance(instanceId)).catch(() => {});
    },
  };
  return authority;
}
