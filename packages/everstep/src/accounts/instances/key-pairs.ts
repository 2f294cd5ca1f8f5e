/** Key pairs for Ed25519 signatures. Endpoints only need the public key, so they share no secret with the server. */
import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync } from 'node:crypto';
import type { SigningKeyPairs } from '../../ports/stores/account-store.js';

/** A public key in the format of key sets (RFC 8037). */
export interface PublicKey {
  readonly kty: 'OKP';
  readonly crv: 'Ed25519';
  readonly x: string;
  /** Thumbprint of the key (RFC 7638). */
  readonly kid: string;
  readonly use: 'sig';
  readonly alg: 'EdDSA';
}

const newPrivateKey = (): string => {
  const { privateKey } = generateKeyPairSync('ed25519');
  return privateKey.export({ format: 'der', type: 'pkcs8' }).toString('base64url');
};

export const newKeyPairs = (): SigningKeyPairs => ({ current: newPrivateKey(), next: newPrivateKey() });
export const rotateKeyPairs = ({ next }: SigningKeyPairs): SigningKeyPairs => ({ current: next, next: newPrivateKey() });

const MAX_CACHED_KEYS = 1_000;
const publicKeys = new Map<string, PublicKey>();

/** Returns the public key of a private key (PKCS #8, base64url). Throws if the key is invalid. */
export function publicKeyOf(privateKey: string): PublicKey {
  const cachedKey = publicKeys.get(privateKey);
  if (cachedKey) return cachedKey;
  const secret = createPrivateKey({ key: Buffer.from(privateKey, 'base64url'), format: 'der', type: 'pkcs8' });
  const { x = '' } = createPublicKey(secret).export({ format: 'jwk' });
  const kid = createHash('sha256').update(`{"crv":"Ed25519","kty":"OKP","x":"${x}"}`).digest('base64url');
  const publicKey: PublicKey = { kty: 'OKP', crv: 'Ed25519', x, kid, use: 'sig', alg: 'EdDSA' };
  if (publicKeys.size >= MAX_CACHED_KEYS) publicKeys.clear();
  publicKeys.set(privateKey, publicKey);
  return publicKey;
}
