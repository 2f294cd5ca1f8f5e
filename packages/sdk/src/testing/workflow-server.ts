/** A server that serves workflows for a test. */
import { createServer } from 'node:http';
import { endpointOf, toNodeHandler } from '../adapters/node.js';
import type { Endpoint } from '../endpoint.js';
import type { WorkflowHandler } from '../serve.js';

/** A running server for workflows. */
export interface WorkflowServer<Path extends string> {
  /** URL of each workflow, by its path. */
  readonly urls: Readonly<Record<Path, string>>;
  /** Closes all connections. Requests in progress receive no response. */
  stop(): Promise<void>;
}

/**
 * Serves each workflow at its path, on a free port of 127.0.0.1.
 *
 * @example
 * const { urls } = await serveWorkflows({ '/order': serve(async (context) => { ... }) });
 *
 * @throws {TypeError} If a path does not start with a slash.
 */
export async function serveWorkflows<Path extends string>(
  workflows: Readonly<Record<Path, WorkflowHandler | Endpoint>>,
): Promise<WorkflowServer<Path>> {
  const paths = Object.keys(workflows) as Path[];
  const invalidPath = paths.find((path) => !path.startsWith('/'));
  if (invalidPath !== undefined)
    throw new TypeError(`the path of a workflow must start with a slash, not ${JSON.stringify(invalidPath)}`);
  const handlers = new Map<string, ReturnType<typeof toNodeHandler>>(
    paths.map((path) => [path, toNodeHandler(endpointOf(workflows[path]))]),
  );
  const server = createServer((request, response) => {
    const handler = handlers.get(request.url?.split('?')[0] ?? '');
    if (handler) void handler(request, response);
    else response.writeHead(404).end(`there is no workflow at this path. Available paths: ${paths.join(', ')}`);
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server has no port');
  const urls = Object.fromEntries(paths.map((path) => [path, `http://127.0.0.1:${address.port}${path}`]));
  return {
    urls: urls as Record<Path, string>,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
