/** Who shares addresses: a host has one IPv4 address, and as many IPv6 addresses of its network as it likes. */
import { isIPv6 } from 'node:net';

const GROUPS = 8;
/** 64 bits, which is what a single host or home is given. */
const NETWORK_GROUPS = 4;

const groupsOf = (part: string): string[] =>
  part
    .split(':')
    .filter((group) => group !== '')
    // An IPv4 address at the end stands for two groups, which are never of the network.
    .flatMap((group) => (group.includes('.') ? ['0', '0'] : [group]));

/** The first 64 bits of an IPv6 address, as `2001:db8:0:7`; anything else as it is. */
export function networkOf(address: string): string {
  if (!isIPv6(address)) return address;
  const [head = '', tail = ''] = (address.toLowerCase().split('%', 1)[0] ?? '').split('::');
  const [first, last] = [groupsOf(head), groupsOf(tail)];
  const left = Math.max(0, GROUPS - first.length - last.length);
  return [...first, ...Array.from({ length: left }, () => '0'), ...last]
    .slice(0, NETWORK_GROUPS)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':');
}
