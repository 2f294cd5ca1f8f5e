/** The headers of a plain message: those that its sender wants, without what belongs to the exchange. */
import type { Dialect } from '../dialects/dialect.js';
import { headerValue, headerValueOfUrl, mayForward, whyNoHeader } from '../dialects/header-text.js';
import type { Message } from '../ports/message-sender.js';

/** Of this hop, or of how a body is framed: the connection makes them. */
const OF_THE_HOP: ReadonlySet<string> = new Set([
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
/** What a step call would not send along, but a message says for itself. */
const SAID_BY_THE_MESSAGE: ReadonlySet<string> = new Set(['content-type', 'user-agent']);
const URL_HEADER = 'Workflow-Url';
const MAX_SHOWN_NAME_LENGTH = 100;

export type MessageHeaders =
  /** Names and values in turns. */
  { readonly ok: true; readonly pairs: string[] } | { readonly ok: false; readonly message: string };

export interface MessageHeadersInput {
  readonly headers: Readonly<Record<string, string>>;
  /** Of the service's own, without the prefix. They win. */
  readonly serviceHeaders: Readonly<Record<string, string>>;
  readonly dialect: Pick<Dialect, 'spell' | 'reserves'>;
  readonly userAgent: string;
  readonly take: Message['take'];
}

/** Every header once, whatever the case of its name: of two the later one. A value may be a secret and is never shown. */
export function messageHeaders(input: MessageHeadersInput): MessageHeaders {
  const { dialect, take } = input;
  const sent = new Map<string, readonly [name: string, value: string]>();
  for (const [name, value] of Object.entries(input.headers)) {
    const key = name.toLowerCase();
    const problem = whyNoHeader(name, value);
    if (take === 'exact') {
      if (problem !== null) {
        return {
          ok: false,
          message: `the header ${JSON.stringify(name.slice(0, MAX_SHOWN_NAME_LENGTH))} cannot be sent: ${problem}`,
        };
      }
      if (!OF_THE_HOP.has(key)) sent.set(key, [name, value]);
    } else if (mayForward(key, value, dialect) || (SAID_BY_THE_MESSAGE.has(key) && problem === null))
      sent.set(key, [name, value]);
  }
  if (!sent.has('user-agent')) sent.set('user-agent', ['user-agent', input.userAgent]);
  // An encoded answer has to be decoded here: it is only asked for by those who want it so.
  if (!sent.has('accept-encoding')) sent.set('accept-encoding', ['accept-encoding', 'identity']);
  for (const [bare, value] of Object.entries(input.serviceHeaders)) {
    const name = dialect.spell(bare);
    sent.set(name.toLowerCase(), [name, bare === URL_HEADER ? headerValueOfUrl(value) : headerValue(value)]);
  }
  return { ok: true, pairs: [...sent.values()].flat() };
}
