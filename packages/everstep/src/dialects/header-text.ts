/** What may stand in a header, and which headers of a user are sent along. */

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

/** Which names a dialect keeps for itself; in lower case. */
export interface ReservedNames {
  reserves(name: string): boolean;
}

/** Whether a user's header may be sent along. `name` in lower case. */
export function mayForward(name: string, value: string, dialect: ReservedNames): boolean {
  return TOKEN.test(name) && VALUE.test(value) && !RESERVED.has(name) && !dialect.reserves(name);
}

/** Names and values in turns, as undici takes them without copying. */
export function forwardedPairs(headers: Readonly<Record<string, string>>, dialect: ReservedNames): readonly string[] {
  const pairs: string[] = [];
  for (const [name, value] of Object.entries(headers)) {
    if (mayForward(name.toLowerCase(), value, dialect)) pairs.push(name, value);
  }
  return pairs;
}

/** A run's headers are one object for all its calls, so they are sifted once. */
export function rememberForwarded(dialect: ReservedNames): (headers: Readonly<Record<string, string>>) => readonly string[] {
  const sifted = new WeakMap<Readonly<Record<string, string>>, readonly string[]>();
  return (headers) => {
    const known = sifted.get(headers);
    if (known) return known;
    const pairs = forwardedPairs(headers, dialect);
    sifted.set(headers, pairs);
    return pairs;
  };
}

/** A value as it is where a header can carry it, else percent-encoded. */
export function headerValue(text: string): string {
  return VALUE.test(text) ? text : encodeURIComponent(text.replace(/[\ud800-\udfff]/gu, '\ufffd'));
}

/** A URL as it is where a header can carry it, else in its normal form, which is ASCII. */
export function headerValueOfUrl(url: string): string {
  return VALUE.test(url) ? url : new URL(url).href;
}
