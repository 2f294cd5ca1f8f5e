/**
 * Tokens and signing keys. A token is a JWT (HS256) that names its queue
 * instance, region and access; that it was not revoked is kept in the store.
 * What was verified is remembered, so that a request pays one look-up in a map;
 * revoking drops it from there before it returns.
 */
import { randomBytes } from 'node:crypto';
import { jwtVerify, SignJWT } from 'jose';
import { newKey } from '../engine/ids.js';
import type { AuditEntry, QueueInstance, Store, TokenRecord } from '../ports/store.js';
import { RecentTokens } from './recent-tokens.js';

const ISSUER = 'Everstep';
const ALGORITHM = 'HS256';
const TOKEN_SECRET = 'token-signing-key';
const SECRET_BYTES = 32;
const TOKEN_ID_BYTES = 16;
const REMEMBERED_TOKENS = 10_000;
/** Ours are about 350 characters. */
const MAX_TOKEN_LENGTH = 4_096;

export type Access = TokenRecord['access'];

/** Who a token speaks for. */
export interface Caller {
  readonly tokenId: string;
  readonly instanceId: string;
  readonly region: string;
  readonly access: Access;
}

export type TokenVerdict =
  | { readonly ok: true; readonly caller: Caller }
  /** `message` is for the one who sent the token. */
  | { readonly ok: false; readonly message: string };

export interface SigningKeys {
  readonly current: string;
  readonly next: string;
}

/** Who rotated signing keys: who holds this token, from this address. */
export interface KeyRotation {
  readonly tokenId: string;
  readonly address: string;
}

export interface Authority {
  /** The record of a new token, which is good once it is in the store. */
  newToken(request: { readonly instanceId: string; readonly access: Access }): TokenRecord;
  /** Issues a token for an instance. Rejects when there is no such instance. */
  issueToken(request: { readonly instanceId: string; readonly access: Access }): Promise<string>;
  /** The token of a record, the same text as when it was issued. Rejects when there is no such instance. */
  tokenOf(record: TokenRecord): Promise<string>;
  /** They were revoked in the store: from now on they are refused. */
  revoked(tokenIds: readonly string[]): void;
  /** From the moment it resolves the token is refused. A token that is unknown or revoked stays so. */
  revoke(tokenId: string): Promise<void>;
  /** The verdict on a token that was verified lately, at once; undefined when it has to be verified. */
  recall(token: string, region: string): TokenVerdict | undefined;
  verify(token: string, region: string): Promise<TokenVerdict>;
  /** Whether the token is good for this instance, in the instance's own region. */
  isValid(token: string, instanceId: string): Promise<boolean>;
  /** The instance's keys, without waiting. Throws when the instance is unknown. */
  signingKeys(instanceId: string): SigningKeys;
  /** Where the instance is, without waiting; null when it is unknown. */
  regionOf(instanceId: string): string | null;
  /**
   * The next key becomes the current one, and a new one is made. `by` is told in the audit log. Rejects when there is no such
   * instance.
   */
  rotateSigningKeys(instanceId: string, by?: KeyRotation): Promise<SigningKeys>;
}

const MALFORMED: TokenVerdict = Object.freeze({
  ok: false,
  message: 'the token is not valid: it is malformed, revoked, or was not issued by this installation',
});

function judge(caller: Caller, region: string): TokenVerdict {
  if (caller.region === region) return { ok: true, caller };
  return {
    ok: false,
    message: `the token is of the region ${caller.region}, and this host is of ${region}; call the host of the token's region`,
  };
}

const isAccess = (value: unknown): value is Access => value === 'read-write' || value === 'read-only';
const newSigningKey = (): string => `sig_${randomBytes(SECRET_BYTES).toString('base64url')}`;

/** Reads the secret and the instances; `now` gives Unix ms. */
export async function createAuthority(options: {
  readonly store: Pick<Store, 'accounts'>;
  readonly now: () => number;
}): Promise<Authority> {
  const { now } = options;
  const { accounts } = options.store;
  const proposed = randomBytes(SECRET_BYTES).toString('base64url');
  const secret = new TextEncoder().encode(await accounts.secret({ name: TOKEN_SECRET, value: proposed }));
  const instances = new Map<string, QueueInstance>();
  for (const instance of await accounts.listInstances()) instances.set(instance.instanceId, instance);
  const verified = new RecentTokens<Caller>(REMEMBERED_TOKENS);
  /** Counts revocations, so that a verification that began before one does not remember what it revoked. */
  let revocations = 0;

  async function findInstance(instanceId: string): Promise<QueueInstance | null> {
    const known = instances.get(instanceId);
    if (known) return known;
    const found = await accounts.findInstance({ instanceId });
    if (found) instances.set(instanceId, found);
    return found;
  }

  async function requireInstance(instanceId: string): Promise<QueueInstance> {
    const instance = await findInstance(instanceId);
    if (!instance) throw new Error(`there is no queue instance ${instanceId}`);
    return instance;
  }

  /** Nothing in a JWT with HS256 is random: the same claims in the same order are the same text. */
  async function sign({ tokenId, instanceId, access, createdAt }: TokenRecord): Promise<string> {
    const { region } = await requireInstance(instanceId);
    return new SignJWT({ region, access })
      .setProtectedHeader({ alg: ALGORITHM, typ: 'JWT' })
      .setIssuer(ISSUER)
      .setSubject(instanceId)
      .setJti(tokenId)
      .setIssuedAt(Math.floor(createdAt / 1000))
      .sign(secret);
  }

  async function readToken(token: string): Promise<Caller | null> {
    if (token.length > MAX_TOKEN_LENGTH) return null;
    const at = new Date(now());
    const read = await jwtVerify(token, secret, { issuer: ISSUER, algorithms: [ALGORITHM], currentDate: at }).catch(() => null);
    if (!read) return null;
    const { sub, jti, region, access } = read.payload;
    if (typeof sub !== 'string' || typeof jti !== 'string' || typeof region !== 'string' || !isAccess(access)) return null;
    const before = revocations;
    const record = await accounts.findToken({ tokenId: jti });
    const instance = await findInstance(sub);
    if (!record || record.revokedAt !== null || record.instanceId !== sub || record.access !== access) return null;
    if (instance?.region !== region) return null;
    const caller: Caller = Object.freeze({ tokenId: jti, instanceId: sub, region, access });
    if (before === revocations) verified.set(token, caller);
    return caller;
  }

  const newToken: Authority['newToken'] = ({ instanceId, access }) => {
    const tokenId = randomBytes(TOKEN_ID_BYTES).toString('base64url');
    return { tokenId, instanceId, access, createdAt: now(), revokedAt: null };
  };

  function forgetTokens(tokenIds: readonly string[]): void {
    revocations++;
    for (const tokenId of tokenIds) verified.forget(tokenId);
  }

  /** Told to whoever owns the instance at this moment. */
  async function auditOf(instanceId: string, { tokenId, address }: KeyRotation): Promise<AuditEntry> {
    const at = now();
    const owner = (await accounts.findInstance({ instanceId }))?.accountId;
    return {
      auditId: `aud_${newKey({ now: at, random: { bytes: randomBytes } })}`,
      at,
      actor: `token ${tokenId}`,
      action: 'queue.rotate-signing-keys',
      subject: instanceId,
      details: {},
      address,
      accountIds: owner === undefined ? [] : [owner],
    };
  }

  const authority: Authority = {
    newToken,
    async issueToken(request) {
      const record = newToken(request);
      const token = await sign(record);
      await accounts.createToken(record);
      return token;
    },
    tokenOf: sign,
    revoked: forgetTokens,
    async revoke(tokenId) {
      await accounts.revokeToken({ tokenId, at: now() });
      forgetTokens([tokenId]);
    },
    recall(token, region) {
      const caller = verified.get(token);
      return caller && judge(caller, region);
    },
    async verify(token, region) {
      const caller = verified.get(token) ?? (await readToken(token));
      return caller ? judge(caller, region) : MALFORMED;
    },
    async isValid(token, instanceId) {
      return (verified.get(token) ?? (await readToken(token)))?.instanceId === instanceId;
    },
    signingKeys(instanceId) {
      const instance = instances.get(instanceId);
      if (!instance) throw new Error(`there is no queue instance ${instanceId}`);
      return { current: instance.currentSigningKey, next: instance.nextSigningKey };
    },
    regionOf: (instanceId) => instances.get(instanceId)?.region ?? null,
    async rotateSigningKeys(instanceId, by) {
      const instance = await requireInstance(instanceId);
      const keys: SigningKeys = { current: instance.nextSigningKey, next: newSigningKey() };
      const audit = by && (await auditOf(instanceId, by));
      await accounts.setSigningKeys({ instanceId, ...keys, ...(audit ? { audit } : {}) });
      instances.set(instanceId, { ...instance, currentSigningKey: keys.current, nextSigningKey: keys.next });
      return keys;
    },
  };
  return authority;
}
