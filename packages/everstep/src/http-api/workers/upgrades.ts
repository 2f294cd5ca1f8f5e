/** Upgrade requests of the server. Only those of workers are taken over; all others are ordinary requests. */
import { type IncomingMessage, type Server, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';

export interface UpgradeTarget {
  /** Whether the request is for this target. */
  readonly isFor: (request: IncomingMessage) => boolean;
  readonly accept: (request: IncomingMessage, socket: Duplex, head: Buffer) => void;
  /** Returns why the connection is not served, or null. */
  readonly refusalOf: (request: IncomingMessage) => string | null;
}

const UPGRADE_HEADERS: ReadonlySet<string> = new Set(['upgrade', 'connection', 'http2-settings']);

/** Returns the head of a request as bytes, without the headers that ask for an upgrade. */
function headOf({ method = 'GET', url = '/', httpVersion, rawHeaders }: IncomingMessage): Buffer {
  const lines = [`${method} ${url} HTTP/${httpVersion}`];
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const [name = '', value = ''] = rawHeaders.slice(index, index + 2);
    if (!UPGRADE_HEADERS.has(name.toLowerCase())) lines.push(`${name}: ${value}`);
  }
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1');
}

function refuse(socket: Duplex, status: number, message: string): void {
  const body = JSON.stringify({ error: message });
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'Connection: close',
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
}

/**
 * Handles upgrade requests. Node passes every request with an Upgrade header here, for example `Upgrade: h2c`, which some
 * clients send with each first request and which a server may ignore. Such a request is put back and served as usual.
 */
export function serveUpgrades(server: Server, target: UpgradeTarget, connectionEvent: 'connection' | 'secureConnection'): void {
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on('error', () => socket.destroy());
    if (!target.isFor(request)) {
      socket.unshift(Buffer.concat([headOf(request), head]));
      server.emit(connectionEvent, socket);
      return;
    }
    const refusal = target.refusalOf(request);
    if (refusal !== null) refuse(socket, 503, refusal);
    else target.accept(request, socket, head);
  });
}
