/** NAT64 (RFC 6052): IPv6 addresses of the operator's network that lead to the IPv4 address in them. */
import { isIP } from 'node:net';
import { AddressSet, ipv6Bytes } from './address-set.js';

/** Where the four bytes of the IPv4 address are, by the length of the prefix. Byte 8 is always skipped. */
const POSITIONS: Readonly<Record<number, readonly [number, number, number, number]>> = {
  32: [4, 5, 6, 7],
  40: [5, 6, 7, 9],
  48: [6, 7, 9, 10],
  56: [7, 9, 10, 11],
  64: [9, 10, 11, 12],
  96: [12, 13, 14, 15],
};

export class Nat64 {
  private readonly prefixes: readonly { readonly set: AddressSet; readonly length: number }[];

  /** CIDR ranges with a length of RFC 6052, as the setting has checked. */
  constructor(prefixes: readonly string[]) {
    this.prefixes = prefixes.map((prefix) => {
      const [address = '', lengthText] = prefix.split('/');
      const set = new AddressSet();
      const length = Number(lengthText);
      set.add(address, length);
      return { set, length };
    });
  }

  /** The IPv4 address that the address leads to; null when it is in none of the prefixes. */
  embedded(address: string): string | null {
    if (isIP(address) !== 6) return null;
    const found = this.prefixes.find(({ set }) => set.has(address));
    const positions = found && POSITIONS[found.length];
    if (!positions) return null;
    const bytes = ipv6Bytes(address);
    return positions.map((position) => bytes[position]).join('.');
  }
}
