/**
 * Signatures of outgoing requests: a JWT (HS256) over the SHA-256 of the body.
 *
 * Made with node:crypto, synchronously: about 10 us each. A general JWT
 * library goes through WebCrypto, a trip to the thread pool for each
 * signature, which at several thousand deliveries a second costs more than
 * the deliveries. Tests verify what is made here with such a library.
 */
import { createHmac, createSecretKey, hash, type KeyObject } from 'node:crypto';
import { LIMITS } from '../config/limits.js';
import type { Random } from '../ports/random.js';

const HEADER_SEGMENT = Buffer.from(JSON.stringify({ alg: 'HS256', typ: 'JWT' })).toString('base64url');
const ID_BYTES = 16;

export interface SignatureInput {
  readonly key: string;
  /** Who signs. */
  readonly issuer: string;
  /** URL that the request goes to. */
  readonly url: string;
  readonly body: Uint8Array;
  /** Unix ms. */
  readonly now: number;
  readonly random: Random;
}

const MAX_KEYS = 1000;
/** Signing keys as the cryptography takes them: made once, not for each signature. */
const keyObjects = new Map<string, KeyObject>();

function keyObjectOf(key: string): KeyObject {
  const known = keyObjects.get(key);
  if (known) return known;
  if (keyObjects.size >= MAX_KEYS) keyObjects.clear();
  const made = createSecretKey(key, 'utf8');
  keyObjects.set(key, made);
  return made;
}

export function signRequest(input: SignatureInput): string {
  const issuedAt = Math.floor(input.now / 1000);
  const id = input.random.bytes(ID_BYTES);
  const claims = {
    iss: input.issuer,
    sub: input.url,
    iat: issuedAt,
    nbf: issuedAt,
    exp: issuedAt + LIMITS.signatureLifetimeS,
    jti: Buffer.from(id.buffer, id.byteOffset, id.byteLength).toString('base64url'),
    body: hash('sha256', input.body, 'base64url'),
  };
  const signed = `${HEADER_SEGMENT}.${Buffer.from(JSON.stringify(claims)).toString('base64url')}`;
  return `${signed}.${createHmac('sha256', keyObjectOf(input.key)).update(signed).digest('base64url')}`;
}
