/** Sets of IP addresses, and the address ranges outside the public internet. */
import { BlockList, isIP } from 'node:net';

/**
 * A set of addresses. It uses a BlockList for each family, because a shared list would match every IPv4 address with
 * `::ffff:0:0/96`.
 */
export class AddressSet {
  private readonly v4 = new BlockList();
  private readonly v6 = new BlockList();

  add(address: string, prefix: number): void {
    if (isIP(address) === 4) this.v4.addSubnet(address, prefix, 'ipv4');
    else this.v6.addSubnet(address, prefix, 'ipv6');
  }

  has(address: string): boolean {
    return isIP(address) === 4 ? this.v4.check(address, 'ipv4') : this.v6.check(address, 'ipv6');
  }
}

/** Removes the zone, as in `fe80::1%eth0`, which does not affect the kind of address. */
export const removeZone = (address: string): string => address.split('%', 1)[0] ?? '';

/** Returns the bytes of an IPv6 address without a zone. */
export function ipv6Bytes(address: string): Uint8Array {
  // The URL parser converts a trailing IPv4 address to two groups.
  const [head = '', tail = ''] = new URL(`http://[${address}]/`).hostname.slice(1, -1).split('::');
  const groupsOf = (part: string): number[] => (part === '' ? [] : part.split(':').map((group) => Number.parseInt(group, 16)));
  const [first, last] = [groupsOf(head), groupsOf(tail)];
  const zeros = Array.from({ length: 8 - first.length - last.length }, () => 0);
  return Uint8Array.from([...first, ...zeros, ...last].flatMap((group) => [group >> 8, group & 0xff]));
}

/** Ranges outside the public internet with their descriptions. The first matching range is the reason. */
const PRIVATE_RANGES: readonly (readonly [reason: string, ...ranges: string[]])[] = [
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
  ['a segment routing address', '5f00::/16'],
  ['a reserved address', '192.0.0.0/24', '192.0.2.0/24', '198.18.0.0/15', '198.51.100.0/24', '203.0.113.0/24', '240.0.0.0/4'],
  ['a reserved address', '100::/64', '100:0:0:1::/64', '2001:2::/48', '2001:10::/28', '2001:db8::/32', '3fff::/20'],
];

const PRIVATE_SETS = PRIVATE_RANGES.map(([reason, ...ranges]) => {
  const set = new AddressSet();
  for (const range of ranges) {
    const [address = '', prefix] = range.split('/');
    set.add(address, Number(prefix));
  }
  return { reason, set };
});

/** Detects ISATAP addresses (RFC 5214): any network, then `[02]00:5efe:` and an IPv4 address. */
function isIsatap(address: string): boolean {
  const [flags, zero, high, low] = ipv6Bytes(address).subarray(8);
  return (flags === 0 || flags === 2) && zero === 0 && high === 0x5e && low === 0xfe;
}

/** Returns the kind of a non-public address, such as `a private address`, or null for a public one. */
export function privateReason(address: string): string | null {
  const range = PRIVATE_SETS.find(({ set }) => set.has(address));
  if (range) return range.reason;
  return isIP(address) === 6 && isIsatap(address) ? 'a tunnel address' : null;
}
