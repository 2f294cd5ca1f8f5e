/** The destinations of the hostile account: its app, ports that never respond, and a slow name server. */
import { createSocket } from 'node:dgram';
import { createServer } from 'node:http';
import { type AddressInfo, createServer as createSocketServer } from 'node:net';
import { serve, type WorkflowContext } from '@everstep/sdk';
import { toNodeHandler } from '@everstep/sdk/node';

/** Message to the parent process. */
export interface EndpointsReady {
  readonly app: string;
  /** Ports that accept connections and never respond. */
  readonly silent: readonly [string, string];
  /** Host and port of a name server that never responds. */
  readonly nameServer: string;
}

/** A result that has, as JSON text, the maximum size that the plan allows. */
const LARGE_RESULT = 'x'.repeat(1024 * 1024 - 2);
const BRACKETS = '['.repeat(30 * 1024 * 1024);
const LARGE_STEP_COUNT = 72;

/** Executes a run with a large journal. */
async function large(ctx: WorkflowContext<unknown>): Promise<number> {
  for (let index = 0; index < LARGE_STEP_COUNT; index++) await ctx.run(`s${index}`, () => LARGE_RESULT);
  return LARGE_STEP_COUNT;
}
async function singleStep(ctx: WorkflowContext<unknown>): Promise<string> {
  return ctx.run('one', () => LARGE_RESULT);
}
async function wait(ctx: WorkflowContext<unknown>): Promise<void> {
  await ctx.waitForEvent('wait', 'never', { timeout: '7d' });
}
async function quick(): Promise<void> {}

const options = { allowUnsigned: true };
const workflows = {
  '/large': toNodeHandler(serve(large, options)),
  '/one': toNodeHandler(serve(singleStep, options)),
  '/wait': toNodeHandler(serve(wait, options)),
  '/quick': toNodeHandler(serve(quick, options)),
};
const isWorkflow = (path: string | undefined): path is keyof typeof workflows =>
  path !== undefined && Object.hasOwn(workflows, path);

const appServer = createServer((request, response) => {
  if (isWorkflow(request.url)) return void workflows[request.url](request, response);
  request.resume();
  if (request.url === '/brackets') response.writeHead(200, { 'content-type': 'application/json' }).end(BRACKETS);
  // Without retries, so that each run ends as a dead letter.
  else response.writeHead(500).end('broken');
});
appServer.keepAliveTimeout = 60_000;
const silentServers = [createSocketServer(() => {}), createSocketServer(() => {})] as const;
for (const server of [appServer, ...silentServers]) await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
const nameServer = createSocket('udp4');
await new Promise<void>((resolve) => nameServer.bind(0, '127.0.0.1', resolve));

const addressOf = (server: { address(): AddressInfo | string | null }): string => {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server is not listening');
  return `http://127.0.0.1:${address.port}`;
};
const ready: EndpointsReady = {
  app: addressOf(appServer),
  silent: [addressOf(silentServers[0]), addressOf(silentServers[1])],
  nameServer: `127.0.0.1:${nameServer.address().port}`,
};
process.send?.(ready);
process.once('disconnect', () => process.exit());
