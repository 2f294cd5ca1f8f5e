/**
 * Resolves names with Node's asynchronous resolver. `dns.lookup` calls the operating system, which blocks a thread of
 * libuv's pool for each name. Only two threads do such work, so slow name servers would block all other lookups.
 */
import dns, { type LookupAddress } from 'node:dns';
import { networkInterfaces } from 'node:os';
import { WatchedFile } from './hosts-file.js';
import { candidatesFor, parseResolverSettings, type ResolverSettings } from './resolver-settings.js';

/** Timeout of one query to one server. c-ares doubles it for the second try. */
const QUERY_TIMEOUT_MS = 1_500;
const QUERY_TRIES = 2;
/** Maximum number of addresses used for one name. */
const MAX_ADDRESSES = 16;
const INTERFACES_FRESH_MS = 10_000;

/** Error codes for a name that does not exist or has no address. */
const NO_SUCH_NAME: ReadonlySet<string> = new Set(['ENOTFOUND', 'ENODATA', 'EBADNAME']);

export type LookupResult =
  | {
      readonly kind: 'found';
      readonly addresses: readonly LookupAddress[];
      /** Time to live of the addresses; null if it is unknown. */
      readonly ttlMs: number | null;
    }
  /** `hasRecords` is true if the name exists but has no usable address. */
  | { readonly kind: 'no-such-name'; readonly hasRecords: boolean }
  /** No server could resolve the name. */
  | { readonly kind: 'failed'; readonly code: string };

/** Resolves a name that is not an IP address. Never rejects. */
export type LookUp = (name: string) => Promise<LookupResult>;

type Records = readonly { readonly address: string; readonly ttl: number }[];
type DnsResponse = { readonly records: Records; readonly code: string | null };

export interface DnsServersOptions {
  /** Addresses of the name servers; null for those of the operating system. */
  readonly servers: readonly string[] | null;
  readonly elapsedMs: () => number;
  /** Path of the settings file; replaced in tests. */
  readonly settingsFile?: string;
  /** Timeout of a query; replaced in tests. */
  readonly queryTimeoutMs?: number;
  /** Returns the network interfaces; replaced in tests. */
  readonly readInterfaces?: typeof networkInterfaces;
}

interface Families {
  /** Whether IPv6 addresses beyond the local link are usable. */
  readonly hasIPv6: boolean;
  readonly preferredFamily: 4 | 6;
}

/** Returns the IPv6 addresses beyond the local link; null if they are not readable, as in a sandbox without `AF_NETLINK`. */
function ipv6Addresses(readInterfaces: typeof networkInterfaces): readonly string[] | null {
  try {
    return Object.values(readInterfaces())
      .flatMap((records) => records ?? [])
      .filter(({ family, internal, address }) => family === 'IPv6' && !internal && !/^fe[89ab]/i.test(address))
      .map(({ address }) => address);
  } catch {
    return null;
  }
}

/** Returns the usable families. IPv6 is preferred if the machine has a global address, as getaddrinfo sorts by RFC 6724. */
function usableFamilies(readInterfaces: typeof networkInterfaces): Families {
  const addresses = ipv6Addresses(readInterfaces);
  const order = dns.getDefaultResultOrder();
  const isGlobal = addresses?.some((address) => /^[23]/.test(address)) ?? false;
  const preferredFamily = order === 'ipv6first' || (order === 'verbatim' && isGlobal) ? 6 : 4;
  return { hasIPv6: addresses === null || addresses.length > 0, preferredFamily };
}

function query(resolver: dns.Resolver, family: 4 | 6, name: string): Promise<DnsResponse> {
  return new Promise((resolve) => {
    const finish = (error: NodeJS.ErrnoException | null, records: Records): void => {
      resolve(error ? { records: [], code: error.code ?? error.message } : { records, code: null });
    };
    try {
      if (family === 4) resolver.resolve4(name, { ttl: true }, finish);
      else resolver.resolve6(name, { ttl: true }, finish);
    } catch (error) {
      resolve({ records: [], code: error instanceof Error && 'code' in error ? String(error.code) : 'EBADNAME' });
    }
  });
}

/** Creates a lookup that uses DNS. */
export function createDnsLookup(options: DnsServersOptions): LookUp {
  const { servers, elapsedMs, settingsFile = '/etc/resolv.conf', queryTimeoutMs = QUERY_TIMEOUT_MS } = options;
  const file = new WatchedFile(settingsFile, elapsedMs);
  let resolver: dns.Resolver | null = null;
  let settings: ResolverSettings = { search: [], ndots: 1 };
  let settingsText: string | null = null;
  let families: Families | null = null;
  let familiesReadAt = Number.NEGATIVE_INFINITY;

  function createResolver(): dns.Resolver {
    const newResolver = new dns.Resolver({ timeout: queryTimeoutMs, tries: QUERY_TRIES });
    if (servers) newResolver.setServers(servers);
    return newResolver;
  }

  /** Returns a resolver with the current settings, which change when a laptop changes networks. */
  function currentResolver(): dns.Resolver {
    const text = file.read();
    if (resolver && text === settingsText) return resolver;
    settingsText = text;
    settings = parseResolverSettings(text);
    resolver = createResolver();
    return resolver;
  }

  function currentFamilies(): Families {
    const now = elapsedMs();
    if (!families || now - familiesReadAt > INTERFACES_FRESH_MS) {
      families = usableFamilies(options.readInterfaces ?? networkInterfaces);
      familiesReadAt = now;
    }
    return families;
  }

  async function queryAddresses(activeResolver: dns.Resolver, name: string): Promise<LookupResult> {
    const { hasIPv6, preferredFamily } = currentFamilies();
    const [v4, v6] = await Promise.all([query(activeResolver, 4, name), hasIPv6 ? query(activeResolver, 6, name) : null]);
    const byFamily = ([4, 6] as const)
      .map((family) => ({ family, records: (family === 4 ? v4 : v6)?.records ?? [] }))
      .sort((a, b) => (a.family === preferredFamily ? -1 : b.family === preferredFamily ? 1 : 0));
    const maxPerFamily = byFamily.every(({ records }) => records.length > 0) ? MAX_ADDRESSES / 2 : MAX_ADDRESSES;
    const addresses = byFamily.flatMap(({ family, records }) =>
      records.slice(0, maxPerFamily).map(({ address }) => ({ address, family })),
    );
    if (addresses.length > 0) {
      const ttl = Math.min(...byFamily.flatMap(({ records }) => records.map((record) => record.ttl)));
      return { kind: 'found', addresses, ttlMs: ttl * 1000 };
    }
    const codes = [v4.code, v6?.code ?? null].filter((code) => code !== null);
    const failureCode = codes.find((code) => !NO_SUCH_NAME.has(code));
    return failureCode === undefined
      ? { kind: 'no-such-name', hasRecords: codes.includes('ENODATA') }
      : { kind: 'failed', code: failureCode };
  }

  return async (name) => {
    const activeResolver = currentResolver();
    let worstResult: LookupResult = { kind: 'no-such-name', hasRecords: false };
    for (const candidate of candidatesFor(name, settings)) {
      const lookup = await queryAddresses(activeResolver, candidate);
      // A server that does not respond would not respond for another name either.
      if (lookup.kind === 'found' || (lookup.kind === 'failed' && lookup.code !== 'ESERVFAIL')) return lookup;
      if (lookup.kind === 'failed' || (worstResult.kind === 'no-such-name' && lookup.hasRecords)) worstResult = lookup;
    }
    return worstResult;
  };
}

/** Resolves names with the operating system. Each lookup blocks a thread, so run only a few concurrently. */
export const lookUpBySystem: LookUp = (name) =>
  new Promise((resolve) => {
    dns.lookup(name, { all: true }, (error, addresses) => {
      if (!error) resolve({ kind: 'found', addresses: addresses.slice(0, MAX_ADDRESSES), ttlMs: null });
      else if (error.code === 'ENOTFOUND') resolve({ kind: 'no-such-name', hasRecords: false });
      else resolve({ kind: 'failed', code: error.code ?? 'EAI_FAIL' });
    });
  });
