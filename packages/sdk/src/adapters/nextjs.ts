/** Workflows in Next.js, for both routers. */
import type { Endpoint } from '../endpoint.js';
import type { WorkflowHandler } from '../serve.js';
import { type NodeHandler, toNodeHandler } from './node.js';

/** Handlers of a route in the app router. */
export interface NextRouteHandlers {
  readonly GET: (request: Request) => Promise<Response>;
  readonly POST: (request: Request) => Promise<Response>;
}

/**
 * Returns the handlers of a route in the app router.
 *
 * @example
 * // app/order/route.ts
 * export const { GET, POST } = toNextRoute(serve(async (context) => { ... }));
 */
export function toNextRoute(handler: WorkflowHandler): NextRouteHandlers {
  return { GET: handler, POST: handler };
}

/**
 * Returns the handler of an API route in the pages router.
 *
 * @example
 * // pages/api/order.ts
 * export const config = { api: { bodyParser: false } };
 * export default toNextApiHandler(serve(async (context) => { ... }));
 */
export function toNextApiHandler(handler: WorkflowHandler | Endpoint): NodeHandler {
  return toNodeHandler(handler);
}
