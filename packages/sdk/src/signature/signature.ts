/** Verifies the signature of a request: a JWT over the hash of the body, the kind of the request and its receiver. */
import { ED25519_SIGNATURE_HEADER, NATIVE_PREFIX, SIGNATURE_HEADER, type SignedKind } from '../protocol.js';
import { andThen, type Cryptography, cryptography, type PublicSigningKey } from './cryptography.js';
import { keySetAt } from './key-set.js';
import { usedSignatures } from './used-signatures.js';

/** Claims of a signature. */
export interface SignatureClaims {
  /** Issuer of the signature. */
  readonly iss: string;
  /** URL that the request was sent to. */
  readonly sub: string;
  /** Time at which the signature was created, in Unix seconds. */
  readonly iat: number;
  /** Time before which the signature is not valid, in Unix seconds. */
  readonly nbf: number;
  /** Time at which the signature expires, in Unix seconds. */
  readonly exp: number;
  /** Id of the signature. */
  readonly jti: string;
  /** SHA-256 of the body, base64url. */
  readonly body: string;
  /** Kind of the request: one of `SIGNED_KINDS`, or one that a newer server defines. Older servers omit it. */
  readonly kind?: string;
}

/** Result of verifying a signature. */
export type SignatureCheck =
  | { readonly ok: true; readonly claims: SignatureClaims }
  | { readonly ok: false /** What is wrong and what to check. */; readonly message: string };

/** Keys that verify signatures: signing keys, public keys, or both. */
export interface SignatureKeys {
  readonly currentSigningKey?: string;
  /** Second accepted key, which makes rotation possible. */
  readonly nextSigningKey?: string;
  /** Public keys of the queue instance, from its key set. */
  readonly publicKeys?: readonly PublicSigningKey[];
  /** URL of the key set of the queue instance: `<URL of the server>/v2/jwks/<id of the queue instance>`. */
  readonly jwksUrl?: string;
}

/** A request to verify, and the expected values. */
export interface SignatureInput extends SignatureKeys {
  /** Value of the `Svc-Signature` header; with public keys, of the `Svc-Signature-Ed25519` header. */
  readonly signature: string | null | undefined;
  /** The body exactly as received. */
  readonly body: Uint8Array | string;
  /** Required receiver of the request. Default: not checked. */
  readonly url?: string;
  /** Accepted kinds of requests. Default: all. Signatures of older servers, which contain no kind, are always accepted. */
  readonly kinds?: readonly SignedKind[];
  /** Rejects a signature that this process has accepted before. */
  readonly once?: boolean;
  /** Tolerance for clock differences in seconds. Default: 30. */
  readonly clockToleranceS?: number;
  /** Current time in Unix milliseconds. Default: the clock. */
  readonly now?: number;
}

/** Input with the options that only endpoints use. */
export interface CheckedSignature extends SignatureInput {
  /** Also accepts the message keys that are derived from the signing keys. */
  readonly messageKeys: boolean;
  /** Required path of the receiver's URL. */
  readonly path?: string;
}

const ISSUER = 'Everstep';
const DEFAULT_TOLERANCE_S = 30;
/** Signatures of the server have fewer than 3,500 characters. The longest part is a URL of up to 2,048. */
const MAX_SIGNATURE_LENGTH = 16_384;

const decoder = new TextDecoder();
/** Decodes a segment. Buffers decode several times faster than the functions of other platforms. */
function segmentText(segment: string): string | null {
  if (typeof Buffer === 'function') return Buffer.from(segment, 'base64url').toString('utf8');
  try {
    const binary = atob(segment.replaceAll('-', '+').replaceAll('_', '/'));
    return decoder.decode(Uint8Array.from(binary, (character) => character.charCodeAt(0)));
  } catch {
    return null;
  }
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
    typeof value.body === 'string' &&
    (value.kind === undefined || typeof value.kind === 'string')
  );
}

/** Makes `http://app` and `http://app/` equal. */
const normalizeUrl = (url: string): string => (URL.canParse(url) ? new URL(url).href : url);
/** Returns whether two URLs are equal after normalization. */
export const isSameUrl = (a: string, b: string): boolean => a === b || normalizeUrl(a) === normalizeUrl(b);

/** Returns the path of an absolute URL, or of a path with a query. A trailing slash is ignored. */
export function pathOf(url: string): string {
  const base = 'http://host';
  const path = URL.canParse(url, base) ? new URL(url, base).pathname : url;
  return path.endsWith('/') ? path.slice(0, -1) : path;
}

const invalid = (message: string): SignatureCheck => ({ ok: false, message });
const quote = (text: string): string => JSON.stringify(text);

/** Checks the kind and the receiver. Returns null if both are correct. */
function checkUse({ url, path, kinds }: CheckedSignature, { sub, kind }: SignatureClaims): SignatureCheck | null {
  if (kinds !== undefined && kind !== undefined && !kinds.some((allowedKind) => allowedKind === kind))
    return invalid(`the signature is for a request of the kind ${quote(kind)}, not for ${kinds.map(quote).join(' or ')}`);
  if (url !== undefined && !isSameUrl(sub, url))
    return invalid(`the signature is for ${quote(sub)}, not for ${quote(url)}: check the url option`);
  if (url === undefined && path !== undefined && pathOf(sub) !== path) {
    return invalid(
      `the signature is for the path ${quote(pathOf(sub))}, but this request was sent to ${quote(path)}: if a proxy changes the path, ` +
        'set the url option to the URL at which the server calls this endpoint',
    );
  }
  return null;
}

/** Checks everything except the cryptographic signature and the hash of the body. */
function checkClaims(input: CheckedSignature, payload: string): SignatureCheck {
  const claims = parseSegment(payload);
  if (!isClaims(claims)) return invalid('the signature lacks one of the claims iss, sub, iat, nbf, exp, jti, body');
  if (claims.iss !== ISSUER) return invalid(`the signature was issued by ${quote(claims.iss)}, not by ${ISSUER}`);
  const nowS = (input.now ?? Date.now()) / 1000;
  const toleranceS = input.clockToleranceS ?? DEFAULT_TOLERANCE_S;
  if (!(nowS - toleranceS < claims.exp))
    return invalid('the signature has expired: check the clocks of the server and of this machine');
  if (!(nowS + toleranceS >= claims.nbf)) {
    return invalid('the signature is not valid yet: check the clocks of the server and of this machine');
  }
  return checkUse(input, claims) ?? { ok: true, claims };
}

const WRONG_KEY =
  'the signature was made with another key: check that EVERSTEP_CURRENT_SIGNING_KEY and EVERSTEP_NEXT_SIGNING_KEY ' +
  'are the keys of this queue instance (GET /v2/keys shows them)';
const WRONG_BODY =
  'the body is not the one that was signed: check that nothing between the server and this endpoint rewrites it ' +
  '(a body parser that parses and prints JSON again does)';
const ALREADY_USED =
  'the signature was used before: each request and each retry has its own signature, so this request was sent twice';
const NO_SHARED_KEY =
  'the signature was made with a shared key, but this endpoint has only public keys: set EVERSTEP_CURRENT_SIGNING_KEY as well';
const NO_PUBLIC_KEY =
  'the signature was made with a private key, but this endpoint has no public keys: set EVERSTEP_JWKS_URL or the jwksUrl option';
const FORGED = 'the signature was not made with the private key that it names';

interface SignatureParts {
  readonly header: Readonly<Record<string, unknown>> | null;
  readonly payload: string;
  /** The signed text: header and payload. */
  readonly text: string;
  readonly signaturePart: string;
}

function splitSignature({ signature, currentSigningKey }: SignatureInput): SignatureParts | SignatureCheck {
  const name = NATIVE_PREFIX + (currentSigningKey === undefined ? ED25519_SIGNATURE_HEADER : SIGNATURE_HEADER);
  if (!signature) return invalid(`the request has no ${name} header: only the server may call this endpoint`);
  if (signature.length > MAX_SIGNATURE_LENGTH) return invalid(`the ${name} header is too long to be a signature`);
  const [header, payload, signaturePart, ...extraParts] = signature.split('.');
  if (!header || !payload || !signaturePart || extraParts.length > 0) return invalid(`the ${name} header is not a JWT`);
  return { header: parseSegment(header), payload, text: `${header}.${payload}`, signaturePart };
}

/** Returns whether one of the keys matches. */
function isSignedWithAny(crypto: Cryptography, keys: readonly string[], parts: SignatureParts): boolean | Promise<boolean> {
  const [key, ...others] = keys;
  if (key === undefined) return false;
  return andThen(
    crypto.isSignedWith(key, parts.text, parts.signaturePart),
    (isSigned) => isSigned || isSignedWithAny(crypto, others, parts),
  );
}

function messageKeysOf(
  crypto: Cryptography,
  [key, ...others]: readonly string[],
): readonly string[] | Promise<readonly string[]> {
  if (key === undefined) return [];
  return andThen(crypto.messageKeyOf(key), (messageKey) =>
    andThen(messageKeysOf(crypto, others), (otherKeys) => [messageKey, ...otherKeys]),
  );
}

/** Result of checking the cryptographic signature. Null if it is valid. */
type KeyCheck = SignatureCheck | null;

function checkSharedKey(crypto: Cryptography, input: CheckedSignature, parts: SignatureParts): KeyCheck | Promise<KeyCheck> {
  const keys = [input.currentSigningKey, input.nextSigningKey].flatMap((key) => (key ? [key] : []));
  if (keys.length === 0) return invalid(NO_SHARED_KEY);
  return andThen(isSignedWithAny(crypto, keys, parts), (isSigned) => {
    if (isSigned) return null;
    if (!input.messageKeys) return invalid(WRONG_KEY);
    const isSignedWithMessageKey = andThen(messageKeysOf(crypto, keys), (messageKeys) =>
      isSignedWithAny(crypto, messageKeys, parts),
    );
    return andThen(isSignedWithMessageKey, (isSigned): KeyCheck => (isSigned ? null : invalid(WRONG_KEY)));
  });
}

function checkPublicKey(crypto: Cryptography, input: CheckedSignature, parts: SignatureParts): KeyCheck | Promise<KeyCheck> {
  const { publicKeys = [], jwksUrl } = input;
  if (publicKeys.length === 0 && jwksUrl === undefined) return invalid(NO_PUBLIC_KEY);
  const kid = parts.header?.kid;
  if (typeof kid !== 'string') return invalid('the signature does not name its key (kid)');
  const configuredKey = publicKeys.find((key) => key.kid === kid);
  const foundKey = configuredKey ?? (jwksUrl === undefined ? null : keySetAt(jwksUrl).find(kid));
  return andThen(foundKey, (key) => {
    if (key === null)
      return invalid(`the signature was made with the key ${quote(kid)}, which is not one of the public keys of this endpoint`);
    if ('problem' in key) return invalid(key.problem);
    return andThen(
      crypto.isSignedBy(key, parts.text, parts.signaturePart),
      (isSigned): KeyCheck => (isSigned ? null : invalid(FORGED)),
    );
  });
}

function checkKey(crypto: Cryptography, input: CheckedSignature, parts: SignatureParts): KeyCheck | Promise<KeyCheck> {
  // Each type of key is used only with its own algorithm, so the header cannot choose how a key is used.
  switch (parts.header?.alg) {
    case 'HS256':
      return checkSharedKey(crypto, input, parts);
    case 'EdDSA':
      return checkPublicKey(crypto, input, parts);
    default:
      return invalid('the signature is not a JWT with algorithm HS256 or EdDSA');
  }
}

/** Marks the signature as used if `once` is set. Returns whether it was used before. */
function markAsUsed({ once, now, clockToleranceS }: CheckedSignature, { jti, exp }: SignatureClaims): boolean {
  if (!once) return false;
  const nowS = (now ?? Date.now()) / 1000;
  return !usedSignatures.use(jti, exp + (clockToleranceS ?? DEFAULT_TOLERANCE_S), nowS);
}

/** Verifies a signature. Returns a promise only if something must be awaited. */
export function checkSignature(
  input: CheckedSignature,
  crypto: Cryptography = cryptography,
): SignatureCheck | Promise<SignatureCheck> {
  const parts = splitSignature(input);
  if ('ok' in parts) return parts;
  return andThen(checkKey(crypto, input, parts), (keyFailure) => {
    const check = keyFailure ?? checkClaims(input, parts.payload);
    if (!check.ok) return check;
    return andThen(crypto.hashOf(input.body), (hash) => {
      if (hash !== check.claims.body.replaceAll('=', '')) return invalid(WRONG_BODY);
      return markAsUsed(input, check.claims) ? invalid(ALREADY_USED) : check;
    });
  });
}

/**
 * Verifies the signature of a request that the server sent to a workflow or to any other receiver, such as a failure
 * callback. Never rejects for an invalid signature: `message` in the result explains the problem.
 */
export async function verifySignature(input: SignatureInput): Promise<SignatureCheck> {
  return checkSignature({ ...input, messageKeys: true });
}
