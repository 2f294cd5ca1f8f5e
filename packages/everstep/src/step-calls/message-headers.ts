/** Builds the headers of a plain message: those of its sender, without headers that the exchange sets itself. */
import type { TraceContext } from '@everstep/sdk/protocol';
import type { Dialect } from '../dialects/dialect.js';
import { canForward, headerProblem, headerValue, headerValueOfUrl } from '../dialects/header-text.js';
import type { Message } from '../ports/message-sender.js';

/** Hop-by-hop and framing headers, which the connection sets. */
const HOP_BY_HOP: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'http2-settings',
  'expect',
  'host',
  'content-length',
]);
/** Headers that a message may set although step calls never forward them. */
const ALLOWED_FOR_MESSAGES: ReadonlySet<string> = new Set(['content-type', 'user-agent']);
const URL_HEADER = 'Workflow-Url';
const MAX_SHOWN_NAME_LENGTH = 100;

export type MessageHeaders =
  /** Headers as alternating names and values, or the reason why they are invalid. */
  { readonly ok: true; readonly pairs: string[] } | { readonly ok: false; readonly message: string };

export interface MessageHeadersInput {
  readonly headers: Readonly<Record<string, string>>;
  /** Headers of the server, without the prefix. They override the sender's. */
  readonly serviceHeaders: Readonly<Record<string, string>>;
  readonly dialect: Pick<Dialect, 'spell' | 'reserves'>;
  readonly userAgent: string;
  readonly headerMode: Message['headerMode'];
  readonly trace: TraceContext | undefined;
}

/**
 * Returns each header once. Names are case-insensitive, and the later of two equal names wins. Values may be secret and are
 * never shown.
 */
export function messageHeaders(input: MessageHeadersInput): MessageHeaders {
  const { dialect, headerMode } = input;
  const sentHeaders = new Map<string, readonly [name: string, value: string]>();
  for (const [name, value] of Object.entries(input.headers)) {
    const key = name.toLowerCase();
    const problem = headerProblem(name, value);
    if (headerMode === 'exact') {
      if (problem !== null) {
        return {
          ok: false,
          message: `the header ${JSON.stringify(name.slice(0, MAX_SHOWN_NAME_LENGTH))} cannot be sent: it ${problem}`,
        };
      }
      if (!HOP_BY_HOP.has(key)) sentHeaders.set(key, [name, value]);
    } else if (canForward(key, value, dialect) || (ALLOWED_FOR_MESSAGES.has(key) && problem === null))
      sentHeaders.set(key, [name, value]);
  }
  if (!sentHeaders.has('user-agent')) sentHeaders.set('user-agent', ['user-agent', input.userAgent]);
  // An encoded response must be decoded here, so only messages with an `accept-encoding` header request one.
  if (!sentHeaders.has('accept-encoding')) sentHeaders.set('accept-encoding', ['accept-encoding', 'identity']);
  if (!sentHeaders.has('traceparent') && !sentHeaders.has('tracestate'))
    for (const [name, value] of Object.entries(input.trace ?? {})) sentHeaders.set(name, [name, value]);
  for (const [unprefixedName, value] of Object.entries(input.serviceHeaders)) {
    const name = dialect.spell(unprefixedName);
    sentHeaders.set(name.toLowerCase(), [name, unprefixedName === URL_HEADER ? headerValueOfUrl(value) : headerValue(value)]);
  }
  return { ok: true, pairs: [...sentHeaders.values()].flat() };
}
