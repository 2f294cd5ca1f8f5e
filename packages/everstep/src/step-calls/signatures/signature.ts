/**
 * Signs outgoing requests with JWTs over the SHA-256 hash of the body: with a shared key (HS256) and, if the instance
 * has one, with its private key (Ed25519).
 *
 * Signing uses node:crypto synchronously, which takes about 10 µs with a shared key. General JWT libraries use
 * WebCrypto, which needs the thread pool for each signature. At several thousand deliveries per second that would
 * cost more than the deliveries. Tests verify these signatures with such a library.
 */
import { createHmac, createPrivateKey, createSecretKey, hash, type KeyObject, sign } from 'node:crypto';
import type { SignedKind } from '@everstep/sdk/protocol';
import { LIMITS } from '../../config/limits.js';
import type { Random } from '../../ports/random.js';

const segment = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
const HEADER_SEGMENT = segment({ alg: 'HS256', typ: 'JWT' });
const ID_BYTES = 16;

/** A body, or its SHA-256 digest in base64url. */
export type SignedBody = Uint8Array | { readonly digest: string };

export interface ClaimsInput {
  /** Issuer of the signature. */
  readonly issuer: string;
  /** URL of the request. */
  readonly url: string;
  /** Kind of the request. */
  readonly kind: SignedKind;
  readonly body: SignedBody;
  /** Time of the signature, Unix ms. */
  readonly now: number;
  readonly random: Random;
}

/** Returns the claims of one request as a segment of a JWT. Each attempt has a unique `jti`. */
export function claimsSegment({ issuer, url, kind, body, now, random }: ClaimsInput): string {
  const issuedAt = Math.floor(now / 1000);
  const id = random.bytes(ID_BYTES);
  return segment({
    iss: issuer,
    sub: url,
    iat: issuedAt,
    nbf: issuedAt,
    exp: issuedAt + LIMITS.signatureLifetimeS,
    jti: Buffer.from(id.buffer, id.byteOffset, id.byteLength).toString('base64url'),
    body: body instanceof Uint8Array ? hash('sha256', body, 'base64url') : body.digest,
    kind,
  });
}

const MAX_KEYS = 1000;
/** Caches a value derived from a key. */
class KeyCache<Derived> {
  private readonly valuesByKey = new Map<string, Derived>();

  get(key: string, derive: (key: string) => Derived): Derived {
    const cached = this.valuesByKey.get(key);
    if (cached !== undefined) return cached;
    if (this.valuesByKey.size >= MAX_KEYS) this.valuesByKey.clear();
    const derivedValue = derive(key);
    this.valuesByKey.set(key, derivedValue);
    return derivedValue;
  }
}
const sharedKeys = new KeyCache<KeyObject>();
const privateKeys = new KeyCache<{ readonly header: string; readonly key: KeyObject }>();

export function signWithSharedKey(claims: string, key: string): string {
  const sharedKey = sharedKeys.get(key, () => createSecretKey(key, 'utf8'));
  const signedText = `${HEADER_SEGMENT}.${claims}`;
  return `${signedText}.${createHmac('sha256', sharedKey).update(signedText).digest('base64url')}`;
}

/** Signs with a private key. `privateKey` is in PKCS #8 format, base64url-encoded. */
export function signWithPrivateKey(
  claims: string,
  { kid, privateKey }: { readonly kid: string; readonly privateKey: string },
): string {
  const { header, key } = privateKeys.get(privateKey, () => ({
    header: segment({ alg: 'EdDSA', typ: 'JWT', kid }),
    key: createPrivateKey({ key: Buffer.from(privateKey, 'base64url'), format: 'der', type: 'pkcs8' }),
  }));
  const signedText = `${header}.${claims}`;
  return `${signedText}.${sign(null, Buffer.from(signedText), key).toString('base64url')}`;
}
