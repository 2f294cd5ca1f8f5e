/** The worker process: workflows with no-op steps, and a port that returns the count of finished runs. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { connect, serve, type WorkflowContext } from '@everstep/sdk';
import { toNodeHandler } from '@everstep/sdk/node';
import { CHECKPOINT_VARIABLE } from './options.js';

interface Payload {
  readonly n: number;
}

/** Message to the parent process. */
export interface WorkerReady {
  readonly url: string;
  readonly controlUrl: string;
}

/** Ids of finished runs. A plain counter would count a run twice if the end of the run is requested twice. */
let finishedRunIds = new Set<string>();

async function seq(ctx: WorkflowContext<Payload>): Promise<{ readonly steps: number }> {
  for (let i = 0; i < ctx.payload.n; i++) await ctx.run(`s${i}`, () => ({ i }));
  finishedRunIds.add(ctx.runId);
  return { steps: ctx.payload.n };
}

async function fan(ctx: WorkflowContext<Payload>): Promise<{ readonly steps: number }> {
  const results = await Promise.all(Array.from({ length: ctx.payload.n }, (_, i) => ctx.run(`s${i}`, () => ({ i }))));
  finishedRunIds.add(ctx.runId);
  return { steps: results.length };
}

/** Waits for an event that is published once for all runs. */
async function wait(ctx: WorkflowContext<Payload>): Promise<{ readonly steps: number }> {
  await ctx.waitForEvent('wait', 'go', { timeout: '7d' });
  finishedRunIds.add(ctx.runId);
  return { steps: 1 };
}

/** Executes a step before and a step after a short sleep. */
async function nap(ctx: WorkflowContext<{ readonly ms: number }>): Promise<{ readonly steps: number }> {
  await ctx.run('before', () => 1);
  await ctx.sleep('nap', `${ctx.payload.ms}ms`);
  await ctx.run('after', () => 1);
  return { steps: 2 };
}

// `allowUnsigned` lets the worker run without keys, for --verify 0.
const maxSteps = Number(process.env[CHECKPOINT_VARIABLE] ?? 1);
const options = { allowUnsigned: true, checkpoint: { maxSteps } };
const workflowFunctions = {
  seq: serve(seq, options),
  fan: serve(fan, options),
  wait: serve(wait, options),
  nap: serve(nap, options),
};
const handlers = {
  '/seq': toNodeHandler(workflowFunctions.seq),
  '/fan': toNodeHandler(workflowFunctions.fan),
  '/wait': toNodeHandler(workflowFunctions.wait),
  '/nap': toNodeHandler(workflowFunctions.nap),
};
const isWorkflow = (path: string | undefined): path is keyof typeof handlers =>
  path !== undefined && Object.hasOwn(handlers, path);

const workflowServer = createServer((request, response) => {
  if (isWorkflow(request.url)) void handlers[request.url](request, response);
  else response.writeHead(404).end();
});
const controlServer = createServer((request, response) => {
  if (request.url === '/reset') finishedRunIds = new Set();
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ done: finishedRunIds.size }));
});

for (const server of [workflowServer, controlServer]) {
  // Connections stay open during the benchmark, which measures runs and not handshakes.
  server.keepAliveTimeout = 60_000;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
}
const urlOf = (server: typeof workflowServer): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
let url = urlOf(workflowServer);
if (process.env.EVERSTEP_BENCH_VIA === 'connection') {
  const worker = connect({ app: 'bench', workflows: workflowFunctions, maxConcurrency: 1_000 });
  await worker.connected;
  url = 'worker://bench';
}
const ready: WorkerReady = { url, controlUrl: urlOf(controlServer) };
process.send?.(ready);
// The parent process is gone, so nothing else stops the worker.
process.once('disconnect', () => process.exit());
