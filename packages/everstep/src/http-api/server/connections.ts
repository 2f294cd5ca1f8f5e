/** Open client connections, limited in total and per address. */
import { BlockList, isIP, isIPv6, type Socket } from 'node:net';
import { networkOf } from '../../accounts/users/network-of.js';
import type { ConnectionLimits } from '../../config/connection-limits.js';

/** Share of the connections that one address may use. */
const SHARE_OF_ADDRESS = 1 / 2;

const TOO_MANY = 'too many open connections; retry later, or raise the open file limit of the server';
const TOO_MANY_OF_ADDRESS =
  'too many open connections from this address; close some, or add the address to EVERSTEP_TRUSTED_PROXIES if it is a proxy';

function listOf(addresses: readonly string[]): BlockList {
  const list = new BlockList();
  for (const entry of addresses) {
    const [address = '', prefix] = entry.split('/');
    const family = isIPv6(address) ? 'ipv6' : 'ipv4';
    if (prefix === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(prefix), family);
  }
  return list;
}

const peerOf = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress} ${remotePort}`;

export interface ConnectionsOptions {
  /** Null: no limit. */
  readonly limits: ConnectionLimits | null;
  /** Addresses and CIDR ranges that many clients share. */
  readonly trustedProxies: readonly string[];
}

export class Connections {
  private readonly open = new Set<Socket>();
  private readonly perAddress = new Map<string, number>();
  private readonly refusals = new WeakMap<Socket, string>();
  private readonly byPeer = new Map<string, Socket>();
  private readonly secure = new WeakMap<Socket, Socket>();
  private readonly limits: ConnectionLimits | null;
  /** Addresses without a limit of their own. */
  private readonly shared: BlockList;

  constructor({ limits, trustedProxies }: ConnectionsOptions) {
    this.limits = limits;
    this.shared = listOf(['127.0.0.0/8', '::1', ...trustedProxies]);
  }

  add(socket: Socket): void {
    const address = this.limitedAddressOf(socket);
    this.open.add(socket);
    const peer = peerOf(socket);
    this.byPeer.set(peer, socket);
    const ofAddress = (this.perAddress.get(address ?? '') ?? 0) + 1;
    if (address !== null) this.perAddress.set(address, ofAddress);
    if (this.limits) {
      const { served } = this.limits;
      if (this.open.size > served) this.refusals.set(socket, TOO_MANY);
      else if (address !== null && ofAddress > Math.ceil(served * SHARE_OF_ADDRESS))
        this.refusals.set(socket, TOO_MANY_OF_ADDRESS);
    }
    socket.once('close', () => {
      this.byPeer.delete(peer);
      this.remove(socket, address);
    });
  }

  /** Returns why requests on the connection are rejected, or null when they are served. */
  refusalOf(socket: Socket): string | null {
    return this.refusals.get(socket) ?? null;
  }

  /** Registers the TLS socket of a connection. Its requests arrive on another socket than the accepted one. */
  secured(secure: Socket): void {
    const accepted = this.byPeer.get(peerOf(secure));
    if (!accepted) return;
    this.secure.set(accepted, secure);
    const refusal = this.refusals.get(accepted);
    if (refusal !== undefined) this.refusals.set(secure, refusal);
  }

  /** Closes connections without a request. Node does not count them as idle, so its server would wait for them. */
  closeUnused(hasAsked: (socket: Socket) => boolean): void {
    for (const socket of this.open) {
      const secure = this.secure.get(socket);
      const isUsed = secure ? hasAsked(secure) : socket.bytesRead > 0;
      if (!isUsed) (secure ?? socket).destroy();
    }
  }

  private remove(socket: Socket, address: string | null): void {
    this.open.delete(socket);
    if (address === null) return;
    const left = (this.perAddress.get(address) ?? 0) - 1;
    if (left > 0) this.perAddress.set(address, left);
    else this.perAddress.delete(address);
  }

  /** Returns null for an address without a limit of its own. */
  private limitedAddressOf({ remoteAddress }: Socket): string | null {
    const address = (remoteAddress ?? '').replace(/^::ffff:(?=\d+\.)/i, '');
    const family = isIP(address);
    if (family === 0 || this.shared.check(address, family === 6 ? 'ipv6' : 'ipv4')) return null;
    return networkOf(address);
  }
}
