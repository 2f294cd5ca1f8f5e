/**
 * The cryptography for signatures. Uses node:crypto where it is available, because it is synchronous and several
 * times faster, and WebCrypto everywhere else.
 */
import { MESSAGE_KEY_CONTEXT, SIGNING_KEY_PREFIX } from '../protocol.js';

/** A public key of a queue instance, as its key set lists it (RFC 8037). */
export interface PublicSigningKey {
  readonly kty: string;
  readonly crv: string;
  /** The public key, base64url. */
  readonly x: string;
  /** Identifies the key in the header of a signature. */
  readonly kid: string;
}

/** Verifies signatures and computes hashes. An invalid key or signature never matches. */
export interface Cryptography {
  /** Returns whether the signature is the HMAC-SHA256 of the text with the key. */
  isSignedWith(key: string, text: string, signature: string): boolean | Promise<boolean>;
  /** Returns whether the signature is an Ed25519 signature of the text by the owner of the key. */
  isSignedBy(key: PublicSigningKey, text: string, signature: string): boolean | Promise<boolean>;
  /** Returns the SHA-256 of a body, base64url without padding. */
  hashOf(body: Uint8Array | string): string | Promise<string>;
  /** Returns the message key that is derived from a signing key. */
  messageKeyOf(signingKey: string): string | Promise<string>;
}

/** Calls `next` with the value. Stays synchronous if the value is not a promise. */
export const andThen = <Value, Result>(
  value: Value | Promise<Value>,
  next: (value: Value) => Result | Promise<Result>,
): Result | Promise<Result> => (value instanceof Promise ? value.then(next) : next(value));

const isEd25519 = ({ kty, crv }: PublicSigningKey): boolean => kty === 'OKP' && crv === 'Ed25519';

/** Caches objects that are derived from a key. */
class KeyCache<Value> {
  private readonly values = new Map<string, Value>();
  private readonly maxSize: number;

  constructor(maxSize: number) {
    this.maxSize = maxSize;
  }

  get(key: string, create: () => Value): Value {
    const cachedValue = this.values.get(key);
    if (cachedValue !== undefined) return cachedValue;
    if (this.values.size >= this.maxSize) this.values.clear();
    const value = create();
    this.values.set(key, value);
    return value;
  }
}
const MAX_KEYS = 32;

function createNodeCryptography(crypto: typeof import('node:crypto')): Cryptography {
  type KeyObject = import('node:crypto').KeyObject;
  const secrets = new KeyCache<KeyObject>(MAX_KEYS);
  const publicKeys = new KeyCache<KeyObject | null>(MAX_KEYS);
  const messageKeys = new KeyCache<string>(MAX_KEYS);
  const hmac = (key: string, text: string): Buffer =>
    crypto
      .createHmac(
        'sha256',
        secrets.get(key, () => crypto.createSecretKey(key, 'utf8')),
      )
      .update(text)
      .digest();
  function publicKeyOf(key: PublicSigningKey): KeyObject | null {
    if (!isEd25519(key)) return null;
    const { x } = key;
    return publicKeys.get(x, () => {
      try {
        return crypto.createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
      } catch {
        return null;
      }
    });
  }
  return {
    isSignedWith(key, text, signature) {
      const [expectedBytes, signatureBytes] = [hmac(key, text), Buffer.from(signature, 'base64url')];
      return signatureBytes.length === expectedBytes.length && crypto.timingSafeEqual(signatureBytes, expectedBytes);
    },
    isSignedBy(key, text, signature) {
      const publicKey = publicKeyOf(key);
      return publicKey !== null && crypto.verify(null, Buffer.from(text), publicKey, Buffer.from(signature, 'base64url'));
    },
    hashOf: (body) => crypto.createHash('sha256').update(body).digest('base64url'),
    messageKeyOf: (signingKey) =>
      messageKeys.get(signingKey, () => SIGNING_KEY_PREFIX + hmac(signingKey, MESSAGE_KEY_CONTEXT).toString('base64url')),
  };
}

function fromBase64Url(text: string): Uint8Array<ArrayBuffer> | null {
  try {
    const binary = atob(text.replaceAll('-', '+').replaceAll('_', '/'));
    return Uint8Array.from(binary, (character) => character.charCodeAt(0));
  } catch {
    return null;
  }
}

function toBase64Url(bytes: ArrayBuffer): string {
  let binary = '';
  for (const byte of new Uint8Array(bytes)) binary += String.fromCharCode(byte);
  return btoa(binary).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

function createWebCryptography(): Cryptography {
  const encoder = new TextEncoder();
  const algorithm = { name: 'HMAC', hash: 'SHA-256' };
  const importKey = (key: string) => crypto.subtle.importKey('raw', encoder.encode(key), algorithm, false, ['sign', 'verify']);
  return {
    async isSignedWith(key, text, signature) {
      const signatureBytes = fromBase64Url(signature);
      return signatureBytes !== null && crypto.subtle.verify('HMAC', await importKey(key), signatureBytes, encoder.encode(text));
    },
    async isSignedBy(key, text, signature) {
      const signatureBytes = fromBase64Url(signature);
      const keyBytes = fromBase64Url(key.x);
      if (!isEd25519(key) || signatureBytes === null || keyBytes === null) return false;
      try {
        const publicKey = await crypto.subtle.importKey('raw', keyBytes, 'Ed25519', false, ['verify']);
        return await crypto.subtle.verify('Ed25519', publicKey, signatureBytes, encoder.encode(text));
      } catch {
        return false;
      }
    },
    async hashOf(body) {
      const bytes = typeof body === 'string' ? encoder.encode(body) : new Uint8Array(body);
      return toBase64Url(await crypto.subtle.digest('SHA-256', bytes));
    },
    async messageKeyOf(signingKey) {
      const derivedKey = await crypto.subtle.sign('HMAC', await importKey(signingKey), encoder.encode(MESSAGE_KEY_CONTEXT));
      return SIGNING_KEY_PREFIX + toBase64Url(derivedKey);
    },
  };
}

const nodeCrypto =
  typeof process === 'object' && typeof process.getBuiltinModule === 'function'
    ? process.getBuiltinModule('node:crypto')
    : undefined;

/** Both implementations, so that tests can check each of them on any runtime. */
export const cryptographies: { readonly node: Cryptography | null; readonly web: Cryptography } = {
  node: nodeCrypto ? createNodeCryptography(nodeCrypto) : null,
  web: createWebCryptography(),
};

/** The fastest implementation on this runtime. */
export const cryptography: Cryptography = cryptographies.node ?? cryptographies.web;
