/** The worker process with the published SDK. It has the same workflows and the same control port as `worker.ts`. */
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { serve, type WorkflowContext } from '@upstash/workflow';
import type { WorkerReady } from './worker.js';

interface Payload {
  readonly n: number;
}

let finishedRunIds = new Set<string>();

async function seq(context: WorkflowContext<Payload>): Promise<{ readonly steps: number }> {
  for (let i = 0; i < context.requestPayload.n; i++) await context.run(`s${i}`, () => ({ i }));
  finishedRunIds.add(context.workflowRunId);
  return { steps: context.requestPayload.n };
}

async function fan(context: WorkflowContext<Payload>): Promise<{ readonly steps: number }> {
  const steps = Array.from({ length: context.requestPayload.n }, (_, i) => context.run(`s${i}`, () => ({ i })));
  const results = await Promise.all(steps);
  finishedRunIds.add(context.workflowRunId);
  return { steps: results.length };
}

async function wait(context: WorkflowContext<Payload>): Promise<{ readonly steps: number }> {
  await context.waitForEvent('wait', 'go', { timeout: '7d' });
  finishedRunIds.add(context.workflowRunId);
  return { steps: 1 };
}

const handlers = { '/seq': serve<Payload>(seq), '/fan': serve<Payload>(fan), '/wait': serve<Payload>(wait) };
const isWorkflow = (path: string | undefined): path is keyof typeof handlers =>
  path !== undefined && Object.hasOwn(handlers, path);

async function requestOf(incoming: IncomingMessage): Promise<Request> {
  const body = await buffer(incoming);
  const headers = new Headers();
  for (const [name, value] of Object.entries(incoming.headers)) if (typeof value === 'string') headers.set(name, value);
  return new Request(`http://${incoming.headers.host}${incoming.url}`, { method: 'POST', headers, body });
}

const workflowServer = createServer(async (incoming, response) => {
  if (!isWorkflow(incoming.url)) {
    response.writeHead(404).end();
    return;
  }
  const workflowResponse = await handlers[incoming.url].handler(await requestOf(incoming));
  response.writeHead(workflowResponse.status, Object.fromEntries(workflowResponse.headers)).end(await workflowResponse.text());
});
const controlServer = createServer((request, response) => {
  if (request.url === '/reset') finishedRunIds = new Set();
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ done: finishedRunIds.size }));
});

for (const server of [workflowServer, controlServer]) {
  server.keepAliveTimeout = 60_000;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
}
const urlOf = (server: typeof workflowServer): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
const ready: WorkerReady = { url: urlOf(workflowServer), controlUrl: urlOf(controlServer) };
process.send?.(ready);
process.once('disconnect', () => process.exit());
