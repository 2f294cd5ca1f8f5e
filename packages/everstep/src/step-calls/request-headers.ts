/** The headers of a request to a workflow endpoint. */
import { PROTOCOL_HEADER, PROTOCOL_VERSION, type StepRequest } from '@everstep/sdk/protocol';

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
// What may stand in a header: tab, visible ASCII and Latin-1. Anything else could end the header or the request.
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/**
 * Headers that belong to the exchange and not to the user: of this hop, of the
 * body we write, and those that would change the form of the answer.
 */
const RESERVED: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'expect',
  'host',
  'content-length',
  'content-type',
  'content-encoding',
  'accept-encoding',
  'user-agent',
]);

/** Why no request can carry a header; null when one can. */
export function whyNoHeader(name: string, value: string): string | null {
  if (!TOKEN.test(name)) return 'that is no name of a header';
  return VALUE.test(value) ? null : 'its value has characters that no header can carry';
}

/** Whether a user's header may be sent along. `name` in lower case. */
export function mayForward(name: string, value: string, prefix: string): boolean {
  return TOKEN.test(name) && VALUE.test(value) && !RESERVED.has(name) && !name.startsWith(prefix.toLowerCase());
}

/** Names and values in turns, as undici takes them without copying. */
export function forwardedPairs(headers: Readonly<Record<string, string>>, prefix: string): readonly string[] {
  const pairs: string[] = [];
  for (const [name, value] of Object.entries(headers)) {
    if (mayForward(name.toLowerCase(), value, prefix)) pairs.push(name, value);
  }
  return pairs;
}

/** A value as it is where a header can carry it, else percent-encoded. */
export function headerValue(text: string): string {
  return VALUE.test(text) ? text : encodeURIComponent(text.replace(/[\ud800-\udfff]/gu, '\ufffd'));
}

/** A URL as it is where a header can carry it, else in its normal form, which is ASCII. */
export function headerValueOfUrl(url: string): string {
  return VALUE.test(url) ? url : new URL(url).href;
}

export interface HeaderInput {
  readonly request: StepRequest;
  /** Workflow URL, as the signature has it. */
  readonly url: string;
  readonly prefix: string;
  readonly forwarded: readonly string[];
  readonly userAgent: string;
  readonly signature: string;
}

export function requestHeaders({ request, url, prefix, forwarded, userAgent, signature }: HeaderInput): string[] {
  const headers = [
    ...forwarded,
    'content-type',
    'application/json',
    // An answer in another encoding could not be read.
    'accept-encoding',
    'identity',
    'user-agent',
    userAgent,
    prefix + PROTOCOL_HEADER,
    String(PROTOCOL_VERSION),
    `${prefix}Workflow-RunId`,
    headerValue(request.run.id),
    `${prefix}Workflow-Created-At`,
    String(request.run.createdAt),
    `${prefix}Workflow-Url`,
    url,
    `${prefix}Message-Id`,
    headerValue(request.messageId),
    `${prefix}Retried`,
    String(request.retried),
    `${prefix}Signature`,
    signature,
  ];
  return headers;
}
