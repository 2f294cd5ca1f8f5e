/** Workflows in Node's http server, and in frameworks built on it. */
import { Buffer } from 'node:buffer';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Endpoint, EndpointRequest, EndpointResponse } from '../endpoint.js';
import type { WorkflowHandler } from '../serve.js';

/** Size limit of a request body in bytes: the largest journal that Everstep stores, as JSON. */
export const MAX_BODY_BYTES = 512 * 1024 * 1024;

/** A listener for requests of Node's http server. Never rejects because of a request. */
export type NodeHandler = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

/** Returns the endpoint of a handler, or the endpoint itself. */
export const endpointOf = (handler: WorkflowHandler | Endpoint): Endpoint => ('endpoint' in handler ? handler.endpoint : handler);

/** Reads the whole body. Rejects if the client disconnects or the body exceeds the limit. */
export function readBody(request: IncomingMessage): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let receivedBytes = 0;
    request.on('data', (chunk: Buffer) => {
      receivedBytes += chunk.length;
      if (receivedBytes <= MAX_BODY_BYTES) chunks.push(chunk);
      else {
        chunks.length = 0;
        reject(new RangeError(`the request body is larger than ${MAX_BODY_BYTES} bytes`));
      }
    });
    request.on('end', () => {
      const [firstChunk] = chunks;
      resolve(firstChunk && chunks.length === 1 ? firstChunk : Buffer.concat(chunks));
    });
    request.on('error', reject);
    request.on('close', () => reject(new Error('the request was aborted')));
  });
}

/** A request whose body a framework may have read already. */
export interface MaybeParsedRequest extends IncomingMessage {
  /** Original URL, if a framework removes the mount path of the handler from `url`. */
  readonly originalUrl?: unknown;
  readonly body?: unknown;
  readonly rawBody?: unknown;
}

/** Returns the body in the form closest to the received bytes. */
export async function bodyOf(request: MaybeParsedRequest): Promise<EndpointRequest['body']> {
  const { rawBody, body } = request;
  for (const received of [rawBody, body]) if (received instanceof Uint8Array || typeof received === 'string') return received;
  if (!request.readableDidRead && !request.readableEnded) return readBody(request);
  return body === undefined ? '' : { parsed: body };
}

/** Sends the response, unless one was already sent or the client has disconnected. */
export function send(response: ServerResponse, endpointResponse: EndpointResponse): void {
  if (response.headersSent || response.destroyed) return;
  response.writeHead(endpointResponse.status, {
    ...endpointResponse.headers,
    'Content-Length': Buffer.byteLength(endpointResponse.body),
  });
  response.end(endpointResponse.body);
}

async function handle(endpoint: Endpoint, request: MaybeParsedRequest, response: ServerResponse): Promise<void> {
  let body: EndpointRequest['body'];
  try {
    body = await bodyOf(request);
  } catch (error) {
    const isTooLarge = error instanceof RangeError;
    if (isTooLarge) response.setHeader('Connection', 'close');
    send(response, {
      status: isTooLarge ? 413 : 400,
      headers: {},
      body: error instanceof Error ? error.message : 'the request body cannot be read',
    });
    return;
  }
  const { method = 'GET', headers, originalUrl } = request;
  const url = typeof originalUrl === 'string' ? originalUrl : (request.url ?? '/');
  send(response, await endpoint.handle({ method, url, headers, body, isAbandoned: () => response.destroyed }));
}

/**
 * Returns a listener for `http.createServer`, or for one path of it.
 *
 * @example
 * createServer(toNodeHandler(serve(async (context) => { ... }))).listen(3000);
 */
export function toNodeHandler(handler: WorkflowHandler | Endpoint): NodeHandler {
  const endpoint = endpointOf(handler);
  return (request, response) => handle(endpoint, request, response);
}
