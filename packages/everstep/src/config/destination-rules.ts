/**
 * Entries of allow and deny lists for outbound calls: a host name, an address or a CIDR range, with or without a port. The
 * settings, the lists of a queue instance and the address policy share this parser.
 */
import { isIP } from 'node:net';

export interface HostRule {
  readonly kind: 'host';
  /** Host name in lowercase, without a trailing dot. If `matchesSubdomains` is true, the part after `*.`. */
  readonly host: string;
  readonly matchesSubdomains: boolean;
  /** Port of the destination; null for every port. */
  readonly port: number | null;
}

export interface RangeRule {
  readonly kind: 'range';
  readonly address: string;
  readonly prefix: number;
  readonly port: number | null;
}

export type DestinationRule = HostRule | RangeRule;

export const RULE_FORMS =
  'host names, IP addresses or CIDR ranges, each with or without a port, such as app.internal, *.example.com:443, 10.0.0.5:8080, 10.96.0.0/12:443 or [fd00::1]:8080';

const HOST_NAME = /^[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?$/;

/** Returns the host name in lowercase, without the brackets of an IPv6 address or trailing dots. */
export function bareHost(hostname: string): string {
  const host = hostname.toLowerCase();
  return host.startsWith('[') ? host.slice(1, -1) : host.replace(/(?<!\.)\.+$/, '');
}

/** Splits an entry into its destination and its port. An IPv6 address with a port requires brackets. */
function splitPort(entry: string): readonly [destination: string, port: string | null] {
  const bracketedMatch = /^\[([^\]]*:[^\]]*)\](?::(.*))?$/.exec(entry);
  if (bracketedMatch) return [bracketedMatch[1] ?? '', bracketedMatch[2] ?? null];
  const slash = entry.lastIndexOf('/');
  const colon = entry.indexOf(':', Math.max(slash, 0));
  // An entry with several colons and no slash is an IPv6 address.
  if (colon === -1 || (slash === -1 && entry.indexOf(':', colon + 1) !== -1)) return [entry, null];
  return slash === -1 || colon > slash ? [entry.slice(0, colon), entry.slice(colon + 1)] : [entry, null];
}

function parsePort(text: string): number | null {
  const port = Number(text);
  return /^\d{1,5}$/.test(text) && port >= 1 && port <= 65_535 ? port : null;
}

function parseRange(text: string, port: number | null): RangeRule | null {
  const [address = '', prefixText, ...extraParts] = text.split('/');
  const family = isIP(address);
  const maxPrefix = family === 4 ? 32 : 128;
  const prefix = prefixText === undefined ? maxPrefix : /^\d{1,3}$/.test(prefixText) ? Number(prefixText) : Number.NaN;
  // A zone (`fe80::1%eth0`) is valid only on one machine.
  if (family === 0 || extraParts.length > 0 || !(prefix <= maxPrefix) || address.includes('%')) return null;
  return { kind: 'range', address, prefix, port };
}

function parseHost(text: string, port: number | null): HostRule | null {
  const matchesSubdomains = text.startsWith('*.');
  const host = (matchesSubdomains ? text.slice(2) : text).toLowerCase().replace(/\.$/, '');
  // URL parsers read `127.1` as an address. A name that they change is not a host name.
  const isName = HOST_NAME.test(host) && !host.includes('..') && URL.canParse(`http://${host}/`);
  return isName && new URL(`http://${host}/`).hostname === host ? { kind: 'host', host, matchesSubdomains, port } : null;
}

/** Parses one entry. Returns null if it is invalid. */
export function parseDestinationRule(text: string): DestinationRule | null {
  const [destination, portText] = splitPort(text.trim());
  const port = portText === null ? null : parsePort(portText);
  if (portText !== null && port === null) return null;
  return destination.includes('/') || isIP(destination) !== 0 ? parseRange(destination, port) : parseHost(destination, port);
}

/** Parses all entries. Throws an Error that names the first invalid entry. */
export function parseDestinationRules(entries: readonly string[]): readonly DestinationRule[] {
  return entries.map((entry) => {
    const rule = parseDestinationRule(entry);
    if (!rule) throw new Error(`"${entry}" is invalid; use ${RULE_FORMS}`);
    return rule;
  });
}
