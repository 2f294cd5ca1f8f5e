/**
 * Workflows in Express (4 and 5). Mount them before `express.json()`: signatures cover the raw bytes, and
 * `express.json()` accepts only bodies up to 100 kB.
 */
import type { Endpoint } from '../endpoint.js';
import type { WorkflowHandler } from '../serve.js';
import { type NodeHandler, toNodeHandler } from './node.js';

/**
 * Returns a request handler for Express.
 *
 * @example
 * app.all('/order', toExpressHandler(serve(async (context) => { ... })));
 */
export function toExpressHandler(handler: WorkflowHandler | Endpoint): NodeHandler {
  return toNodeHandler(handler);
}
