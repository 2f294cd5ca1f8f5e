/** The published SDK with other frameworks, rotated keys, several regions, and a server that is killed. */
import assert from 'node:assert/strict';
import { createServer, type RequestListener } from 'node:http';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import { Client } from '@upstash/workflow';
import { serve as serveExpress } from '@upstash/workflow/express';
import { serve as serveHono } from '@upstash/workflow/hono';
import { createWorkflow, serveMany as serveManyNext, serve as serveNext } from '@upstash/workflow/nextjs';
import { Hono } from 'hono';
import { ServerProcess } from '../service-process.fixture.js';
import { endOf, eventually, resultOf, serveApp, setAppEnvironment, startService } from './published-sdk.fixture.js';

/** The part of Express that is used here; Express has no types of its own. */
interface ExpressApp extends RequestListener {
  use(handler: unknown): void;
  use(path: string, handler: unknown): void;
  post(path: string, handler: (request: { readonly body: unknown }, response: { json(body: unknown): void }) => void): void;
}
const express: (() => ExpressApp) & { json(): unknown } = createRequire(import.meta.url)('express');

const service = await startService();
const clientOf = (of: ServerProcess): Client =>
  new Client({ baseUrl: of.env.get('QSTASH_URL') ?? '', token: of.env.get('QSTASH_TOKEN') ?? '' });
const client = clientOf(service);

test('works with Express, even when the journal is fetched', async (t) => {
  const app = express();
  app.use(express.json());
  app.use(
    '/order',
    serveExpress<{ text: string }>(async (context) => {
      const length = await context.run('length', () => context.requestPayload.text.length);
      const [twice] = await Promise.all([context.run('twice', () => length * 2), context.sleep('nap', 0.05)]);
      const { body } = await context.call<{ got: unknown }>('call', { url: `${origin}/third`, method: 'POST', body: '{"n":1}' });
      return { length, twice, body };
    }),
  );
  app.post('/third', (request, response) => {
    response.json({ got: request.body });
  });
  const server = createServer(app);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  assert.ok(address !== null && typeof address === 'object');
  const origin = `http://127.0.0.1:${address.port}`;
  for (const length of [10, 90_000]) {
    const { workflowRunId } = await client.trigger({ url: `${origin}/order`, body: { text: 'ö'.repeat(length) } });
    assert.deepEqual(await resultOf(service, workflowRunId), { length, twice: length * 2, body: { got: { n: 1 } } });
  }
});

test('works as Next.js routes with one workflow or several', async (t) => {
  const one = serveNext<string>(async (context) => context.run('one', () => `one ${context.requestPayload}`));
  const child = createWorkflow(async (context) => context.run('child', () => `child of ${String(context.requestPayload)}`));
  const parent = createWorkflow(async (context) => {
    const { body } = await context.invoke('child', { workflow: child, body: 'parent' });
    return body;
  });
  const many = serveManyNext({ parent, child });
  const server = await serveApp(t, (request) => (request.url.endsWith('/one') ? one.POST(request) : many.POST(request)));
  const first = await client.trigger({ url: `${server.origin}/api/one`, body: 'way' });
  assert.equal(await resultOf(service, first.workflowRunId), 'one way');
  const second = await client.trigger({ url: `${server.origin}/api/flows/parent` });
  assert.equal(await resultOf(service, second.workflowRunId), 'child of parent');
});

test('an unsigned request is refused, and keys can be rotated while an app is running', async (t) => {
  const app = new Hono();
  app.post(
    '/signed',
    serveHono(async (context) => context.run('signed', () => 'yes')),
  );
  const server = await serveApp(t, (request) => app.fetch(request));
  const forged = await fetch(`${server.origin}/signed`, {
    method: 'POST',
    headers: { 'upstash-workflow-sdk-version': '1', 'upstash-workflow-runid': 'wfr_forged', 'upstash-signature': 'a.b.c' },
    body: '[]',
  });
  assert.equal(forged.status, 500);
  assert.match(await forged.text(), /Failed to verify/);
  const run = async () => {
    const { workflowRunId } = await client.trigger({ url: `${server.origin}/signed`, retries: 0 });
    return endOf(service, workflowRunId);
  };
  assert.equal((await run()).result, 'yes');
  // The app has the next key, so it continues after one rotation. It would not after a second one.
  for (const workflowState of ['RUN_SUCCESS', 'RUN_FAILED']) {
    assert.equal((await service.request('POST', '/v2/keys/rotate')).status, 200);
    assert.equal((await run()).workflowState, workflowState);
  }
  await service.ready();
  setAppEnvironment(service);
  assert.equal((await run()).result, 'yes', 'with the new keys');
});

test('an app with several regions uses the client and keys of each region', async (t) => {
  const names = ['QSTASH_URL', 'QSTASH_TOKEN', 'QSTASH_CURRENT_SIGNING_KEY', 'QSTASH_NEXT_SIGNING_KEY'];
  const env: Record<string, string> = { QSTASH_REGION: 'US_EAST_1' };
  for (const name of names) {
    env[`EU_CENTRAL_1_${name}`] = service.env.get(name) ?? '';
    // The default region is elsewhere, with keys that this server does not have.
    env[`US_EAST_1_${name}`] = name === 'QSTASH_URL' ? 'http://127.0.0.1:9' : `other-${name}`;
  }
  const app = new Hono();
  app.post(
    '/regional',
    serveHono(async (context) => context.run('where', () => 'here'), { env }),
  );
  const server = await serveApp(t, (request) => app.fetch(request));
  const { workflowRunId } = await client.trigger({ url: `${server.origin}/regional`, retries: 0 });
  assert.equal(await resultOf(service, workflowRunId), 'here');
});

test('runs finish with each step recorded once although the server is killed', async (t) => {
  const fragile = await ServerProcess.create();
  t.after(() => fragile.dispose());
  await fragile.start();
  const port = new URL(fragile.env.get('QSTASH_URL') ?? '').port;
  const env = () => ({
    QSTASH_URL: fragile.env.get('QSTASH_URL') ?? '',
    QSTASH_TOKEN: fragile.env.get('QSTASH_TOKEN') ?? '',
    QSTASH_CURRENT_SIGNING_KEY: fragile.env.get('QSTASH_CURRENT_SIGNING_KEY') ?? '',
    QSTASH_NEXT_SIGNING_KEY: fragile.env.get('QSTASH_NEXT_SIGNING_KEY') ?? '',
  });
  let executions = 0;
  const app = new Hono();
  app.post('/third', (context) => context.json({ ok: true }));
  /** Created for each request, because the token is known only when the server is running. */
  const order = () =>
    serveHono<number>(
      async (workflow) => {
        const first = await workflow.run('first', () => ++executions);
        await workflow.sleep('nap', 0.2);
        const sides = await Promise.all([
          workflow.run('left', () => ++executions),
          workflow.call('call', { url: `${server.origin}/third`, method: 'POST' }),
          workflow.run('right', () => ++executions),
          workflow.sleep('side nap', 0.1),
        ]);
        const last = await workflow.run('last', () => ++executions);
        return { order: workflow.requestPayload, first, left: sides[0], called: sides[1].status, right: sides[2], last };
      },
      { env: env() },
    );
  app.post('/order', (context) => order()(context as never));
  const server = await serveApp(t, (request) => app.fetch(request));
  const runs: string[] = [];
  for (let life = 0; life < 4; life++) {
    const triggered = await clientOf(fragile).trigger(
      Array.from({ length: 5 }, (_, at) => ({
        url: `${server.origin}/order`,
        body: life * 5 + at,
        retryDelay: '100',
        retries: 20,
      })),
    );
    runs.push(...triggered.map(({ workflowRunId }) => workflowRunId));
    // The server is killed later in the runs of each process.
    const before = executions;
    await eventually(() => executions >= before + 1 + 4 * life);
    await fragile.end('SIGKILL');
    await fragile.start({ port });
  }
  const results = (await Promise.all(runs.map((workflowRunId) => resultOf(fragile, workflowRunId)))) as Record<string, number>[];
  assert.deepEqual(
    results.map(({ order }) => order).sort((a, b) => Number(a) - Number(b)),
    Array.from({ length: 20 }, (_, at) => at),
  );
  // A run saw the recorded results, and no execution was recorded for two runs.
  const seen = results.flatMap(({ first, left, right, last }) => [first, left, right, last]);
  assert.equal(new Set(seen).size, 80);
  assert.ok(results.every(({ called }) => called === 200));
});
