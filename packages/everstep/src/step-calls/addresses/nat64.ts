/** NAT64 (RFC 6052): IPv6 addresses of the operator's network that embed an IPv4 address. */
import { isIP } from 'node:net';
import { AddressSet, ipv6Bytes } from './address-set.js';

/** Positions of the four IPv4 bytes by prefix length. Byte 8 is always skipped. */
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

  /** `prefixes` are CIDR ranges with a length from RFC 6052. They are already validated. */
  constructor(prefixes: readonly string[]) {
    this.prefixes = prefixes.map((prefix) => {
      const [address = '', lengthText] = prefix.split('/');
      const set = new AddressSet();
      const length = Number(lengthText);
      set.add(address, length);
      return { set, length };
    });
  }

  /** Returns the embedded IPv4 address, or null if no prefix matches. */
  embeddedAddress(address: string): string | null {
    if (isIP(address) !== 6) return null;
    const prefix = this.prefixes.find(({ set }) => set.has(address));
    const positions = prefix && POSITIONS[prefix.length];
    if (!positions) return null;
    const bytes = ipv6Bytes(address);
    return positions.map((position) => bytes[position]).join('.');
  }
}
