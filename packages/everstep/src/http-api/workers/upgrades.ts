/** Handles HTTP upgrade requests. Only worker connections are upgraded; all other requests are handled as ordinary requests. */
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { ApiError } from '../../contract/error-codes.js';
import { DEFAULT_DIALECT } from '../../dialects/index.js';
import { replyOnSocket } from '../responses/error-replies.js';

export interface UpgradeTarget {
  /** Whether the request is for the target. */
  readonly isFor: (request: IncomingMessage) => boolean;
  readonly accept: (request: IncomingMessage, socket: Socket, head: Buffer) => void;
  /** Returns the error with which the request is rejected, or null. */
  readonly refusalOf: (request: IncomingMessage) => ApiError | null;
}

export interface UpgradeOptions {
  readonly target: UpgradeTarget;
  /** Event that the server emits for a new connection. */
  readonly connectionEvent: 'connection' | 'secureConnection';
  /** Returns the response to the last request on a socket. */
  readonly latestResponse: (socket: Duplex) => ServerResponse | undefined;
}

const UPGRADE_HEADERS: ReadonlySet<string> = new Set(['upgrade', 'http2-settings']);

const removeUpgradeOptions = (connection: string): string =>
  connection
    .split(',')
    .filter((option) => !UPGRADE_HEADERS.has(option.trim().toLowerCase()))
    .join(',');

/** Returns the head of a request as bytes, without the headers that request an upgrade. */
function requestHeadOf({ method = 'GET', url = '/', httpVersion, rawHeaders }: IncomingMessage): Buffer {
  const lines = [`${method} ${url} HTTP/${httpVersion}`];
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const [name = '', value = ''] = rawHeaders.slice(index, index + 2);
    const lowercaseName = name.toLowerCase();
    if (!UPGRADE_HEADERS.has(lowercaseName))
      lines.push(`${name}: ${lowercaseName === 'connection' ? removeUpgradeOptions(value) : value}`);
  }
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1');
}

/** Sends an error and closes the socket, which the server no longer reads. */
export function refuseUpgrade(socket: Duplex, refusal: ApiError): void {
  socket.once('finish', () => socket.destroy());
  replyOnSocket(socket, refusal, DEFAULT_DIALECT);
}

/**
 * Handles upgrade requests. Clients may request an upgrade, for example to `h2c`, with any request, and a server may ignore it.
 * Node stops reading the connection at each upgrade request. A request for another protocol is pushed back onto the socket
 * without its upgrade headers, and the connection is passed to the server again. The `shouldUpgradeCallback` of newer versions of
 * Node is not an alternative: it loses requests that follow in the same chunk.
 */
export function serveUpgrades(server: Server, { target, connectionEvent, latestResponse }: UpgradeOptions): void {
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    if (!(socket instanceof Socket)) throw new TypeError('the HTTP server has an unexpected kind of socket');
    socket.on('error', () => socket.destroy());
    const earlierResponse = latestResponse(socket);
    const isBusy = earlierResponse !== undefined && !earlierResponse.writableFinished;
    if (!target.isFor(request)) {
      const serve = () => {
        socket.unshift(Buffer.concat([requestHeadOf(request), head]));
        server.emit(connectionEvent, socket);
      };
      // Responses are sent in the order of their requests.
      if (isBusy) earlierResponse.once('finish', serve);
      else serve();
      return;
    }
    const refusal = target.refusalOf(request);
    // The response to an earlier request would be sent into the connection of the worker.
    if (isBusy) socket.destroy();
    else if (refusal) refuseUpgrade(socket, refusal);
    else target.accept(request, socket, head);
  });
}
