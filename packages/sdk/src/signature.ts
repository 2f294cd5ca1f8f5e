/**
 * Checks that a request was signed by the service: a JWT (HS256) over the hash
 * of the body. Uses node:crypto where there is one, because it is synchronous
 * and several times faster; WebCrypto everywhere else.
 */

export interface SignatureClaims {
  readonly iss: string;
  /** The URL that the request was sent to. */
  readonly sub: string;
  /** Unix seconds. */
  readonly iat: number;
  readonly nbf: number;
  readonly exp: number;
  readonly jti: string;
  /** base64url of the SHA-256 of the body. */
  readonly body: string;
}

export type SignatureCheck =
  | { readonly ok: true; readonly claims: SignatureClaims }
  | { readonly ok: false /** What is wrong and what to check, in words. */; readonly message: string };

export interface SignatureInput {
  /** Value of the `Svc-Signature` header. */
  readonly signature: string | null | undefined;
  /** The body exactly as it came. */
  readonly body: Uint8Array | string;
  readonly currentSigningKey: string;
  /** Accepted as well, so that keys can be rotated. */
  readonly nextSigningKey?: string;
  /** When given, the URL that must be named as the receiver. */
  readonly url?: string;
  /** Default 30. */
  readonly clockToleranceS?: number;
  /** Unix ms; default the clock. */
  readonly now?: number;
}

const ISSUER = 'Everstep';
const DEFAULT_TOLERANCE_S = 30;
const encoder = new TextEncoder();

type NodeCrypto = typeof import('node:crypto');
const nodeCrypto: NodeCrypto | undefined =
  typeof process === 'object' && typeof process.getBuiltinModule === 'function'
    ? process.getBuiltinModule('node:crypto')
    : undefined;

function fromBase64Url(text: string): Uint8Array<ArrayBuffer> | null {
  try {
    const binary = atob(text.replaceAll('-', '+').replaceAll('_', '/'));
    return Uint8Array.from(binary, (character) => character.charCodeAt(0));
  } catch {
    return null;
  }
}

function toBase64Url(bytes: Uint8Array): string {
  let binary = '';
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

/** The text of a segment; null when it is none. Buffers decode several times faster than what every platform has. */
function segmentText(segment: string): string | null {
  if (typeof Buffer === 'function') return Buffer.from(segment, 'base64url').toString('utf8');
  const bytes = fromBase64Url(segment);
  return bytes && new TextDecoder().decode(bytes);
}

function parseSegment(segment: string): Readonly<Record<string, unknown>> | null {
  const text = segmentText(segment);
  if (text === null) return null;
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : null;
  } catch {
    return null;
  }
}

function isClaims(value: Readonly<Record<string, unknown>> | null): value is Readonly<Record<string, unknown>> & SignatureClaims {
  return (
    value !== null &&
    typeof value.iss === 'string' &&
    typeof value.sub === 'string' &&
    typeof value.iat === 'number' &&
    typeof value.nbf === 'number' &&
    typeof value.exp === 'number' &&
    typeof value.jti === 'string' &&
    typeof value.body === 'string'
  );
}

/** `http://app` and `http://app/` are the same. */
const normalized = (url: string): string => (URL.canParse(url) ? new URL(url).href : url);

const fault = (message: string): SignatureCheck => ({ ok: false, message });

/** Everything but the two that take cryptography: the seal and the hash of the body. */
function checkClaims(input: SignatureInput, header: string, payload: string): SignatureCheck {
  if (parseSegment(header)?.alg !== 'HS256') return fault('the signature is not a JWT with algorithm HS256');
  const claims = parseSegment(payload);
  if (!isClaims(claims)) return fault('the signature lacks one of the claims iss, sub, iat, nbf, exp, jti, body');
  if (claims.iss !== ISSUER) return fault(`the signature was issued by ${JSON.stringify(claims.iss)}, not by ${ISSUER}`);
  const nowS = (input.now ?? Date.now()) / 1000;
  const toleranceS = input.clockToleranceS ?? DEFAULT_TOLERANCE_S;
  if (!(nowS - toleranceS < claims.exp))
    return fault('the signature has expired: check the clocks of the service and of this machine');
  if (!(nowS + toleranceS >= claims.nbf)) {
    return fault('the signature is not valid yet: check the clocks of the service and of this machine');
  }
  if (input.url !== undefined && normalized(claims.sub) !== normalized(input.url)) {
    return fault(
      `the signature is for ${JSON.stringify(claims.sub)}, not for ${JSON.stringify(input.url)}: check the url option`,
    );
  }
  return { ok: true, claims };
}

const WRONG_KEY =
  'the signature was made with another key: check that EVERSTEP_CURRENT_SIGNING_KEY and EVERSTEP_NEXT_SIGNING_KEY ' +
  'are the keys of this queue instance (GET /v2/keys shows them)';
const WRONG_BODY =
  'the body is not the one that was signed: check that nothing between the service and this endpoint rewrites it ' +
  '(a body parser that parses and prints JSON again does)';

function split(signature: string | null | undefined): readonly [string, string, string] | SignatureCheck {
  if (!signature) return fault('the request has no Svc-Signature header: only the service may call this endpoint');
  const [header, payload, seal, ...rest] = signature.split('.');
  if (!header || !payload || !seal || rest.length > 0) return fault('the Svc-Signature header is not a JWT');
  return [header, payload, seal];
}

/** Keys as the cryptography takes them: made once, not for each request. */
const keyObjects = new Map<string, import('node:crypto').KeyObject>();
const MAX_KEY_OBJECTS = 16;

function keyObjectOf(crypto: NodeCrypto, key: string) {
  const known = keyObjects.get(key);
  if (known) return known;
  if (keyObjects.size >= MAX_KEY_OBJECTS) keyObjects.clear();
  const made = crypto.createSecretKey(key, 'utf8');
  keyObjects.set(key, made);
  return made;
}

function checkWithNode(crypto: NodeCrypto, input: SignatureInput): SignatureCheck {
  const parts = split(input.signature);
  if ('ok' in parts) return parts;
  const [header, payload, seal] = parts;
  const given = Buffer.from(seal, 'base64url');
  const keys = [input.currentSigningKey, ...(input.nextSigningKey ? [input.nextSigningKey] : [])];
  const sealed = keys.some((key) => {
    const expected = crypto.createHmac('sha256', keyObjectOf(crypto, key)).update(`${header}.${payload}`).digest();
    return given.length === expected.length && crypto.timingSafeEqual(given, expected);
  });
  if (!sealed) return fault(WRONG_KEY);
  const check = checkClaims(input, header, payload);
  if (!check.ok) return check;
  const hash = crypto.createHash('sha256').update(input.body).digest('base64url');
  return hash === check.claims.body.replaceAll('=', '') ? check : fault(WRONG_BODY);
}

async function checkWithWebCrypto(input: SignatureInput): Promise<SignatureCheck> {
  const parts = split(input.signature);
  if ('ok' in parts) return parts;
  const [header, payload, seal] = parts;
  const given = fromBase64Url(seal);
  let sealed = false;
  for (const secret of [input.currentSigningKey, input.nextSigningKey]) {
    if (!secret || !given || sealed) continue;
    const algorithm = { name: 'HMAC', hash: 'SHA-256' };
    const key = await crypto.subtle.importKey('raw', encoder.encode(secret), algorithm, false, ['verify']);
    sealed = await crypto.subtle.verify('HMAC', key, given, encoder.encode(`${header}.${payload}`));
  }
  if (!sealed) return fault(WRONG_KEY);
  const check = checkClaims(input, header, payload);
  if (!check.ok) return check;
  const body = typeof input.body === 'string' ? encoder.encode(input.body) : new Uint8Array(input.body);
  const hash = toBase64Url(new Uint8Array(await crypto.subtle.digest('SHA-256', body)));
  return hash === check.claims.body.replaceAll('=', '') ? check : fault(WRONG_BODY);
}

/** Ways to check, so that each can be tested wherever the tests run. */
export const signatureChecks = {
  node: nodeCrypto ? (input: SignatureInput) => checkWithNode(nodeCrypto, input) : null,
  web: checkWithWebCrypto,
} as const;

/** As `verifySignature`, but without a promise where none is needed. */
export function checkSignature(input: SignatureInput): SignatureCheck | Promise<SignatureCheck> {
  return signatureChecks.node ? signatureChecks.node(input) : signatureChecks.web(input);
}

/**
 * Checks the signature of a request that the service sent: to a workflow, or
 * to any other receiver such as a failure callback. Never rejects for a bad
 * signature: the result says what is wrong with it.
 */
export async function verifySignature(input: SignatureInput): Promise<SignatureCheck> {
  return checkSignature(input);
}
