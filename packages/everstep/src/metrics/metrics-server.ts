/** Serves the metrics on a separate address without a token, for a network that only the operator can reach. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { ServiceMetrics } from './index.js';

const TIMEOUT_MS = 30_000;
const MAX_HEADER_BYTES = 16 * 1024;
const MAX_CONNECTIONS = 50;

export interface MetricsServer {
  readonly port: number;
  close(): Promise<void>;
}

/** Starts the server. Port 0 selects a free port. Rejects with the error of the socket. */
export async function serveMetrics(
  metrics: Pick<ServiceMetrics, 'page'>,
  { host, port }: { readonly host: string; readonly port: number },
): Promise<MetricsServer> {
  const server = createServer({ maxHeaderSize: MAX_HEADER_BYTES, requestTimeout: TIMEOUT_MS }, (request, response) => {
    const [path] = (request.url ?? '').split('?');
    if (path !== '/metrics' || (request.method !== 'GET' && request.method !== 'HEAD')) {
      response.writeHead(404, { 'content-type': 'text/plain; charset=utf-8' }).end('Metrics are at /metrics.\n');
      return;
    }
    metrics.page(request.headers.accept).then(
      ({ contentType, text }) => response.writeHead(200, { 'content-type': contentType }).end(text),
      () => response.writeHead(500).end(),
    );
  });
  server.maxConnections = MAX_CONNECTIONS;
  server.listen({ host, port });
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server does not listen on a port');
  return {
    port: address.port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
