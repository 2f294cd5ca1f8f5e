/** Calls to the origin of the workflow are signed, so an app that requires signatures can call itself. Other calls are not signed. */
import assert from 'node:assert/strict';
import { createServer, type IncomingHttpHeaders, type RequestListener } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import { type ServeOptions, serve as serveNative, verifySignature } from '@everstep/sdk';
import { toNodeHandler } from '@everstep/sdk/node';
import { startTestService } from '@everstep/sdk/testing';
import { Receiver } from '@upstash/qstash';
import { Client } from '@upstash/workflow';
import { createWorkflow, serveMany } from '@upstash/workflow/hono';
import { Hono } from 'hono';
import { thirdParty } from '../guides/example-servers.fixture.js';
import { resultOf, serveApp, startService } from './published-sdk.fixture.js';

const service = await startService();
const client = new Client({ baseUrl: process.env.QSTASH_URL ?? '', token: process.env.QSTASH_TOKEN ?? '' });
const receiver = new Receiver({
  currentSigningKey: process.env.QSTASH_CURRENT_SIGNING_KEY ?? '',
  nextSigningKey: process.env.QSTASH_NEXT_SIGNING_KEY ?? '',
});

test('a workflow of the published SDK can call another workflow of its app that requires signatures', async (t) => {
  const started: unknown[] = [];
  const child = createWorkflow(async (context) => context.run('note', () => started.push(context.requestPayload)));
  const parent = createWorkflow(async (context) => {
    const result = await context.call<{ workflowRunId: string }>('start', { workflow: child, body: { n: 1 }, retries: 0 });
    return { status: result.status, workflowRunId: result.body.workflowRunId };
  });
  const app = new Hono();
  app.post('/*', serveMany({ child, parent }));
  const server = await serveApp(t, (request) => app.fetch(request));
  const { workflowRunId } = await client.trigger({ url: `${server.origin}/parent`, retries: 0 });
  const called = (await resultOf(service, workflowRunId)) as { status: number; workflowRunId: string };
  assert.equal(called.status, 200);
  assert.equal(await resultOf(service, called.workflowRunId), 1);
  assert.deepEqual(started, [{ n: 1 }]);
});

test('the published receiver accepts a call to the workflow origin; a call to another origin has no signature', async (t) => {
  const verdicts: boolean[] = [];
  const other = await thirdParty(t, () => ({ status: 200, body: {} }));
  const app = new Hono();
  app.on(['GET', 'PUT'], '/check', async (context) => {
    const signature = context.req.header('upstash-signature') ?? '';
    const url = context.req.url;
    verdicts.push(await receiver.verify({ signature, body: await context.req.text(), url }).catch(() => false));
    return context.json({ region: context.req.header('upstash-region') });
  });
  const main = createWorkflow(async (context) => {
    const own = new URL('/check?x=1', context.url).href;
    const first = await context.call<{ region: string }>('read', { url: own });
    await context.call('write', {
      url: own,
      method: 'PUT',
      body: '{"text":"grüße"}',
      headers: { 'Upstash-Signature': 'forged' },
    });
    await context.call('other', { url: other.url, method: 'POST', body: 'x' });
    return first.body.region;
  });
  app.post('/*', serveMany({ main }));
  const server = await serveApp(t, (request) => app.fetch(request));
  const { workflowRunId } = await client.trigger({ url: `${server.origin}/main`, retries: 0 });
  assert.equal(await resultOf(service, workflowRunId), 'eu-central-1');
  assert.deepEqual(verdicts, [true, true]);
  assert.equal(other.requests.length, 1);
  assert.equal(other.requests[0]?.headers['upstash-signature'], undefined);
});

test('a call redirected to another origin has no signature there', async (t) => {
  const other = await thirdParty(t, () => ({ status: 200, body: {} }));
  const app = new Hono();
  app.get('/moved', (context) => context.redirect(other.url, 307));
  const main = createWorkflow(async (context) => {
    const { status } = await context.call('moved', { url: new URL('/moved', context.url).href, retries: 0 });
    return status;
  });
  app.post('/*', serveMany({ main }));
  const server = await serveApp(t, (request) => app.fetch(request));
  const { workflowRunId } = await client.trigger({ url: `${server.origin}/main`, retries: 0 });
  assert.equal(await resultOf(service, workflowRunId), 307);
  assert.deepEqual(other.requests, []);
});

/** Serves until the test ends, and returns the origin. */
async function listen(t: TestContext, listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server is not listening');
  return `http://127.0.0.1:${address.port}`;
}

test('our SDK accepts the signature of a call to the origin of the workflow', async (t) => {
  const own = await startTestService();
  t.after(() => own.stop());
  const received: IncomingHttpHeaders[] = [];
  const other = await thirdParty(t, () => ({ status: 200, body: {} }));
  const { current: currentSigningKey, next: nextSigningKey } = own.signingKeys;
  const options: ServeOptions<unknown> = { signingKeys: own.signingKeys };
  const workflow = serveNative<unknown, readonly number[]>(async (context) => {
    const url = new URL('/check', context.url).href;
    const { status } = await context.call('own', { url, method: 'POST', body: { n: 1 } });
    await context.call('other', { url: other.url, method: 'POST', body: { n: 1 } });
    return [status];
  }, options);
  const handler = toNodeHandler(workflow);
  const origin = await listen(t, async (request, response) => {
    if (request.url !== '/check') return void handler(request, response);
    received.push(request.headers);
    const signature = String(request.headers['svc-signature']);
    const body = await buffer(request);
    const url = `${origin}/check`;
    const { ok } = await verifySignature({ signature, body, currentSigningKey, nextSigningKey, url });
    response.writeHead(ok ? 204 : 401).end();
  });
  const { workflowRunId } = await own.triggerAndSettle(`${origin}/flow`);
  assert.deepEqual(await own.resultOf(workflowRunId), [204]);
  assert.equal(received.length, 1);
  assert.equal(other.requests[0]?.headers['svc-signature'], undefined);
});
