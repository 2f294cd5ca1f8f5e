/**
 * Apps with the unmodified published SDKs, and their server. They are configured only with its address, a token and the signing
 * keys, as their documentation requires.
 */
import assert from 'node:assert/strict';
import { createServer, type IncomingMessage } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { after } from 'node:test';
import { ServerProcess } from '../service-process.fixture.js';

const NAMES = ['QSTASH_URL', 'QSTASH_TOKEN', 'QSTASH_CURRENT_SIGNING_KEY', 'QSTASH_NEXT_SIGNING_KEY'];

/** Requests that SDKs in this process sent to the server, such as `POST /v2/batch`. */
export const sdkRequests: string[] = [];

/** The SDK logs to the console, which the tests ignore. */
for (const level of ['info', 'warn', 'error'] as const) console[level] = () => {};

/** Counts the requests of the SDK. They are identified by the format of the token, unlike requests of the tests. */
function countRequests(): void {
  const originalFetch = globalThis.fetch;
  globalThis.fetch = async (input, init) => {
    const { QSTASH_URL: base, QSTASH_TOKEN: token } = process.env;
    const isFromSdk = new Headers(init?.headers).get('authorization') === `Bearer ${token}`;
    if (isFromSdk && base !== undefined) sdkRequests.push(`${init?.method ?? 'GET'} ${String(input).slice(base.length)}`);
    return originalFetch(input, init);
  };
}
countRequests();

/** Sets the environment variables of the app. */
export function setAppEnvironment(service: ServerProcess): void {
  for (const name of NAMES) {
    const value = service.env.get(name);
    assert.ok(value, `the env file has no ${name}`);
    process.env[name] = value;
  }
}

/** Starts one server for a test file. */
export async function startService(): Promise<ServerProcess> {
  const service = await ServerProcess.create();
  after(() => service.dispose());
  await service.start();
  setAppEnvironment(service);
  return service;
}

export interface EndedRun {
  readonly workflowState: string;
  readonly result?: unknown;
  readonly error?: string;
}

/** Waits for the end of the run and returns it. */
export async function endOf(service: ServerProcess, workflowRunId: string): Promise<EndedRun> {
  const path = `/v2/workflows/runs/${encodeURIComponent(workflowRunId)}/result?timeout=20s`;
  const { status, body } = await service.request('GET', path);
  assert.equal(status, 200, `the run did not end: ${JSON.stringify(body)}`);
  return body as EndedRun;
}

/** Returns the result of the run. */
export async function resultOf(service: ServerProcess, workflowRunId: string): Promise<unknown> {
  const endedRun = await endOf(service, workflowRunId);
  assert.equal(endedRun.workflowState, 'RUN_SUCCESS', endedRun.error);
  return endedRun.result;
}

export interface LoggedStep {
  readonly stepId: number;
  readonly stepName: string;
  readonly stepType: string;
}

/** Returns the recorded steps of a run and its failed attempts. */
export async function journalOf(service: ServerProcess, workflowRunId: string) {
  const { body } = await service.request('GET', `/v2/workflows/runs/${encodeURIComponent(workflowRunId)}`);
  return body as { readonly steps: readonly LoggedStep[]; readonly attempts?: readonly { readonly error: string }[] };
}

export type FetchHandler = (request: Request) => Response | Promise<Response>;

export interface AppServer {
  readonly origin: string;
  /** Requests that the app has received, by path. */
  readonly received: string[];
}

async function requestOf(incoming: IncomingMessage): Promise<Request> {
  const body = await buffer(incoming);
  const headers = new Headers();
  for (const [name, values] of Object.entries(incoming.headersDistinct))
    for (const value of values ?? []) headers.append(name, value);
  return new Request(`http://${incoming.headers.host}${incoming.url}`, {
    method: incoming.method ?? 'GET',
    headers,
    ...(body.byteLength > 0 ? { body } : {}),
  });
}

/** Closes a server at the end of a test, or of a test file with `{ after }`. */
export interface Closing {
  after(stop: () => void): void;
}

/** Serves a handler of web requests, which most frameworks provide, until the test ends. */
export async function serveApp(t: Closing, handler: FetchHandler): Promise<AppServer> {
  const received: string[] = [];
  const server = createServer(async (incoming, response) => {
    received.push(incoming.url ?? '');
    const appResponse = await handler(await requestOf(incoming));
    response
      .writeHead(appResponse.status, Object.fromEntries(appResponse.headers))
      .end(Buffer.from(await appResponse.arrayBuffer()));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server is not listening');
  return { origin: `http://127.0.0.1:${address.port}`, received };
}

/** Calls `read` repeatedly, and resolves with the first value that it returns. */
export async function eventually<Value>(
  read: () => Value | null | undefined | false | Promise<Value | null | undefined | false>,
): Promise<Value> {
  const deadline = performance.now() + 15_000;
  for (;;) {
    const value = await read();
    if (value) return value;
    if (performance.now() > deadline) throw new Error('the condition was not met within 15 s');
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
