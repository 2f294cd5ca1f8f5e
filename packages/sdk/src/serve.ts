/** Serves workflows in any framework with Request and Response. */
import type { Workflow } from './context.js';
import { createEndpoint, endpointHeaders, type ServeOptions, type WorkflowEndpoint } from './endpoint.js';

/** A fetch-style request handler. Adapters for other servers use its `endpoint`. */
export interface WorkflowHandler {
  (request: Request): Promise<Response>;
  readonly endpoint: WorkflowEndpoint;
}

/**
 * Serves a workflow: returns a handler for requests from the server.
 *
 * @example
 * export const POST = serve<Order, Receipt>(async (context) => {
 *   const charge = await context.run('charge', () => chargeCard(context.payload));
 *   await context.sleep('cool down', '10s');
 *   return context.run('receipt', () => sendReceipt(charge));
 * });
 *
 * @throws {RangeError} If an option is invalid.
 */
export function serve<Payload = unknown, Result = unknown>(
  workflow: Workflow<Payload, Result>,
  options: ServeOptions<Payload> = {},
): WorkflowHandler {
  const endpoint = createEndpoint(workflow, options);
  const handler = async (request: Request): Promise<Response> => {
    const response = await endpoint.handle({
      method: request.method,
      url: request.url,
      headers: endpointHeaders((name) => request.headers.get(name)),
      body: new Uint8Array(await request.arrayBuffer()),
      isAbandoned: () => request.signal.aborted,
    });
    return new Response(response.body, { status: response.status, headers: response.headers });
  };
  return Object.assign(handler, { endpoint });
}
