/** Open client connections, limited in total and per address. */
import { BlockList, isIP, isIPv6, type Socket } from 'node:net';
import { networkOf } from '../../accounts/users/client-network.js';
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

const plainAddress = (address: string): string => address.trim().replace(/^::ffff:(?=\d+\.)/i, '');

const contains = (list: BlockList, address: string): boolean =>
  isIP(address) !== 0 && list.check(address, isIPv6(address) ? 'ipv6' : 'ipv4');

const peerOf = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress} ${remotePort}`;

export interface ConnectionsOptions {
  /** Limits of connections. Null: no limit. */
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
  private readonly proxies: BlockList;
  /** Addresses without a limit of their own. */
  private readonly shared: BlockList;

  constructor({ limits, trustedProxies }: ConnectionsOptions) {
    this.limits = limits;
    this.proxies = listOf(trustedProxies);
    this.shared = listOf(['127.0.0.0/8', '::1', ...trustedProxies]);
  }

  /** A connection whose socket is handed to the server again counts once. */
  add(socket: Socket): void {
    if (this.open.has(socket)) return;
    const address = this.limitedNetworkOf(plainAddress(socket.remoteAddress ?? ''));
    this.open.add(socket);
    const peer = peerOf(socket);
    this.byPeer.set(peer, socket);
    const addressConnections = (this.perAddress.get(address ?? '') ?? 0) + 1;
    if (address !== null) this.perAddress.set(address, addressConnections);
    if (this.limits) {
      const { served } = this.limits;
      if (this.open.size > served) this.refusals.set(socket, TOO_MANY);
      else if (address !== null && addressConnections > Math.ceil(served * SHARE_OF_ADDRESS))
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
  closeUnused(hasRequest: (socket: Socket) => boolean): void {
    for (const socket of this.open) {
      const secure = this.secure.get(socket);
      const isUsed = secure ? hasRequest(secure) : socket.bytesRead > 0;
      if (!isUsed) (secure ?? socket).destroy();
    }
  }

  private remove(socket: Socket, address: string | null): void {
    this.open.delete(socket);
    if (address === null) return;
    const remaining = (this.perAddress.get(address) ?? 0) - 1;
    if (remaining > 0) this.perAddress.set(address, remaining);
    else this.perAddress.delete(address);
  }

  /**
   * Returns the address of a client: of the peer or, behind trusted proxies, the last one in `X-Forwarded-For` that is not a
   * trusted proxy.
   */
  clientOf({ remoteAddress = '' }: Socket, forwardedFor = ''): string {
    let client = plainAddress(remoteAddress);
    for (const address of forwardedFor.split(',').reverse().map(plainAddress)) {
      if (isIP(address) === 0 || !contains(this.proxies, client)) break;
      client = address;
    }
    return client;
  }

  /** Returns the network of an address; null if it has no limit of its own. */
  limitedNetworkOf(address: string): string | null {
    return isIP(address) === 0 || contains(this.shared, address) ? null : networkOf(address);
  }
}
