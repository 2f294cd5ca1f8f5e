/** Tokens as JWTs (HS256): signs the record of a token, and verifies the signature of a token. */
import type { JWTPayload } from 'jose';
import { SignJWT } from 'jose/jwt/sign';
import { jwtVerify } from 'jose/jwt/verify';
import type { TokenRecord } from '../../ports/stores/store.js';
import { keyAt, type Ring } from '../../secrets/key-ring.js';
import type { TokenAccess } from './caller.js';

const ISSUER = 'Everstep';
const ALGORITHM = 'HS256';

const bytesOf = (key: string): Uint8Array => new TextEncoder().encode(key);

/** Returns the token as a JWT. HS256 is deterministic: the same claims in the same order always give the same token. */
export async function signToken(
  { tokenId, instanceId, access, createdAt }: TokenRecord,
  { region, keys }: { readonly region: string; readonly keys: Ring },
): Promise<string> {
  const key = keyAt(keys, createdAt);
  return new SignJWT({ region, access })
    .setProtectedHeader({ alg: ALGORITHM, typ: 'JWT' })
    .setIssuer(ISSUER)
    .setSubject(instanceId)
    .setJti(tokenId)
    .setIssuedAt(Math.floor(createdAt / 1000))
    .sign(bytesOf(key));
}

/** Claims of a token, and the key that signed it. */
export interface SignedClaims {
  readonly instanceId: string;
  readonly tokenId: string;
  readonly region: string;
  readonly access: TokenAccess;
  readonly key: string;
}

const isAccess = (value: unknown): value is TokenAccess => value === 'read-write' || value === 'read-only';

/** Returns the claims and the key that signed them, or null if no key of the ring signed them. */
async function verifyWithRing(
  token: string,
  keys: Ring,
  now: number,
): Promise<{ readonly payload: JWTPayload; readonly key: string } | null> {
  const options = { issuer: ISSUER, algorithms: [ALGORITHM], currentDate: new Date(now) };
  for (const { key } of keys.toReversed()) {
    const verification = await jwtVerify(token, bytesOf(key), options).catch(() => null);
    if (verification) return { payload: verification.payload, key };
  }
  return null;
}

/** Returns null if no key of the ring signed the token, or if its claims are not those of a token. `now` is in Unix ms. */
export async function readSignedToken(token: string, keys: Ring, now: number): Promise<SignedClaims | null> {
  const verification = await verifyWithRing(token, keys, now);
  if (!verification) return null;
  const { sub, jti, region, access } = verification.payload;
  if (typeof sub !== 'string' || typeof jti !== 'string' || typeof region !== 'string' || !isAccess(access)) return null;
  return { instanceId: sub, tokenId: jti, region, access, key: verification.key };
}
