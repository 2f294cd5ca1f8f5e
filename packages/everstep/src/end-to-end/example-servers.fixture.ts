/** Servers for the examples of the guides: their workflows, and third parties that these talk to. */
import { createServer, type IncomingHttpHeaders } from 'node:http';
import { buffer } from 'node:stream/consumers';
import type { TestContext } from 'node:test';
import type { WorkflowHandler } from '@everstep/sdk';
import { serveWorkflows } from '@everstep/sdk/testing';

export interface ReceivedRequest {
  readonly method: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  /** Which request it is, from 1. */
  readonly count: number;
  json(): unknown;
}

/** A server that is no workflow: a bank, an API, an alarm. */
export interface ThirdParty {
  readonly url: string;
  /** What it was asked so far. */
  readonly requests: readonly ReceivedRequest[];
}

type Answer = (request: ReceivedRequest) => { readonly status: number; readonly body: unknown };

/** Serves until the test is over. `answer` says what each request gets; the body goes out as JSON. */
export async function thirdParty(t: TestContext, answer: Answer): Promise<ThirdParty> {
  const requests: ReceivedRequest[] = [];
  const server = createServer(async (incoming, response) => {
    const body = (await buffer(incoming)).toString();
    const count = requests.length + 1;
    const request = { method: incoming.method ?? '', headers: incoming.headers, body, count, json: () => JSON.parse(body) };
    requests.push(request);
    const { status, body: sent } = answer(request);
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(sent));
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
  if (address === null || typeof address === 'string') throw new Error('the server listens on no port');
  return { url: `http://127.0.0.1:${address.port}/`, requests };
}

/** Serves the workflow until the test is over, and gives its URL. */
export async function serveOne(t: TestContext, workflow: WorkflowHandler): Promise<string> {
  const server = await serveWorkflows({ '/workflow': workflow });
  t.after(() => server.stop());
  return server.urls['/workflow'];
}

/** A promise that is resolved from outside. */
export function openLater(): { readonly opened: Promise<void>; open(): void } {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open: () => open() };
}
