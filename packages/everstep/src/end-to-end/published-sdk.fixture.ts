/**
 * Apps that use the published SDKs as they come from the registry, and the
 * service that they talk to: told nothing but its address, a token and the
 * signing keys, as their documents ask for.
 */
import assert from 'node:assert/strict';
import { createServer, type IncomingMessage } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { after } from 'node:test';
import { ServiceProcess } from './service-process.fixture.js';

const NAMES = ['QSTASH_URL', 'QSTASH_TOKEN', 'QSTASH_CURRENT_SIGNING_KEY', 'QSTASH_NEXT_SIGNING_KEY'];

/** Requests that SDKs in this process made to the service: `POST /v2/batch`. */
export const sdkRequests: string[] = [];

/** The SDK tells on the console what it does, which is no matter of the tests. */
for (const level of ['info', 'warn', 'error'] as const) console[level] = () => {};

/** Told apart from requests of the tests' own by the form of the token. */
function countRequests(): void {
  const send = globalThis.fetch;
  globalThis.fetch = async (input, init) => {
    const { QSTASH_URL: base, QSTASH_TOKEN: token } = process.env;
    const bySdk = new Headers(init?.headers).get('authorization') === `Bearer ${token}`;
    if (bySdk && base !== undefined) sdkRequests.push(`${init?.method ?? 'GET'} ${String(input).slice(base.length)}`);
    return send(input, init);
  };
}
countRequests();

/** What the app would find in its environment. */
export function tellTheApp(service: ServiceProcess): void {
  for (const name of NAMES) {
    const value = service.env.get(name);
    assert.ok(value, `the env file names no ${name}`);
    process.env[name] = value;
  }
}

/** One service for a file of tests. */
export async function startService(): Promise<ServiceProcess> {
  const service = await ServiceProcess.create();
  after(() => service.dispose());
  await service.start();
  tellTheApp(service);
  return service;
}

export interface Ended {
  readonly workflowState: string;
  readonly result?: unknown;
  readonly error?: string;
}

/** How the run ended; waits for it. */
export async function endOf(service: ServiceProcess, workflowRunId: string): Promise<Ended> {
  const path = `/v2/workflows/runs/${encodeURIComponent(workflowRunId)}/result?timeout=20s`;
  const { status, body } = await service.request('GET', path);
  assert.equal(status, 200, `the run has not ended: ${JSON.stringify(body)}`);
  return body as Ended;
}

/** What it returned. */
export async function resultOf(service: ServiceProcess, workflowRunId: string): Promise<unknown> {
  const ended = await endOf(service, workflowRunId);
  assert.equal(ended.workflowState, 'RUN_SUCCESS', ended.error);
  return ended.result;
}

export interface LoggedStep {
  readonly stepId: number;
  readonly stepName: string;
  readonly stepType: string;
}

/** The recorded steps of a run, and its failed attempts. */
export async function journalOf(service: ServiceProcess, workflowRunId: string) {
  const { body } = await service.request('GET', `/v2/workflows/runs/${encodeURIComponent(workflowRunId)}`);
  return body as { readonly steps: readonly LoggedStep[]; readonly attempts?: readonly { readonly error: string }[] };
}

export type FetchHandler = (request: Request) => Response | Promise<Response>;

export interface AppServer {
  readonly origin: string;
  /** Requests that came in, by path. */
  readonly received: string[];
}

async function requestOf(incoming: IncomingMessage): Promise<Request> {
  const body = await buffer(incoming);
  const headers = new Headers();
  for (const [name, value] of Object.entries(incoming.headersDistinct))
    for (const each of value ?? []) headers.append(name, each);
  return new Request(`http://${incoming.headers.host}${incoming.url}`, {
    method: incoming.method ?? 'GET',
    headers,
    ...(body.byteLength > 0 ? { body } : {}),
  });
}

/** What closes it in the end: a test, or `{ after }` for a file of tests. */
export interface Closing {
  after(stop: () => void): void;
}

/** Serves what takes web requests, as most frameworks do, until the test is over. */
export async function serveApp(t: Closing, handler: FetchHandler): Promise<AppServer> {
  const received: string[] = [];
  const server = createServer(async (incoming, response) => {
    received.push(incoming.url ?? '');
    const answer = await handler(await requestOf(incoming));
    response.writeHead(answer.status, Object.fromEntries(answer.headers)).end(Buffer.from(await answer.arrayBuffer()));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server listens on no port');
  return { origin: `http://127.0.0.1:${address.port}`, received };
}

/** Resolves when `look` finds something. */
export async function eventually<Value>(
  look: () => Value | null | undefined | false | Promise<Value | null | undefined | false>,
): Promise<Value> {
  const deadline = performance.now() + 15_000;
  for (;;) {
    const found = await look();
    if (found) return found;
    if (performance.now() > deadline) throw new Error('it did not come to be within 15 s');
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
