/** Test servers for the examples of the guides: for their workflows, and for the third parties that these call. */
import { createServer, type IncomingHttpHeaders } from 'node:http';
import { buffer } from 'node:stream/consumers';
import type { TestContext } from 'node:test';
import type { WorkflowHandler } from '@everstep/sdk';
import { serveWorkflows } from '@everstep/sdk/testing';

export interface ReceivedRequest {
  readonly method: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  /** Number of the request, counted from 1. */
  readonly count: number;
  json(): unknown;
}

/** A server that does not run workflows, such as a bank, an API or an alarm. */
export interface ThirdParty {
  readonly url: string;
  /** Requests received so far. */
  readonly requests: readonly ReceivedRequest[];
}

type Responder = (request: ReceivedRequest) => { readonly status: number; readonly body: unknown };

/** Starts a server that runs until the test ends. `respond` returns the response to each request; its body is sent as JSON. */
export async function thirdParty(t: TestContext, respond: Responder): Promise<ThirdParty> {
  const requests: ReceivedRequest[] = [];
  const server = createServer(async (incoming, response) => {
    const body = (await buffer(incoming)).toString();
    const count = requests.length + 1;
    const request = { method: incoming.method ?? '', headers: incoming.headers, body, count, json: () => JSON.parse(body) };
    requests.push(request);
    const { status, body: responseBody } = respond(request);
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(responseBody));
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server has no port');
  return { url: `http://127.0.0.1:${address.port}/`, requests };
}

/** Serves the workflow until the test ends, and returns its URL. */
export async function serveOne(t: TestContext, workflow: WorkflowHandler): Promise<string> {
  const server = await serveWorkflows({ '/workflow': workflow });
  t.after(() => server.stop());
  return server.urls['/workflow'];
}

/** Returns a promise and the function that resolves it. */
export function createLatch(): { readonly opened: Promise<void>; open(): void } {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open: () => open() };
}
