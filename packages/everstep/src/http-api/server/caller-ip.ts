/** Determines the IP address of a client. */
import { isIP } from 'node:net';
import type { FastifyRequest } from 'fastify';

/**
 * Returns the IP address of the client: the peer address or, behind trusted proxies, the last forwarded address that is not
 * a trusted proxy. IPv4-mapped IPv6 addresses are converted to IPv4, so that each address has one form.
 */
export function callerIpOf({ ip, socket }: FastifyRequest): string {
  const address = isIP(ip) ? ip : (socket.remoteAddress ?? '');
  return address.replace(/^::ffff:(?=\d+\.)/i, '');
}
