/** Maps an address to its network, because one host can use many IPv6 addresses of its network. */
import { BlockList, isIP, isIPv6 } from 'node:net';

const PRIVATE_NETWORKS = new BlockList();
for (const [address, prefix] of [
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.168.0.0', 16],
] as const)
  PRIVATE_NETWORKS.addSubnet(address, prefix, 'ipv4');
for (const [address, prefix] of [
  ['::1', 128],
  ['fc00::', 7],
  ['fe80::', 10],
] as const)
  PRIVATE_NETWORKS.addSubnet(address, prefix, 'ipv6');

/** Returns whether the address is private: many clients may share it behind a proxy or gateway. */
export function isPrivateAddress(addressWithZone: string): boolean {
  const [address = ''] = addressWithZone.split('%', 1);
  const version = isIP(address);
  return version !== 0 && PRIVATE_NETWORKS.check(address, version === 4 ? 'ipv4' : 'ipv6');
}

const GROUPS = 8;
/** 64 bits, the usual size of the network of a single host or home. */
const NETWORK_GROUPS = 4;

const groupsOf = (part: string): string[] =>
  part
    .split(':')
    .filter((group) => group !== '')
    // A trailing IPv4 address takes two groups, which are never part of the network.
    .flatMap((group) => (group.includes('.') ? ['0', '0'] : [group]));

/** Returns the first 64 bits of an IPv6 address, such as `2001:db8:0:7`, and any other text unchanged. */
export function networkOf(address: string): string {
  if (!isIPv6(address)) return address;
  const [head = '', tail = ''] = (address.toLowerCase().split('%', 1)[0] ?? '').split('::');
  const [headGroups, tailGroups] = [groupsOf(head), groupsOf(tail)];
  const omittedCount = Math.max(0, GROUPS - headGroups.length - tailGroups.length);
  return [...headGroups, ...Array.from({ length: omittedCount }, () => '0'), ...tailGroups]
    .slice(0, NETWORK_GROUPS)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':');
}
