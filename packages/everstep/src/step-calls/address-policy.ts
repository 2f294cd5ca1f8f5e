/**
 * Which destinations the service may call. Everything that only this machine
 * or its network can reach is refused: otherwise whoever may trigger a run may
 * read the cloud's metadata or talk to the database next door.
 *
 * Decided twice. `check` sees what a URL shows by itself. `lookup` is given to
 * the socket, so that the address that was judged is the one that is connected
 * to, whatever DNS answers the next time.
 */
import dns from 'node:dns';
import { BlockList, isIP, type LookupFunction } from 'node:net';

export type AddressVerdict = { readonly ok: true } | { readonly ok: false; readonly message: string };

export interface AddressPolicy {
  /** Judges what is visible in the URL: scheme, credentials, literal addresses, names that mean this machine. */
  check(url: string | URL): AddressVerdict;
  /** Judges an address to connect to; `hostname` is the name that it was found under. */
  checkAddress(address: string, hostname: string): AddressVerdict;
  /** Resolves like `dns.lookup`, without the addresses that are refused; fails with BlockedAddressError if none is left. */
  readonly lookup: LookupFunction;
}

export interface AddressPolicyOptions {
  readonly allowLoopback: boolean;
  /** Host names, addresses and CIDR ranges that may be called although they are private. */
  readonly allow: readonly string[];
}

export class BlockedAddressError extends Error {
  override readonly name = 'BlockedAddressError';
  readonly code = 'EVERSTEP_BLOCKED_ADDRESS';
}

const ALLOWED: AddressVerdict = Object.freeze({ ok: true });

/** Ranges that are not the public internet, with what to call them. The first that fits names the reason. */
const REFUSED_RANGES: readonly (readonly [reason: string, ...ranges: string[]])[] = [
  [
    'a cloud metadata address',
    '169.254.169.254/32',
    '168.63.129.16/32',
    '100.100.100.200/32',
    '192.0.0.192/32',
    'fd00:ec2::254/128',
  ],
  ['a loopback address', '127.0.0.0/8', '::1/128'],
  ['an unspecified address', '0.0.0.0/8', '::/128'],
  ['a private address', '10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16'],
  ['a unique-local address', 'fc00::/7', 'fec0::/10'],
  ['a link-local address', '169.254.0.0/16', 'fe80::/10'],
  ['a carrier-grade NAT address', '100.64.0.0/10'],
  ['a multicast address', '224.0.0.0/4', 'ff00::/8'],
  ['an IPv4-mapped IPv6 address', '::ffff:0:0/96', '::ffff:0:0:0/96', '::/96'],
  ['a NAT64 address', '64:ff9b::/96', '64:ff9b:1::/48'],
  ['a tunnel address', '2001::/32', '2002::/16', '192.88.99.0/24'],
  ['a reserved address', '192.0.0.0/24', '192.0.2.0/24', '198.18.0.0/15', '198.51.100.0/24', '203.0.113.0/24', '240.0.0.0/4'],
  ['a reserved address', '100::/64', '2001:2::/48', '2001:10::/28', '2001:db8::/32', '3fff::/20'],
];
const LOOPBACK_RANGES = ['127.0.0.0/8', '::1/128'] as const;
const METADATA_NAMES: ReadonlySet<string> = new Set(['metadata.google.internal', 'metadata.goog']);

/**
 * A BlockList of its own for each family: one list for both would find every
 * IPv4 address in `::ffff:0:0/96`.
 */
class AddressSet {
  private readonly v4 = new BlockList();
  private readonly v6 = new BlockList();

  constructor(ranges: readonly string[]) {
    for (const range of ranges) this.add(range);
  }

  add(range: string): void {
    const slash = range.lastIndexOf('/');
    const address = slash === -1 ? range : range.slice(0, slash);
    const family = isIP(address);
    const widest = family === 4 ? 32 : 128;
    const prefixText = slash === -1 ? String(widest) : range.slice(slash + 1);
    const prefix = /^\d{1,3}$/.test(prefixText) ? Number(prefixText) : Number.NaN;
    if (family === 0 || !(prefix >= 0 && prefix <= widest)) {
      throw new Error(`"${range}" is neither an IP address nor a CIDR range such as 10.0.0.0/8 or fd00::/8`);
    }
    if (family === 4) this.v4.addSubnet(address, prefix, 'ipv4');
    else this.v6.addSubnet(address, prefix, 'ipv6');
  }

  has(scopedAddress: string): boolean {
    // A zone (`fe80::1%eth0`) says where, not what.
    const address = scopedAddress.split('%', 1)[0] ?? '';
    return isIP(address) === 4 ? this.v4.check(address, 'ipv4') : this.v6.check(address, 'ipv6');
  }
}

const REFUSED_SETS = REFUSED_RANGES.map(([reason, ...ranges]) => ({ reason, set: new AddressSet(ranges) }));

/** Lower case, without the brackets of IPv6 and the dot of a fully qualified name. */
function bareHost(hostname: string): string {
  const host = hostname.toLowerCase();
  if (host.startsWith('[')) return host.slice(1, -1);
  return host.endsWith('.') ? host.slice(0, -1) : host;
}

function parseAllowList(allow: readonly string[]): { readonly hosts: ReadonlySet<string>; readonly addresses: AddressSet } {
  const hosts = new Set<string>();
  const addresses = new AddressSet([]);
  for (const entry of allow) {
    const bare = bareHost(entry.trim());
    if (bare.includes('/') || isIP(bare) !== 0) addresses.add(bare);
    else if (URL.canParse(`http://${bare}/`) && new URL(`http://${bare}/`).host === bare) hosts.add(bare);
    else throw new Error(`"${entry}" is neither a host name, an IP address nor a CIDR range`);
  }
  return { hosts, addresses };
}

/** Throws when an entry of `allow` is no host name, address or range. */
export function createAddressPolicy(options: AddressPolicyOptions): AddressPolicy {
  const { hosts, addresses } = parseAllowList(options.allow);
  if (options.allowLoopback) for (const range of LOOPBACK_RANGES) addresses.add(range);

  const refuse = (host: string, what: string): AddressVerdict => ({
    ok: false,
    message: `${host} ${what}, which this service does not call; to allow it, start the service with its host or range in EVERSTEP_ALLOW_ADDRESSES`,
  });

  function checkAddress(address: string, hostname: string): AddressVerdict {
    const host = bareHost(hostname);
    if (hosts.has(host) || addresses.has(address)) return ALLOWED;
    const refused = REFUSED_SETS.find(({ set }) => set.has(address));
    if (!refused) return ALLOWED;
    return refuse(host, host === address ? `is ${refused.reason}` : `resolves to ${address}, ${refused.reason}`);
  }

  function check(url: string | URL): AddressVerdict {
    if (typeof url === 'string' && !URL.canParse(url))
      return { ok: false, message: `"${url.slice(0, 200)}" is not an absolute URL` };
    const { protocol, username, password, hostname } = new URL(url);
    if (protocol !== 'http:' && protocol !== 'https:') {
      return { ok: false, message: `only http and https URLs are called, not ${protocol.slice(0, -1)}` };
    }
    if (username !== '' || password !== '') {
      return {
        ok: false,
        message: 'a URL with a user name or password in it is not called; send credentials in a header',
      };
    }
    const host = bareHost(hostname);
    if (isIP(host) !== 0) return checkAddress(host, host);
    if (hosts.has(host)) return ALLOWED;
    if (METADATA_NAMES.has(host)) return refuse(host, 'is a name of cloud metadata');
    const meansLoopback = host === 'localhost' || host.endsWith('.localhost');
    return meansLoopback && !options.allowLoopback ? refuse(host, 'is a name of this machine') : ALLOWED;
  }

  const lookup: LookupFunction = (hostname, lookupOptions, callback) => {
    dns.lookup(hostname, { ...lookupOptions, all: true }, (error, found) => {
      if (error) return callback(error, [], 0);
      let refusal = 'it has no address';
      const usable = found.filter(({ address }) => {
        const verdict = checkAddress(address, hostname);
        if (!verdict.ok) refusal = verdict.message;
        return verdict.ok;
      });
      const first = usable[0];
      if (!first) return callback(new BlockedAddressError(refusal), [], 0);
      if (lookupOptions.all === true) return callback(null, usable);
      callback(null, first.address, first.family);
    });
  };

  return { check, checkAddress, lookup };
}
