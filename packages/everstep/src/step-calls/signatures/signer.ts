/** Signs outgoing requests: selects the key and the headers. Keeps invariant 41. */
import { ED25519_SIGNATURE_HEADER, SIGNATURE_HEADER, type SignedKind } from '@everstep/sdk/protocol';
import { DIALECTS } from '../../dialects/index.js';
import type { DialectName } from '../../engine/runs/run.js';
import type { Log } from '../../ports/log.js';
import type { Random } from '../../ports/random.js';
import { claimsSegment, type SignedBody, signWithPrivateKey, signWithSharedKey } from './signature.js';

export interface SignerOptions {
  /** Returns the signing keys of an instance. Throws if the instance is unknown. */
  readonly signingKeys: (instanceId: string) => { readonly current: string; readonly next: string };
  /** Returns the private key in PKCS #8 format, base64url-encoded. If null or absent, there are no Ed25519 signatures. */
  readonly privateKey?: (instanceId: string) => { readonly kid: string; readonly privateKey: string } | null;
  /** Returns the message key for an origin. If null or absent, the signing key is used. */
  readonly messageKeyFor?: (instanceId: string, origin: string) => string | null;
  /** Records that steps are sent to this origin. Returns null if this is already recorded. */
  readonly recordWorkflowOrigin?: (instanceId: string, origin: string) => Promise<void> | null;
  /** Returns the current time, Unix ms. */
  readonly now: () => number;
  readonly random: Random;
  readonly log: Log;
}

export interface SignedRequest {
  readonly instanceId: string;
  readonly dialect: DialectName;
  readonly url: string;
  readonly kind: SignedKind;
  readonly body: SignedBody;
  /** Key of the signature. If null, the signing key of the instance is used. */
  readonly key: string | null;
}

/** Headers of a signature. Their names are without the prefix. */
export type SignatureHeaders = Readonly<Record<string, string>>;

export class Signer {
  private readonly options: SignerOptions;

  constructor(options: SignerOptions) {
    this.options = options;
  }

  /** Records that steps are sent to this origin, before the first step. Returns null if this is already recorded. */
  recordWorkflowOrigin(instanceId: string, origin: string): Promise<void> | null {
    const { recordWorkflowOrigin, log } = this.options;
    // If storing fails, the step is still sent, and the next step retries.
    return (
      recordWorkflowOrigin?.(instanceId, origin)?.catch((error: unknown) =>
        log.warn({ instanceId, origin, error: String(error) }, 'could not store a workflow origin'),
      ) ?? null
    );
  }

  /** Returns a key that no workflow endpoint accepts if the origin may belong to someone else; null otherwise. */
  messageKeyFor(instanceId: string, origin: string): string | null {
    return this.options.messageKeyFor?.(instanceId, origin) ?? null;
  }

  sign({ instanceId, dialect, url, kind, body, key }: SignedRequest): SignatureHeaders {
    const { signingKeys, privateKey, now, random } = this.options;
    const claims = claimsSegment({ issuer: DIALECTS[dialect].issuer, url, kind, body, now: now(), random });
    const instancePrivateKey = privateKey?.(instanceId);
    return {
      [SIGNATURE_HEADER]: signWithSharedKey(claims, key ?? signingKeys(instanceId).current),
      ...(instancePrivateKey ? { [ED25519_SIGNATURE_HEADER]: signWithPrivateKey(claims, instancePrivateKey) } : {}),
    };
  }
}
