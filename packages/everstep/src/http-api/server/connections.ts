/** Open client connections, limited in total and per address. */
import { BlockList, isIP, isIPv6, type Socket } from 'node:net';
import { networkOf } from '../../accounts/users/client-network.js';
import type { ConnectionLimits } from '../../config/connection-limits.js';

/** Share of the connections that one address or IPv6 network may use. */
const MAX_NETWORK_SHARE = 1 / 2;

const TOO_MANY_CONNECTIONS = 'too many open connections; retry later, or raise the open file limit of the server';
const TOO_MANY_FROM_ADDRESS =
  'too many open connections from this address; close some, or add the address to EVERSTEP_TRUSTED_PROXIES if it is a proxy';

function blockListOf(addresses: readonly string[]): BlockList {
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
  /** Limits of connections; null if there are none. */
  readonly limits: ConnectionLimits | null;
  /** Addresses and CIDR ranges that many clients share. */
  readonly trustedProxies: readonly string[];
}

export class Connections {
  private readonly openSockets = new Set<Socket>();
  private readonly countByNetwork = new Map<string, number>();
  private readonly refusals = new WeakMap<Socket, string>();
  private readonly socketByPeer = new Map<string, Socket>();
  /** TLS sockets, by accepted socket. */
  private readonly tlsSockets = new WeakMap<Socket, Socket>();
  private readonly limits: ConnectionLimits | null;
  private readonly proxies: BlockList;
  /** Addresses whose connections are limited only in total. */
  private readonly unlimitedAddresses: BlockList;

  constructor({ limits, trustedProxies }: ConnectionsOptions) {
    this.limits = limits;
    this.proxies = blockListOf(trustedProxies);
    this.unlimitedAddresses = blockListOf(['127.0.0.0/8', '::1', ...trustedProxies]);
  }

  /** Adds a connection. A socket that is passed to the server again still counts once. */
  add(socket: Socket): void {
    if (this.openSockets.has(socket)) return;
    const network = this.limitedNetworkOf(plainAddress(socket.remoteAddress ?? ''));
    this.openSockets.add(socket);
    const peer = peerOf(socket);
    this.socketByPeer.set(peer, socket);
    const networkConnections = (this.countByNetwork.get(network ?? '') ?? 0) + 1;
    if (network !== null) this.countByNetwork.set(network, networkConnections);
    if (this.limits) {
      const { served } = this.limits;
      if (this.openSockets.size > served) this.refusals.set(socket, TOO_MANY_CONNECTIONS);
      else if (network !== null && networkConnections > Math.ceil(served * MAX_NETWORK_SHARE))
        this.refusals.set(socket, TOO_MANY_FROM_ADDRESS);
    }
    socket.once('close', () => {
      this.socketByPeer.delete(peer);
      this.remove(socket, network);
    });
  }

  /** Returns why requests on the connection are rejected, or null when they are served. */
  refusalOf(socket: Socket): string | null {
    return this.refusals.get(socket) ?? null;
  }

  /** Registers the TLS socket of a connection. Its requests arrive on this socket, not on the accepted one. */
  addTlsSocket(tlsSocket: Socket): void {
    const acceptedSocket = this.socketByPeer.get(peerOf(tlsSocket));
    if (!acceptedSocket) return;
    this.tlsSockets.set(acceptedSocket, tlsSocket);
    const refusal = this.refusals.get(acceptedSocket);
    if (refusal !== undefined) this.refusals.set(tlsSocket, refusal);
  }

  /** Closes connections without a request. Node does not count them as idle, so its server would wait for them. */
  closeUnused(hasRequest: (socket: Socket) => boolean): void {
    for (const socket of this.openSockets) {
      const tlsSocket = this.tlsSockets.get(socket);
      const isUsed = tlsSocket ? hasRequest(tlsSocket) : socket.bytesRead > 0;
      if (!isUsed) (tlsSocket ?? socket).destroy();
    }
  }

  private remove(socket: Socket, network: string | null): void {
    this.openSockets.delete(socket);
    if (network === null) return;
    const remainingCount = (this.countByNetwork.get(network) ?? 0) - 1;
    if (remainingCount > 0) this.countByNetwork.set(network, remainingCount);
    else this.countByNetwork.delete(network);
  }

  /**
   * Returns the address of a client: of the peer or, behind trusted proxies, the last one in `X-Forwarded-For` that is not a
   * trusted proxy.
   */
  clientAddressOf({ remoteAddress = '' }: Socket, forwardedFor = ''): string {
    let client = plainAddress(remoteAddress);
    for (const address of forwardedFor.split(',').reverse().map(plainAddress)) {
      if (isIP(address) === 0 || !contains(this.proxies, client)) break;
      client = address;
    }
    return client;
  }

  /** Returns the network whose connections are limited, or null if the address has no such limit. */
  limitedNetworkOf(address: string): string | null {
    return isIP(address) === 0 || contains(this.unlimitedAddresses, address) ? null : networkOf(address);
  }
}
