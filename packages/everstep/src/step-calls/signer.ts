/** Signs what leaves the service: which key, and in which headers. */
import { ED25519_SIGNATURE_HEADER, SIGNATURE_HEADER, type SignedKind } from '@everstep/sdk/protocol';
import { DIALECTS } from '../dialects/index.js';
import type { DialectName } from '../engine/run.js';
import type { Log } from '../ports/log.js';
import type { Random } from '../ports/random.js';
import { claimsSegment, signWithPrivateKey, signWithSharedKey } from './signature.js';

export interface SignerOptions {
  /** Signing keys of an instance: they always exist. Throws when it does not know the instance. */
  readonly signingKeys: (instanceId: string) => { readonly current: string; readonly next: string };
  /** Null, or absent: the instance has no Ed25519 signatures. The private key: PKCS #8, base64url. */
  readonly privateKey?: (instanceId: string) => { readonly kid: string; readonly privateKey: string } | null;
  /** The message key for an origin. Null or absent: the signing key. */
  readonly messageKeyFor?: (instanceId: string, origin: string) => string | null;
  /** Stores that steps go to this origin; null if it is stored already. */
  readonly learnWorkflowOrigin?: (instanceId: string, origin: string) => Promise<void> | null;
  /** Unix ms. */
  readonly now: () => number;
  readonly random: Random;
  readonly log: Log;
}

export interface SignedRequest {
  readonly instanceId: string;
  readonly dialect: DialectName;
  readonly url: string;
  readonly kind: SignedKind;
  readonly body: Uint8Array;
  /** Null: the signing key of the instance. */
  readonly key: string | null;
}

/** Header names without their prefix. */
export type SignatureHeaders = Readonly<Record<string, string>>;

export class Signer {
  private readonly options: SignerOptions;

  constructor(options: SignerOptions) {
    this.options = options;
  }

  /** Stores that steps go to this origin, before the first of them; null if it is stored already. */
  learnWorkflowOrigin(instanceId: string, origin: string): Promise<void> | null {
    const { learnWorkflowOrigin, log } = this.options;
    // The step is sent anyway, and the next step tries again.
    return (
      learnWorkflowOrigin?.(instanceId, origin)?.catch((error: unknown) =>
        log.warn({ instanceId, error: String(error) }, 'could not store a workflow origin'),
      ) ?? null
    );
  }

  /** A key that no workflow endpoint accepts, if the origin may belong to anyone; else null. */
  messageKeyFor(instanceId: string, origin: string): string | null {
    return this.options.messageKeyFor?.(instanceId, origin) ?? null;
  }

  sign({ instanceId, dialect, url, kind, body, key }: SignedRequest): SignatureHeaders {
    const { signingKeys, privateKey, now, random } = this.options;
    const claims = claimsSegment({ issuer: DIALECTS[dialect].issuer, url, kind, body, now: now(), random });
    const own = privateKey?.(instanceId);
    return {
      [SIGNATURE_HEADER]: signWithSharedKey(claims, key ?? signingKeys(instanceId).current),
      ...(own ? { [ED25519_SIGNATURE_HEADER]: signWithPrivateKey(claims, own) } : {}),
    };
  }
}
