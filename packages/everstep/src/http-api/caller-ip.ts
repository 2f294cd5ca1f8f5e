/** Where a request comes from. */
import { isIP } from 'node:net';
import type { FastifyRequest } from 'fastify';

/**
 * Whoever connects, or, behind proxies that are trusted, the last one whom they name and who is none of them. Without the
 * form that maps IPv4 into IPv6: one address has one name.
 */
export function callerIpOf({ ip, socket }: FastifyRequest): string {
  const address = isIP(ip) ? ip : (socket.remoteAddress ?? '');
  return address.replace(/^::ffff:(?=\d+\.)/i, '');
}
