/** Decides whether an endpoint accepts a request: which keys verify its signature, and what happens without keys. */
import { ED25519_SIGNATURE_HEADER, NATIVE_PREFIX, SIGNATURE_HEADER, type SignedKind } from '../protocol.js';
import type { PublicSigningKey } from './cryptography.js';
import { type CheckedSignature, checkSignature, pathOf, type SignatureCheck, type SignatureKeys } from './signature.js';

/** Signing keys of a queue instance. */
export interface SigningKeys {
  readonly current: string;
  readonly next?: string;
}

/** How an endpoint verifies the signatures of requests. */
export interface SignatureOptions {
  /**
   * Keys that must have signed the requests. Default: the environment variables EVERSTEP_CURRENT_SIGNING_KEY and
   * EVERSTEP_NEXT_SIGNING_KEY.
   */
  readonly signingKeys?: SigningKeys;
  /**
   * URL of the public keys of the queue instance, for an endpoint that shares no secret with the server: `<URL of
   * the server>/v2/jwks/<id of the queue instance>`. Default: the environment variable EVERSTEP_JWKS_URL.
   */
  readonly jwksUrl?: string;
  /** The public keys themselves, instead of their URL. */
  readonly publicKeys?: readonly PublicSigningKey[];
  /**
   * URL at which the server calls this endpoint. `context.url` returns it, and signatures must be for it. Without
   * this option, signatures must be for the path of the request.
   */
  readonly url?: string;
  /**
   * Accepts unsigned requests if no keys are configured. Without this option, an endpoint without keys rejects all
   * requests if NODE_ENV is "production", and logs a warning once unless NODE_ENV is "test".
   */
  readonly allowUnsigned?: boolean;
}

/** A request whose signature is verified. */
export interface SignedRequest {
  readonly url: string;
  readonly signature: string | undefined;
  readonly ed25519Signature: string | undefined;
  readonly body: Uint8Array | string | { readonly parsed: unknown };
  /** Kind of the request according to its headers. */
  readonly kind: SignedKind;
}

/** Whether an endpoint accepts a request. */
export type RequestVerdict =
  | SignatureCheck
  /** No key is configured, and unsigned requests are accepted. */
  | { readonly ok: true; readonly claims: null }
  /** No key is configured, and this app needs one. */
  | { readonly ok: false; readonly message: string; readonly isMisconfigured: true };

const NO_KEYS =
  'this endpoint has no signing keys, so it cannot verify its caller: set EVERSTEP_CURRENT_SIGNING_KEY and ' +
  'EVERSTEP_NEXT_SIGNING_KEY (everstep keys get), or EVERSTEP_JWKS_URL; if only Everstep can reach it, set the option allowUnsigned: true';
const ALREADY_PARSED =
  'the body was parsed before it reached this endpoint, so its signature cannot be verified: mount the endpoint before ' +
  'the JSON parser (Express: before express.json(), or express.raw({ type: "*/*" }) on this route; Fastify: toFastifyPlugin; ' +
  'Next.js pages: bodyParser: false), or keep the bytes as request.rawBody';

const environment = (): Readonly<Record<string, string | undefined>> => (typeof process === 'object' ? (process.env ?? {}) : {});

function nodeEnv(): string | undefined {
  try {
    // Bundlers replace exactly this expression, also where `process` does not exist.
    return process.env.NODE_ENV;
  } catch {
    return undefined;
  }
}

const loggedLevels = new Set<'error' | 'warn'>();
/** Logs a text. Each level is logged once per process, however many endpoints it has. */
function logOnce(level: 'error' | 'warn', text: string): void {
  if (loggedLevels.has(level)) return;
  loggedLevels.add(level);
  console[level](`everstep: ${text}`);
}

const hasKeyOptions = ({ signingKeys, jwksUrl, publicKeys }: SignatureOptions): boolean =>
  signingKeys !== undefined || jwksUrl !== undefined || publicKeys !== undefined;

function keysOf(options: SignatureOptions): SignatureKeys | null {
  const { signingKeys, jwksUrl, publicKeys } = options;
  const { EVERSTEP_CURRENT_SIGNING_KEY, EVERSTEP_NEXT_SIGNING_KEY, EVERSTEP_JWKS_URL } = environment();
  const [currentKey, nextKey, keySetUrl] = hasKeyOptions(options)
    ? [signingKeys?.current, signingKeys?.next, jwksUrl]
    : [EVERSTEP_CURRENT_SIGNING_KEY, EVERSTEP_NEXT_SIGNING_KEY, EVERSTEP_JWKS_URL];
  const keys: SignatureKeys = {
    ...(currentKey ? { currentSigningKey: currentKey } : {}),
    ...(currentKey && nextKey ? { nextSigningKey: nextKey } : {}),
    ...(keySetUrl ? { jwksUrl: keySetUrl } : {}),
    ...(publicKeys && publicKeys.length > 0 ? { publicKeys } : {}),
  };
  return Object.keys(keys).length > 0 ? keys : null;
}

const hasPublicKeys = ({ jwksUrl, publicKeys }: SignatureKeys): boolean => jwksUrl !== undefined || publicKeys !== undefined;

/** Returns the function that checks each request of an endpoint. */
export function createRequestCheck(
  options: SignatureOptions,
): (request: SignedRequest) => RequestVerdict | Promise<RequestVerdict> {
  const { url, allowUnsigned = false } = options;
  /** Read once, because reading the environment takes longer than verifying a signature. */
  let keys: SignatureKeys | null = null;

  return ({ url: requestUrl, signature, ed25519Signature, body, kind }) => {
    keys ??= keysOf(options);
    if (!keys) {
      if (allowUnsigned) return { ok: true, claims: null };
      // A key option without a key is usually caused by a variable that is not set.
      const isRejected = nodeEnv() === 'production' || hasKeyOptions(options);
      if (isRejected || nodeEnv() !== 'test') logOnce(isRejected ? 'error' : 'warn', NO_KEYS);
      return isRejected ? { ok: false, message: NO_KEYS, isMisconfigured: true } : { ok: true, claims: null };
    }
    if (typeof body === 'object' && 'parsed' in body) return { ok: false, message: ALREADY_PARSED };
    const usesPublicKeys = hasPublicKeys(keys) && (ed25519Signature !== undefined || keys.currentSigningKey === undefined);
    const { currentSigningKey, nextSigningKey, ...publicKeys } = keys;
    const input: CheckedSignature = {
      ...(usesPublicKeys ? publicKeys : {}),
      ...(!usesPublicKeys && currentSigningKey !== undefined ? { currentSigningKey } : {}),
      ...(!usesPublicKeys && nextSigningKey !== undefined ? { nextSigningKey } : {}),
      signature: usesPublicKeys ? ed25519Signature : signature,
      body,
      kinds: [kind],
      once: true,
      messageKeys: false,
      ...(url === undefined ? { path: pathOf(requestUrl) } : { url }),
    };
    return checkSignature(input);
  };
}

/** Lowercase names of the signature headers. */
export const SIGNATURE_HEADERS = Object.freeze({
  signature: (NATIVE_PREFIX + SIGNATURE_HEADER).toLowerCase(),
  ed25519Signature: (NATIVE_PREFIX + ED25519_SIGNATURE_HEADER).toLowerCase(),
});
