/** The receiver of a plain message cannot forward it to a workflow endpoint as a signed request. */
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { after, beforeEach, type TestContext, test } from 'node:test';
import { createEndpoint, type ServeOptions } from '@everstep/sdk';
import { toNodeHandler } from '@everstep/sdk/node';
import { startTestService } from '@everstep/sdk/testing';
import { Client as MessageClient, Receiver } from '@upstash/qstash';
import { Client } from '@upstash/workflow';
import { serve } from '@upstash/workflow/hono';
import { Hono } from 'hono';
import { carryToken } from '../../dialects/upstash/index.js';
import { Endpoints, only } from './published-messages.fixture.js';
import { serveApp } from './published-sdk.fixture.js';

const service = await startTestService();
after(() => service.stop());
/** Endpoints of a third party that receives messages. */
const customers = new Endpoints();
await customers.listen();
after(() => customers.close());

const connection = {
  baseUrl: service.url,
  token: carryToken({ instanceId: 'anybody', token: service.token }),
  retry: false,
} as const;
const messages = new MessageClient(connection);
const workflows = new Client(connection);
const receiver = new Receiver({ currentSigningKey: service.signingKeys.current, nextSigningKey: service.signingKeys.next });

/** An app with a workflow and a receiver of messages, which share the signing keys. */
const refunds: string[] = [];
const app = new Hono();
const refund = (by: Receiver) =>
  serve<{ to: string }>(
    async (context) => {
      const { to } = context.requestPayload;
      await context.run('refund', () => refunds.push(to));
    },
    { receiver: by, qstashClient: messages },
  );
app.post('/refund', refund(receiver));

/** A receiver that also compares the URL, as docs/guides/signing-keys.md shows. */
class ReceiverAt extends Receiver {
  override verify(request: Parameters<Receiver['verify']>[0]): Promise<boolean> {
    return super.verify({ ...request, url: `${origin}/guarded` });
  }
}
app.post(
  '/guarded',
  refund(new ReceiverAt({ currentSigningKey: service.signingKeys.current, nextSigningKey: service.signingKeys.next })),
);
/** Functions that receive the responses of the receiver. */
const answered: ((response: Response) => void)[] = [];
app.post('/receive', async ({ req }) => {
  const signature = req.header('upstash-signature') ?? '';
  const isGood = await receiver.verify({ signature, body: await req.text(), url: req.url }).catch(() => false);
  const response = new Response(null, { status: isGood ? 204 : 401 });
  for (const resolve of answered.splice(0)) resolve(response);
  return response;
});
// All ports are on one host here, so they would count as origins of the owner.
await service.client.signatures.update({ origins: [] });
const { origin } = await serveApp({ after }, (request) => app.fetch(request));

// The server knows the workflow, because it has run once.
await workflows.trigger({ url: `${origin}/refund`, body: { to: 'customer' } });
await service.settle();
assert.deepEqual(refunds, ['customer']);
beforeEach(() => {
  refunds.length = 0;
  customers.deliveries.length = 0;
});

/** Publishes the body to a customer and forwards what the customer received to the workflow. */
async function replay(body: string, headers: Readonly<Record<string, string>>, to = `${origin}/refund`): Promise<Response> {
  await messages.publish({ url: customers.url('/hook'), body, retries: 0 });
  await service.settle();
  const received = only(customers.at('/hook'));
  const signature = String(received.headers['upstash-signature']);
  const method = 'POST';
  const response = await fetch(to, {
    method,
    headers: { ...headers, 'upstash-signature': signature },
    body: received.body,
  });
  await service.settle();
  return response;
}

const payload = JSON.stringify({ to: 'attacker' });

test('a message forwarded as a step of a run is refused, and no step is executed', async () => {
  const steps = [{ messageId: 'msg_forged', body: Buffer.from(payload).toString('base64'), callType: 'step' }];
  const response = await replay(JSON.stringify(steps), {
    'upstash-workflow-sdk-version': '1',
    'upstash-workflow-runid': 'wfr_forged',
  });
  assert.equal(response.status, 500);
  assert.match(await response.text(), /Failed to verify/);
  assert.deepEqual(refunds, []);
});

test('a message forwarded as the start of a run is refused, and no run starts', async () => {
  const response = await replay(payload, {});
  assert.equal(response.status, 500);
  assert.match(await response.text(), /Failed to verify/);
  assert.deepEqual(refunds, []);
});

/** Returns whether the published receiver of another app verifies a message with these keys and URL. */
async function isVerifiedElsewhere(keys: { readonly current: string; readonly next: string }): Promise<boolean> {
  const url = customers.url('/receive');
  await messages.publish({ url, body: 'hello', retries: 0 });
  await service.settle();
  const { headers, body } = only(customers.at('/receive'));
  customers.deliveries.length = 0;
  const elsewhere = new Receiver({ currentSigningKey: keys.current, nextSigningKey: keys.next });
  return elsewhere.verify({ signature: String(headers['upstash-signature']), body, url }).catch(() => false);
}

test('the published receiver verifies a message to the origin of a workflow', async () => {
  const received = new Promise<Response>((resolve) => answered.push(resolve));
  await messages.publish({ url: `${origin}/receive`, body: 'hello', retries: 0 });
  assert.equal((await received).status, 204);
});

test('a message to another app is verified with the message keys, or after its origin is set', async () => {
  const { messageKeys } = await service.client.signatures.get();
  assert.equal(await isVerifiedElsewhere(messageKeys), true);
  assert.equal(await isVerifiedElsewhere(service.signingKeys), false);
  await service.client.signatures.update({ origins: [new URL(customers.url('/')).origin] });
  assert.equal(await isVerifiedElsewhere(service.signingKeys), true);
  await service.client.signatures.update({ origins: ['*'] });
  assert.equal(await isVerifiedElsewhere(service.signingKeys), true);
  await service.client.signatures.update({ origins: [] });
  assert.equal(await isVerifiedElsewhere(service.signingKeys), false);
});

test('a message refused by another app fails with instructions', async () => {
  const url = customers.when('/strict', () => ({ status: 401, body: 'invalid signature' }));
  await messages.publish({ url, body: 'hello', retries: 0 });
  await service.settle();
  const { logs } = await messages.logs({ filter: { url, state: 'FAILED' } });
  assert.match(only(logs).error ?? '', /returned 401 .*signed with the message key.*everstep keys origins/);
});

test('a receiver that compares the URL refuses a message to another URL, even if all origins get the signing keys', async (t) => {
  await service.client.signatures.update({ origins: ['*'] });
  t.after(() => service.client.signatures.update({ origins: null }));
  const url = `${origin}/guarded`;
  const response = await replay(payload, {}, url);
  assert.equal(response.status, 500);
  assert.match(await response.text(), /Failed to verify.*invalid subject/);
  const { workflowRunId } = await workflows.trigger({ url, body: { to: 'customer' } });
  await service.settle();
  assert.equal(await service.stateOf(workflowRunId), 'RUN_SUCCESS');
  assert.deepEqual(refunds, ['customer']);
});

test('an endpoint of the published SDK works with Ed25519 signatures turned on', async (t) => {
  await service.client.signatures.update({ ed25519: true });
  t.after(() => service.client.signatures.update({ ed25519: false }));
  await workflows.trigger({ url: `${origin}/refund`, body: { to: 'customer' } });
  await service.settle();
  assert.deepEqual(refunds, ['customer']);
});

interface Captured {
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly body: string;
}

/** An app of our SDK with two workflows, and the requests it received. */
async function startApp(t: TestContext, options: ServeOptions<unknown>) {
  const captured: Captured[] = [];
  const done: string[] = [];
  const failures: string[] = [];
  const workflow = (name: string) =>
    toNodeHandler(
      createEndpoint((context) => context.run('work', () => done.push(name)), {
        failureFunction: ({ dlqId }) => failures.push(dlqId),
        ...options,
      }),
    );
  const handlers = new Map(['/a', '/b'].map((path) => [path, workflow(path)]));
  const server = createServer(async (request, response) => {
    const path = request.url ?? '';
    const body = await text(request);
    const headers = Object.fromEntries(Object.entries(request.headers).filter(([name]) => /^svc-|^content-type$/.test(name)));
    captured.push({ path, headers: headers as Record<string, string>, body });
    const handler = handlers.get(path);
    if (handler) await handler(Object.assign(request, { rawBody: body }), response);
    else response.writeHead(404).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = (path: string) => `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`;
  const send = async ({ headers, body }: Captured, path: string) => {
    const response = await fetch(url(path), { method: 'POST', headers, body });
    return { status: response.status, text: await response.text() };
  };
  return { captured, done, failures, url, send };
}

test('our SDK refuses a step of another workflow, a replayed step, and a failure callback of another app', async (t) => {
  const native = await startApp(t, { signingKeys: service.signingKeys });
  await service.triggerAndSettle(native.url('/a'));
  const step = native.captured.at(-1);
  assert.ok(step);
  assert.deepEqual(native.done, ['/a']);
  assert.match((await native.send(step, '/b')).text, /for the path .*\/a.*was sent to .*\/b/);
  const again = await native.send(step, '/a');
  assert.deepEqual([again.status, native.done], [401, ['/a']]);
  assert.match(again.text, /used before/);

  // A failure callback to another app with the same path as the workflow, while all origins get the signing keys.
  await service.client.signatures.update({ origins: ['*'] });
  t.after(() => service.client.signatures.update({ origins: null }));
  await service.triggerAndSettle(native.url('/fails'), { retries: 0, failureCallback: customers.url('/a') });
  const { headers, body } = only(customers.at('/a'));
  const signed = { 'content-type': 'application/json', 'svc-signature': String(headers['svc-signature']) };
  const asFailure = { path: '/a', body, headers: { ...signed, 'svc-workflow-failure-function': 'true' } };
  const asStep = { path: '/a', body, headers: { ...signed, 'svc-workflow-protocol': '1' } };
  for (const sentOn of [asFailure, asStep]) {
    const refused = await native.send(sentOn, '/a');
    assert.equal(refused.status, 401);
    assert.match(refused.text, /the kind \\"failure-callback\\", not for/);
  }
  assert.deepEqual([native.done, native.failures], [['/a'], []]);
});

test('an endpoint with only the URL of the public keys runs workflows, even after a rotation', async (t) => {
  const { ed25519 } = await service.client.signatures.update({ ed25519: true });
  t.after(() => service.client.signatures.update({ ed25519: false }));
  assert.ok(ed25519);
  const native = await startApp(t, { jwksUrl: ed25519.jwksUrl });
  await service.triggerAndSettle(native.url('/a'));
  await service.client.signatures.rotate();
  const { workflowRunId } = await service.triggerAndSettle(native.url('/b'));
  assert.equal(await service.stateOf(workflowRunId), 'RUN_SUCCESS');
  assert.deepEqual(native.done, ['/a', '/b']);
  const { 'svc-signature-ed25519': _, ...headers } = native.captured.at(-1)?.headers ?? {};
  assert.equal((await native.send({ path: '/b', body: native.captured.at(-1)?.body ?? '', headers }, '/b')).status, 401);
});
