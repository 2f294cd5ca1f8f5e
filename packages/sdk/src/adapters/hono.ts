/** Workflows in Hono, on any runtime. */
import { type Endpoint, endpointHeaders } from '../endpoint.js';
import type { WorkflowHandler } from '../serve.js';

/** The parts of a Hono context that the handler uses. */
export interface HonoLikeContext {
  readonly req: {
    readonly method: string;
    readonly url: string;
    readonly raw: { readonly signal: { readonly aborted: boolean } };
    header(name: string): string | undefined;
    arrayBuffer(): Promise<ArrayBuffer>;
  };
}

/**
 * Returns a route handler. It reads the body through Hono, so a middleware may have read it before.
 *
 * @example
 * app.all('/order', toHonoHandler(serve(async (context) => { ... })));
 */
export function toHonoHandler(handler: WorkflowHandler | Endpoint): (context: HonoLikeContext) => Promise<Response> {
  const endpoint = 'endpoint' in handler ? handler.endpoint : handler;
  return async ({ req }) => {
    const response = await endpoint.handle({
      method: req.method,
      url: req.url,
      headers: endpointHeaders((name) => req.header(name)),
      body: new Uint8Array(await req.arrayBuffer()),
      isAbandoned: () => req.raw.signal.aborted,
    });
    return new Response(response.body, { status: response.status, headers: response.headers });
  };
}
