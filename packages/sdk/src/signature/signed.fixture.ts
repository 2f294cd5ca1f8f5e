/** Creates signatures as the server does, and forged ones. */
import { createHash, createHmac, generateKeyPairSync, type KeyObject, sign as signWith } from 'node:crypto';
import type { PublicSigningKey } from './cryptography.js';

const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
const sha256 = (body: string): string => createHash('sha256').update(body).digest('base64url');

export interface PrivateKey extends PublicSigningKey {
  readonly privateKey: KeyObject;
}

export function newPrivateKey(kid: string): PrivateKey {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const { x = '' } = publicKey.export({ format: 'jwk' });
  return { kty: 'OKP', crv: 'Ed25519', x, kid, privateKey };
}

/** Returns the public part of a key, as a key set lists it. */
export const publicPart = ({ kty, crv, x, kid }: PrivateKey): PublicSigningKey => ({ kty, crv, x, kid });

export interface SignatureOverrides {
  readonly key?: string | PrivateKey;
  readonly header?: object;
  readonly claims?: object;
  readonly body?: string;
  /** Time of the signature, Unix ms. Default: the current time. */
  readonly now?: number;
}

let signatureCount = 0;

/** Signs a request for `http://app/flow`. Each signature has its own id. */
export function sign({
  key = 'current',
  header = {},
  claims = {},
  body = '',
  now = Date.now(),
}: SignatureOverrides = {}): string {
  const iat = Math.floor(now / 1000);
  const jti = `j${++signatureCount}`;
  const allClaims = {
    iss: 'Everstep',
    sub: 'http://app/flow',
    iat,
    nbf: iat,
    exp: iat + 300,
    jti,
    body: sha256(body),
    ...claims,
  };
  const baseHeader = typeof key === 'string' ? { alg: 'HS256', typ: 'JWT' } : { alg: 'EdDSA', typ: 'JWT', kid: key.kid };
  const text = `${encode({ ...baseHeader, ...header })}.${encode(allClaims)}`;
  if (typeof key === 'string') return `${text}.${createHmac('sha256', key).update(text).digest('base64url')}`;
  return `${text}.${signWith(null, Buffer.from(text), key.privateKey).toString('base64url')}`;
}
