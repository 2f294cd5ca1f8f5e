/** Workflows in Fastify (4 and 5). */
import type { IncomingHttpHeaders } from 'node:http';
import type { Endpoint, EndpointRequest } from '../endpoint.js';
import type { WorkflowHandler } from '../serve.js';
import { endpointOf, MAX_BODY_BYTES } from './node.js';

/** The parts of a Fastify request that the handler uses. */
export interface FastifyLikeRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body?: unknown;
  readonly rawBody?: unknown;
}

/** The parts of a Fastify reply that the handler uses. */
export interface FastifyLikeReply {
  code(status: number): unknown;
  headers(values: Record<string, string>): unknown;
  send(body: string): unknown;
  readonly raw: { readonly destroyed: boolean };
}

/** The parts of a Fastify instance that the plugin uses. */
export interface FastifyLikeInstance {
  removeAllContentTypeParsers(): unknown;
  addContentTypeParser(
    contentType: string,
    options: { parseAs: 'buffer'; bodyLimit: number },
    parser: (request: never, body: Buffer, done: (error: Error | null, body?: unknown) => void) => void,
  ): unknown;
  route(options: {
    method: ['GET', 'POST'];
    url: string;
    handler: (request: FastifyLikeRequest, reply: FastifyLikeReply) => Promise<unknown>;
  }): unknown;
}

function bodyOf({ rawBody, body }: FastifyLikeRequest): EndpointRequest['body'] {
  for (const received of [rawBody, body]) if (received instanceof Uint8Array || typeof received === 'string') return received;
  return body === undefined || body === null ? '' : { parsed: body };
}

/**
 * Returns a route handler. Fastify parses the body before it calls the handler. If signatures are checked, use
 * `toFastifyPlugin` instead, or keep the bytes as `request.rawBody`.
 *
 * @example
 * app.post('/order', toFastifyHandler(serve(async (context) => { ... })));
 */
export function toFastifyHandler(
  handler: WorkflowHandler | Endpoint,
): (request: FastifyLikeRequest, reply: FastifyLikeReply) => Promise<unknown> {
  const endpoint = endpointOf(handler);
  return async (request, reply) => {
    const { method, url, headers } = request;
    const isAbandoned = (): boolean => reply.raw.destroyed;
    const response = await endpoint.handle({ method, url, headers, body: bodyOf(request), isAbandoned });
    reply.code(response.status);
    reply.headers({ ...response.headers });
    return reply.send(response.body);
  };
}

/**
 * Returns a plugin that serves the workflow at `path`. It does not affect the parsers of the rest of the app.
 *
 * @example
 * app.register(toFastifyPlugin(serve(async (context) => { ... }), '/order'));
 */
export function toFastifyPlugin(
  handler: WorkflowHandler | Endpoint,
  path = '/',
): (instance: FastifyLikeInstance) => Promise<void> {
  const route = toFastifyHandler(handler);
  return async (instance) => {
    instance.removeAllContentTypeParsers();
    instance.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit: MAX_BODY_BYTES }, (_request, body, done) =>
      done(null, body),
    );
    instance.route({ method: ['GET', 'POST'], url: path, handler: route });
  };
}
