/**
 * Workflows behind Express (4 and 5). Mount them before `express.json()`:
 * signatures are over the bytes as they came, and `express.json()` takes
 * bodies up to 100 kB only.
 */
import type { Endpoint } from '../endpoint.js';
import type { WorkflowHandler } from '../serve.js';
import { type NodeHandler, toNodeHandler } from './node.js';

/**
 * A request handler of Express.
 *
 * @example
 * app.all('/order', toExpressHandler(serve(async (context) => { ... })));
 */
export function toExpressHandler(handler: WorkflowHandler | Endpoint): NodeHandler {
  return toNodeHandler(handler);
}
