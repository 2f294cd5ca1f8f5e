/** Parsers for settings about addresses, ports and names. Each throws an Error with the allowed values. */
import { isIP } from 'node:net';
import { parseDestinationRule, RULE_FORMS } from './destination-rules.js';

function isCidr(text: string): boolean {
  const [address = '', prefixLength = '', ...extraParts] = text.split('/');
  const version = isIP(address);
  return (
    extraParts.length === 0 &&
    version !== 0 &&
    /^\d{1,3}$/.test(prefixLength) &&
    Number(prefixLength) <= (version === 4 ? 32 : 128)
  );
}

const splitList = (text: string): readonly string[] =>
  Object.freeze(
    text
      .split(',')
      .map((part) => part.trim())
      .filter((part) => part !== ''),
  );

export function parseAddresses(text: string): readonly string[] {
  const addresses = splitList(text);
  for (const address of addresses)
    if (!parseDestinationRule(address)) throw new Error(`must be ${RULE_FORMS}, separated by commas; "${address}" is invalid`);
  return addresses;
}

export function parsePorts(text: string): readonly number[] {
  const ports = splitList(text).map((part) => (/^\d{1,5}$/.test(part) ? Number(part) : 0));
  if (ports.some((port) => port < 1 || port > 65_535)) throw new Error('must be ports from 1 to 65535, separated by commas');
  return Object.freeze(ports);
}

/** Prefix lengths allowed by RFC 6052. */
const NAT64_PREFIX_LENGTHS = ['32', '40', '48', '56', '64', '96'];

export function parseNat64Prefixes(text: string): readonly string[] {
  const prefixes = splitList(text);
  for (const prefix of prefixes) {
    const [address = '', length = ''] = prefix.split('/');
    if (isCidr(prefix) && isIP(address) === 6 && NAT64_PREFIX_LENGTHS.includes(length)) continue;
    throw new Error(
      `must be IPv6 prefixes of ${NAT64_PREFIX_LENGTHS.join(', ')} bits, such as 64:ff9b::/96, separated by commas; "${prefix}" is invalid`,
    );
  }
  return prefixes;
}

export function parseEgressProxy(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  if ((url?.protocol === 'http:' || url?.protocol === 'https:') && url.pathname === '/' && url.search === '' && url.hash === '')
    return url.href;
  throw new Error('must be an http or https URL without a path, such as http://user:password@proxy.internal:3128');
}

export function parseProxies(text: string): readonly string[] {
  const proxies = splitList(text);
  for (const proxy of proxies)
    if (!isCidr(proxy) && !isIP(proxy))
      throw new Error(`must be IP addresses or CIDRs, separated by commas; "${proxy}" is invalid`);
  return proxies;
}

/** What resolves host names: the servers in `/etc/resolv.conf`, the operating system, or the listed servers. */
export type NameSource = 'resolv.conf' | 'system' | { readonly servers: readonly string[] };

export function parseDnsServers(text: string): NameSource {
  if (text === 'system') return 'system';
  const servers = text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
  for (const server of servers) {
    const [, v6 = '', v4 = '', port = ''] = /^(?:\[([^\]]+)\]|([^:]+))(?::(\d{1,5}))?$/.exec(server) ?? [];
    const isServer = isIP(server) !== 0 || ((isIP(v6) === 6 || isIP(v4) === 4) && Number(port) <= 65_535);
    if (!isServer)
      throw new Error(
        `must be "system", or IP addresses separated by commas, with or without a port, such as 10.0.0.2,[fd00::2]:53`,
      );
  }
  if (servers.length === 0) throw new Error('must contain at least one server');
  return Object.freeze({ servers: Object.freeze(servers) });
}

/** Returns the URL without a trailing slash. */
export function parsePublicUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  if ((url?.protocol === 'http:' || url?.protocol === 'https:') && url.search === '' && url.hash === '' && url.username === '') {
    return url.href.replace(/\/+$/, '');
  }
  throw new Error('must be an http or https URL without a query or credentials, such as https://everstep.example.com');
}

/** Returns the URL with its query, which may identify the receiver. */
export function parseWebhookUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  if ((url?.protocol === 'http:' || url?.protocol === 'https:') && url.username === '') return url.href;
  throw new Error('must be an http or https URL without credentials, such as https://siem.example.com/everstep');
}
