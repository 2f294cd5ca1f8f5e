/** How one family of clients spells what all of them mean, and how a step travels to its endpoints. */
import { ED25519_SIGNATURE_HEADER, SIGNATURE_HEADER } from '@everstep/sdk/protocol';
import type { EndpointAnswer } from '../answers/endpoint-failure.js';
import type { DialectName } from '../engine/run.js';
import type { ReplayCheck, ReplayVerdict, StepAnswer, StepCall } from '../ports/step-caller.js';

/** What the way to the endpoint adds to a call. */
export interface StepEnvelope {
  /** Workflow URL, as the signature has it. */
  readonly url: string;
  readonly userAgent: string;
  /** Headers with the signatures of the request, without their prefix. */
  readonly signatures: Readonly<Record<string, string>>;
  /** Of the queue instance; null when it is not known. */
  readonly region: string | null;
}

/** The step protocol of a dialect, as requests to workflow endpoints and their answers. */
export interface StepCodec {
  body(call: StepCall): Uint8Array;
  /** Names and values in turns, all of them; the signature is over the body. */
  headers(call: StepCall, envelope: StepEnvelope): string[];
  /** The meaning of a whole answer; `now` in Unix ms. */
  read(answer: EndpointAnswer, call: StepCall, now: number): StepAnswer;
  /** Absent: endpoints of this dialect cannot be asked whether they would replay a run. */
  readonly checks?: CheckCodec;
}

/** The question whether an endpoint would replay a run, and its answer. */
export interface CheckCodec {
  body(check: ReplayCheck): Uint8Array;
  /** Names and values in turns. */
  headers(check: ReplayCheck, envelope: StepEnvelope): string[];
  /** `now` in Unix ms. */
  read(answer: EndpointAnswer, check: ReplayCheck, now: number): ReplayVerdict;
}

export interface Dialect {
  readonly name: DialectName;
  /** Header prefix as documents show it, such as `Svc-`. */
  readonly prefix: string;
  /** The prefix as Node gives header names: in lower case. */
  readonly receivedPrefix: string;
  /** Query parameter that carries the token. */
  readonly tokenParameter: string;
  /** Query parameters, beside that of the token, that only clients of this dialect send. */
  readonly ownParameters: readonly string[];
  /** Who signs, as receivers of this dialect expect it. */
  readonly issuer: string;
  /** Header that names the region of what is sent, without the prefix; null when receivers expect none. */
  readonly regionHeader: string | null;
  /** Header of an answer that says, with the value true, that the endpoint has no failure function; null when there is none. */
  readonly unwantedHeader: string | null;
  readonly steps: StepCodec;
  /** Whether a header of this lower-case name carries a signature of the service. */
  isSignature(name: string): boolean;
  /** A header name with its prefix, as documents show it. */
  spell(header: string): string;
  /** Whether a header of this lower-case name is the service's own, so that no header of a user may stand in its place. */
  reserves(name: string): boolean;
  /**
   * Whether clients of this dialect send a header of this lower-case name, without the prefix, that says nothing to the
   * operation it comes to. Any other that an operation does not know is refused.
   */
  ignores(name: string): boolean;
  /** The token within the form in which only clients of this dialect carry one; null for any other text. */
  readToken(text: string): string | null;
}

export interface DialectSpelling {
  readonly name: DialectName;
  readonly prefix: string;
  readonly tokenParameter: string;
  readonly ownParameters?: readonly string[];
  readonly issuer: string;
  readonly regionHeader?: string;
  readonly unwantedHeader?: string;
  readonly steps: StepCodec;
  readonly reserves: Dialect['reserves'];
  readonly ignores?: Dialect['ignores'];
  readonly readToken?: Dialect['readToken'];
}

export function createDialect(spelling: DialectSpelling): Dialect {
  const { name, prefix, tokenParameter, issuer, regionHeader = null, steps, reserves } = spelling;
  const { ignores = () => false, readToken = () => null, unwantedHeader = null, ownParameters = [] } = spelling;
  const signatures = new Set([SIGNATURE_HEADER, ED25519_SIGNATURE_HEADER].map((header) => (prefix + header).toLowerCase()));
  return Object.freeze({
    name,
    prefix,
    receivedPrefix: prefix.toLowerCase(),
    tokenParameter,
    ownParameters,
    issuer,
    regionHeader,
    unwantedHeader,
    steps,
    isSignature: (header: string) => signatures.has(header),
    spell: (header: string) => prefix + header,
    reserves,
    ignores,
    readToken,
  });
}
