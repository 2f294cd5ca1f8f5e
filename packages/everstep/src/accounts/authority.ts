/**
 * Tokens and signing keys. A token is a JWT (HS256) that names its queue
 * instance, region and access; that it was not revoked is kept in the store.
 * What was verified is remembered, so that a request pays one look-up in a map;
 * revoking drops it from there before it returns. Where several processes share
 * the store it is remembered for a few seconds, and until another one tells that
 * it changed something.
 */
import { randomBytes } from 'node:crypto';
import type { JWTPayload } from 'jose';
import { SignJWT } from 'jose/jwt/sign';
import { jwtVerify } from 'jose/jwt/verify';
import { ofThisRequest } from '../audit/audited-request.js';
import { newKey } from '../engine/ids.js';
import type { OutboundRules } from '../ports/account-store.js';
import type { TokenScope } from '../ports/named-tokens.js';
import type { AuditEntry, QueueInstance, Store, TokenRecord } from '../ports/store.js';
import { KEY_RINGS, KeyRing, keyAt, type Ring } from '../secrets/key-ring.js';
import { createInstanceSignatures, type InstanceSignatures } from './instance-signatures.js';
import { hashOfToken, NAMED_TOKEN_PREFIX } from './named-token.js';
import { RecentTokens } from './recent-tokens.js';
import { REMEMBERED_MS, type Sharing } from './sharing.js';
import { accessOf, scopesOf } from './token-scopes.js';

const ISSUER = 'Everstep';
const ALGORITHM = 'HS256';
const SECRET_BYTES = 32;
const TOKEN_ID_BYTES = 16;
const REMEMBERED_TOKENS = 10_000;
const USE_NOTED_EVERY_MS = 10 * 60_000;
/** Ours are about 350 characters. */
const MAX_TOKEN_LENGTH = 4_096;

export type Access = TokenRecord['access'];

/** Who asks for something of an instance: the holder of a token, or a user with a session. */
export interface Caller {
  /** For the audit log and for people: `token <id>`, or the e-mail of the user. */
  readonly actor: string;
  readonly instanceId: string;
  readonly region: string;
  readonly access: Access;
  /** What it may do; `access` follows from it. */
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
  /** `message` is for the one who sent the token. */
  | { readonly ok: false; readonly message: string };

export interface SigningKeys {
  readonly current: string;
  readonly next: string;
}

/** Who rotated signing keys, as the audit log names it, and from which address. */
export interface KeyRotation {
  readonly actor: string;
  readonly address: string;
}

/** What somebody did in an instance, for the audit log. */
export type NotedAction = KeyRotation & Pick<AuditEntry, 'action' | 'subject' | 'details'>;

export interface Authority extends InstanceSignatures {
  /** The record of a new token, which is good once it is in the store. */
  newToken(request: { readonly instanceId: string; readonly access: Access }): TokenRecord;
  /** Issues a token for an instance. Rejects when there is no such instance. */
  issueToken(request: { readonly instanceId: string; readonly access: Access }): Promise<string>;
  /** The token of a record, the same text as when it was issued. Rejects when there is no such instance. */
  tokenOf(record: TokenRecord): Promise<string>;
  /** Tokens of the instance were revoked in the store: from now on they are refused. */
  revoked(instanceId: string, tokenIds: readonly string[]): void;
  /** From the moment it resolves the token is refused. A token that is unknown or revoked stays so. */
  revoke(tokenId: string): Promise<void>;
  /** The verdict on a token that was verified lately, at once; undefined when it has to be verified. */
  recall(token: string, region: string): TokenVerdict | undefined;
  verify(token: string, region: string): Promise<TokenVerdict>;
  /** Whether the token is good for this instance, in the instance's own region. */
  isValid(token: string, instanceId: string): Promise<boolean>;
  /** Null when the instance is known; else resolves when it is, or when there is none. Rejects when the store fails. */
  prepare(instanceId: string): Promise<void> | null;
  /** The instance's keys, without waiting. Throws when the instance is unknown. */
  signingKeys(instanceId: string): SigningKeys;
  /** Where the instance is, without waiting; null when it is unknown. */
  regionOf(instanceId: string): string | null;
  /** What the instance has of its own for outbound calls, without waiting; null when it has nothing or is unknown. */
  outboundRulesOf(instanceId: string): OutboundRules | null;
  /**
   * The next key becomes the current one, and a new one is made. `by` is told in the audit log. Rejects when there is no such
   * instance.
   */
  rotateSigningKeys(instanceId: string, by?: KeyRotation): Promise<SigningKeys>;
  /** Writes into the audit log what was done; it is told to whoever owns the instance at this moment. */
  note(instanceId: string, action: NotedAction): Promise<void>;
  /** The entry that tells it, for whoever writes it together with the change. */
  auditEntry(instanceId: string, action: NotedAction): Promise<AuditEntry>;
  /** Another process changed the instance (null: any of them): resolves when it is known as it is now, or could not be read. */
  forget(instanceId: string | null): Promise<void>;
}

/** A token that was found good. */
interface Verified {
  readonly tokenId: string;
  readonly caller: Caller;
  /** From then on it has to be verified again. */
  readonly until: number;
  /** Unix ms; null: never. */
  readonly expiresAt: number | null;
}

interface Known {
  readonly instance: QueueInstance;
  /** By the time since something; and in the order in which readings began, so that an earlier one replaces no later one. */
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
    message: `the token is of the region ${caller.region}, and this host is of ${region}; call the host of the token's region`,
  };
}

const isNamed = (token: string): boolean => token.startsWith(`${NAMED_TOKEN_PREFIX}_`);
const isAccess = (value: unknown): value is Access => value === 'read-write' || value === 'read-only';
const bytesOf = (key: string): Uint8Array => new TextEncoder().encode(key);
const newSigningKey = (): string => `sig_${randomBytes(SECRET_BYTES).toString('base64url')}`;

/** Reads the secret and the instances; `now` gives Unix ms. */
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
  /** When the use of a named token was written, Unix ms, oldest first. */
  const notedUses = new Map<string, number>();
  /** Counts changes, so that a verification that began before one does not remember what it ended. */
  let changes = 0;
  let readings = 0;

  const beginReading = () => ({ readAt: elapsedMs(), reading: ++readings });

  function learn(instance: QueueInstance, when: Omit<Known, 'instance'>): void {
    const known = instances.get(instance.instanceId);
    if (!known || known.reading <= when.reading) instances.set(instance.instanceId, { instance, ...when });
  }

  /** It was deleted. */
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

  /** As it was known last, read again in the background when that is a while ago. */
  function recallInstance(instanceId: string): QueueInstance | null {
    const known = instances.get(instanceId);
    if (sharing && known && elapsedMs() - known.readAt >= REMEMBERED_MS) {
      // Once at a time. What fails is tried again a while later.
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
    if (!instance) throw new Error(`there is no queue instance ${instanceId}`);
    return instance;
  }

  /** Nothing in a JWT with HS256 is random: the same claims in the same order are the same text. */
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

  /** Nobody waits for it. What is not written now is written at the next use. */
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
    const [before, until] = [changes, elapsedMs() + REMEMBERED_MS];
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

  /** The claims, and the key that signed them; null when none of the keys did. */
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
    const [before, until] = [changes, elapsedMs() + REMEMBERED_MS];
    const record = await accounts.findToken({ tokenId: jti });
    const instance = await findInstance(sub);
    if (!record || record.revokedAt !== null || record.instanceId !== sub || record.access !== access) return null;
    // An earlier key is valid for the tokens of its time only: a leaked one cannot sign later tokens.
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

  /** Told to whoever owns the instance at this moment. */
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

  /** One after the other, and from what there is: another process may have changed it a moment ago. */
  async function inTurn<Result>(instanceId: string, work: () => Promise<Result>): Promise<Result> {
    const result = await (accounts.exclusively?.(work, [instanceId]) ?? work());
    sharing?.changed(instanceId);
    return result;
  }

  function recall(instanceId: string): QueueInstance {
    const instance = recallInstance(instanceId);
    if (!instance) throw new Error(`there is no queue instance ${instanceId}`);
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
      // What could not be read now is read when it is old.
      await (instanceId === null ? readAll() : readInstance(instanceId)).catch(() => {});
    },
  };
  return authority;
}
