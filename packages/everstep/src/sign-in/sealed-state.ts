/**
 * The state of a sign-in in progress, sealed in a cookie. The response of the identity provider is therefore accepted
 * only in the browser that started the sign-in, and any node can handle it.
 */
import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';
import type { IdentityLink } from '../accounts/sign-in/identity-rules.js';
import type { Ring } from '../secrets/key-ring.js';

export interface SignInState {
  /** Random value that the identity provider returns. */
  readonly state: string;
  /** Random value that the ID token contains. */
  readonly nonce: string;
  /** PKCE code verifier. */
  readonly verifier: string;
  /** A path of the dashboard. */
  readonly returnTo: string;
  /** The session whose user links the identity; null for a sign-in. */
  readonly link: IdentityLink | null;
  /** Expiry in Unix milliseconds. */
  readonly expiresAt: number;
}

const CIPHER = 'aes-256-gcm';
const [IV_BYTES, TAG_BYTES] = [12, 16];
const MAX_LENGTH = 4_096;

const keyOf = (secret: string): Buffer => createHash('sha256').update('everstep sign-in state\n').update(secret).digest();
const isText = (value: unknown): value is string => typeof value === 'string';

/** Returns the state, encrypted and authenticated, as text. */
export function seal(secret: string, state: SignInState): string {
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv(CIPHER, keyOf(secret), iv);
  const ciphertext = [cipher.update(JSON.stringify(state), 'utf8'), cipher.final()];
  return Buffer.concat([iv, cipher.getAuthTag(), ...ciphertext]).toString('base64url');
}

/** Returns the state in a sealed text; null if no key of the ring sealed the text, or if the state has expired. */
export function unseal(ring: Ring, text: string, now: number): SignInState | null {
  for (const { key } of ring) {
    const state = decryptState(key, text);
    if (state) return state.expiresAt > now ? state : null;
  }
  return null;
}

function decryptState(secret: string, text: string): SignInState | null {
  if (text.length > MAX_LENGTH) return null;
  const bytes = Buffer.from(text, 'base64url');
  if (bytes.length <= IV_BYTES + TAG_BYTES) return null;
  const decipher = createDecipheriv(CIPHER, keyOf(secret), bytes.subarray(0, IV_BYTES), { authTagLength: TAG_BYTES });
  decipher.setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES));
  try {
    const plaintext = Buffer.concat([decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES)), decipher.final()]).toString('utf8');
    // The authentication tag proves that this installation sealed the state.
    const state: SignInState = JSON.parse(plaintext);
    // An earlier version sealed other fields: its sign-ins in progress have expired.
    return isText(state.state) && state.link !== undefined ? state : null;
  } catch {
    return null;
  }
}
