/**
 * Responds in place of the APIs while the server waits for its store at startup. `GET /health` returns 200, and all other
 * requests 503 with the reason.
 */
import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import { type Listener, managementListener } from '../../bootstrap/listeners.js';
import { listenError } from '../../bootstrap/start-error.js';
import type { Config } from '../../config/config.js';
import { ApiError } from '../../contract/error-codes.js';
import { dialectOf } from '../../dialects/index.js';
import { errorReply, JSON_TYPE } from '../../http-api/responses/error-replies.js';
import type { TlsListener } from '../../http-api/tls/tls-listener.js';
import { SERVER_VERSION } from '../../step-calls/version.js';

const TIMEOUT_MS = 5_000;
const SERVER_OPTIONS = { requestTimeout: TIMEOUT_MS, headersTimeout: TIMEOUT_MS, maxHeaderSize: 8 * 1024 };
const MAX_CONNECTIONS = 100;
const RETRY_HEADERS = { 'retry-after': '2' };

export class WaitingServer {
  private readonly config: Config;
  private readonly tls: TlsListener | null;
  private servers: readonly Server[] | null = null;
  private reason = '';

  constructor(config: Config, tls: TlsListener | null) {
    this.config = config;
    this.tls = tls;
  }

  /** Responds with this reason from now on. Rejects with StartError if an address is not available. */
  async respond(reason: string): Promise<void> {
    this.reason = reason;
    if (this.servers) return;
    const { host, port } = this.config;
    const management = managementListener(this.config);
    const servers: Server[] = [];
    this.servers = servers;
    for (const listener of [{ host, port }, ...(management ? [management] : [])])
      if (listener.port !== 0) servers.push(await this.listen(listener));
  }

  /** Closes all connections. Resolves when the addresses are free again. */
  async close(): Promise<void> {
    const servers = this.servers ?? [];
    this.servers = null;
    await Promise.all(
      servers.map(async (server) => {
        const closePromise = once(server.close(), 'close');
        server.closeAllConnections();
        await closePromise;
      }),
    );
  }

  private async listen({ host, port, settings }: Listener): Promise<Server> {
    const handler: RequestListener = (request, response) => {
      response.setHeader('connection', 'close');
      if (request.url === '/health') {
        response.setHeader('content-type', JSON_TYPE).end(JSON.stringify({ status: 'ok', version: SERVER_VERSION }));
        return;
      }
      const isReadyCheck = request.url === '/ready';
      const error = new ApiError('store-unavailable', this.reason, RETRY_HEADERS, isReadyCheck ? 'store-unavailable' : null);
      const { status, headers, body } = errorReply(error, dialectOf({ headers: request.headers }));
      response.writeHead(status, headers).end(body);
    };
    const server = this.tls ? this.tls.createServer(SERVER_OPTIONS, handler) : createServer(SERVER_OPTIONS, handler);
    server.maxConnections = MAX_CONNECTIONS;
    try {
      await once(server.listen({ host, port }), 'listening');
    } catch (error) {
      throw listenError(host, port, error, settings);
    }
    return server;
  }
}
