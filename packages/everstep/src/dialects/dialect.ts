/**
 * A dialect defines the header names of one family of clients, and the protocol for step deliveries to its endpoints.
 * Keeps invariant 33.
 */
import { ED25519_SIGNATURE_HEADER, SIGNATURE_HEADER } from '@everstep/sdk/protocol';
import type { DialectName } from '../engine/runs/run.js';
import type { ReplayCheck, ReplayVerdict, StepCall, StepOutcome } from '../ports/step-caller.js';
import type { EndpointResponse } from '../responses/endpoint-failure.js';
import type { ResponseHeaders } from '../responses/retry-advice.js';

/** Values that the sender adds to a step call. */
export interface StepEnvelope {
  /** Workflow URL that the signature contains. */
  readonly url: string;
  readonly userAgent: string;
  /** Signature headers without their prefix. */
  readonly signatures: Readonly<Record<string, string>>;
  /** Region of the queue instance; null if it is not known. */
  readonly region: string | null;
}

/** Encodes step calls as requests to workflow endpoints, and decodes their responses. */
export interface StepCodec {
  body(call: StepCall): Uint8Array;
  /** Returns the text of a long body in parts. Absent if bodies of this dialect are never long. */
  bodyParts?(call: StepCall): Iterable<string>;
  /** Returns all headers as alternating names and values. The signature covers the body. */
  headers(call: StepCall, envelope: StepEnvelope): string[];
  /** Returns whether the response follows the step protocol. Only the first part of any other response is received. */
  isReply(headers: ResponseHeaders): boolean;
  /** Interprets a response. `now` is in Unix ms. */
  read(response: EndpointResponse, call: StepCall, now: number): StepOutcome;
  /** Absent if endpoints of this dialect do not support replay checks. */
  readonly checks?: CheckCodec;
}

/** Encodes replay checks, which determine whether an endpoint would replay a run, and decodes the responses. */
export interface CheckCodec {
  body(check: ReplayCheck): Uint8Array;
  /** Returns alternating names and values. */
  headers(check: ReplayCheck, envelope: StepEnvelope): string[];
  /** Interprets the response to a replay check. `now` is in Unix ms. */
  read(response: EndpointResponse, check: ReplayCheck, now: number): ReplayVerdict;
}

/** Returns the size of the results that a step call sends. The other parts are short or limited by the payload size. */
export const sentBytesOf = ({ recordedSteps }: StepCall): number =>
  recordedSteps.reduce((sum, { out }) => sum + (out?.length ?? 0), 0);

export interface Dialect {
  readonly name: DialectName;
  /** Header prefix as documented, such as `Svc-`. */
  readonly prefix: string;
  /** The prefix in lowercase, as Node reports header names. */
  readonly receivedPrefix: string;
  /** Query parameter that carries the token. */
  readonly tokenParameter: string;
  /** Issuer of signatures that receivers of this dialect expect. */
  readonly issuer: string;
  /** Header with the region of a delivery, without the prefix; null if receivers expect none. */
  readonly regionHeader: string | null;
  /** Response header that, with the value true, reports that the endpoint has no failure function; null if there is none. */
  readonly noFailureFunctionHeader: string | null;
  readonly steps: StepCodec;
  /** Returns whether a header contains a signature of the server. The name is lowercase. */
  isSignature(name: string): boolean;
  /** Returns a header name with its prefix, as documented. */
  spell(header: string): string;
  /** Returns whether the server sets this header itself, so that user headers cannot replace it. The name is lowercase. */
  reserves(name: string): boolean;
  /**
   * Returns whether clients of this dialect send this header although operations do not use it. The name is lowercase,
   * without the prefix. Any other unknown header is rejected.
   */
  ignores(name: string): boolean;
  /** Extracts the token from the format that only clients of this dialect use; returns null for any other text. */
  readToken(text: string): string | null;
}

export interface DialectDefinition {
  readonly name: DialectName;
  readonly prefix: string;
  readonly tokenParameter: string;
  readonly issuer: string;
  readonly regionHeader?: string;
  readonly noFailureFunctionHeader?: string;
  readonly steps: StepCodec;
  readonly reserves: Dialect['reserves'];
  readonly ignores?: Dialect['ignores'];
  readonly readToken?: Dialect['readToken'];
}

export function createDialect(definition: DialectDefinition): Dialect {
  const { name, prefix, tokenParameter, issuer, regionHeader = null, steps, reserves } = definition;
  const { ignores = () => false, readToken = () => null, noFailureFunctionHeader = null } = definition;
  const signatureHeaders = new Set([SIGNATURE_HEADER, ED25519_SIGNATURE_HEADER].map((header) => (prefix + header).toLowerCase()));
  return Object.freeze({
    name,
    prefix,
    receivedPrefix: prefix.toLowerCase(),
    tokenParameter,
    issuer,
    regionHeader,
    noFailureFunctionHeader,
    steps,
    isSignature: (header: string) => signatureHeaders.has(header),
    spell: (header: string) => prefix + header,
    reserves,
    ignores,
    readToken,
  });
}
