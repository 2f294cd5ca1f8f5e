/** Trace contexts as in the W3C recommendation "Trace Context": where a request belongs in a distributed trace. */

/** The headers of a trace context, both valid. */
export interface TraceContext {
  /** `00-<trace id>-<span id>-<flags>`, all in hexadecimal. */
  readonly traceparent: string;
  /** Data of the tracing systems that the request has passed. Absent if there is none. */
  readonly tracestate?: string;
}

/** The parts of a traceparent. */
export interface SpanReference {
  /** Id of the trace: 32 hexadecimal digits. */
  readonly traceId: string;
  /** Id of the parent span: 16 hexadecimal digits. */
  readonly spanId: string;
  readonly isSampled: boolean;
}

const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const ALL_ZERO = /^0+$/;
const SAMPLED = 1;
/** The flags "sampled" and "random trace id". Other flags have no meaning yet and are not passed on. */
const KNOWN_FLAGS = 3;
const MAX_TRACEPARENT_LENGTH = 256;
const MAX_TRACESTATE_LENGTH = 512;
const MAX_TRACESTATE_MEMBERS = 32;
const TRACESTATE_MEMBER = /^[a-z0-9][a-z0-9_\-*/@]{0,255}=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]$/;

/** Formats a traceparent. */
export const formatTraceparent = ({ traceId, spanId, isSampled }: SpanReference): string =>
  `00-${traceId}-${spanId}-${isSampled ? '01' : '00'}`;

interface ParsedTraceparent extends SpanReference {
  readonly flags: number;
}

function readTraceparent(text: string): ParsedTraceparent | null {
  if (text.length > MAX_TRACEPARENT_LENGTH) return null;
  const [, version, traceId = '', spanId = '', flags = '', rest] = TRACEPARENT.exec(text) ?? [];
  // Later versions may append fields. Version ff is invalid.
  if (version === undefined || version === 'ff' || (version === '00' && rest !== undefined)) return null;
  if (ALL_ZERO.test(traceId) || ALL_ZERO.test(spanId)) return null;
  const knownFlags = Number.parseInt(flags, 16) & KNOWN_FLAGS;
  return { traceId, spanId, isSampled: (knownFlags & SAMPLED) !== 0, flags: knownFlags };
}

/** Returns the parts of a traceparent, or null if it is invalid. */
export function parseTraceparent(text: string): SpanReference | null {
  const parsed = readTraceparent(text);
  return parsed && { traceId: parsed.traceId, spanId: parsed.spanId, isSampled: parsed.isSampled };
}

function isTracestate(text: string): boolean {
  if (text.length > MAX_TRACESTATE_LENGTH) return false;
  const members = text.split(',').map((member) => member.replace(/^[ \t]+|[ \t]+$/g, ''));
  return members.length <= MAX_TRACESTATE_MEMBERS && members.every((member) => member === '' || TRACESTATE_MEMBER.test(member));
}

/**
 * Reads the trace context of a request. As the recommendation requires, an invalid traceparent is ignored together with its
 * tracestate, and an invalid tracestate is ignored alone. A later version is read as version 00.
 */
export function readTraceContext(headers: {
  readonly traceparent?: unknown;
  readonly tracestate?: unknown;
}): TraceContext | undefined {
  const { traceparent, tracestate } = headers;
  const parsed = typeof traceparent === 'string' ? readTraceparent(traceparent) : null;
  if (!parsed) return undefined;
  const parent = `00-${parsed.traceId}-${parsed.spanId}-0${parsed.flags}`;
  const isStateValid = typeof tracestate === 'string' && tracestate !== '' && isTracestate(tracestate);
  return isStateValid ? { traceparent: parent, tracestate } : { traceparent: parent };
}
