/** Every step type of the unmodified `@upstash/workflow`. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Client } from '@upstash/workflow';
import { createWorkflow, serve, serveMany } from '@upstash/workflow/hono';
import { Hono } from 'hono';
import { eventually, journalOf, resultOf, sdkRequests, serveApp, startService } from './published-sdk.fixture.js';

const service = await startService();
const client = new Client({ baseUrl: process.env.QSTASH_URL ?? '', token: process.env.QSTASH_TOKEN ?? '' });

test('sequential steps take at most two requests each', async (t) => {
  const app = new Hono();
  let executions = 0;
  app.post(
    '/order',
    serve<{ item: string }>(async (context) => {
      const first = await context.run('first', () => {
        executions++;
        return `${context.requestPayload.item}!`;
      });
      const second = await context.run('second', async () => {
        executions++;
        return { first, text: 'grüße €' };
      });
      const third = await context.run('third', () => {
        executions++;
      });
      await context.run('fourth', () => executions++);
      return { second, third: third ?? 'nothing', user: context.headers.get('x-user'), label: context.label };
    }),
  );
  const server = await serveApp(t, (request) => app.fetch(request));
  sdkRequests.length = 0;
  const { workflowRunId } = await client.trigger({
    url: `${server.origin}/order`,
    body: { item: 'tea' },
    headers: { 'x-user': 'ada' },
    label: ['shop', 'eu'],
    workflowRunId: 'order-1',
  });
  assert.equal(workflowRunId, 'wfr_order-1');
  assert.deepEqual(await resultOf(service, workflowRunId), {
    second: { first: 'tea!', text: 'grüße €' },
    third: 'nothing',
    user: 'ada',
    label: 'shop',
  });
  assert.equal(executions, 4);
  assert.equal(server.received.length, 5, 'one delivery per step and one for the end');
  assert.equal(sdkRequests.length, 6, 'one submission per step, one for the end, and the trigger');
});

test('sleeps for a duration, until a time, and for no time', async (t) => {
  const app = new Hono();
  app.post(
    '/sleepy',
    serve(async (context) => {
      const before = await context.run('before', () => Date.now());
      await context.sleep('half a second', 0.3);
      await context.sleep('in words', '1s');
      await context.sleepUntil('a date', new Date(before + 2_000));
      await context.sleepUntil('the past', new Date(0));
      return context.run('after', () => Date.now() - before);
    }),
  );
  const server = await serveApp(t, (request) => app.fetch(request));
  const { workflowRunId } = await client.trigger({ url: `${server.origin}/sleepy` });
  const tookMs = Number(await resultOf(service, workflowRunId));
  assert.ok(tookMs >= 1_300 && tookMs < 6_000, `it slept ${tookMs} ms`);
});

test('all step types run in parallel, and the code continues when all are done', async (t) => {
  const app = new Hono();
  const child = createWorkflow(async (context) => context.run('child', () => `child of ${String(context.requestPayload)}`));
  const parent = createWorkflow(async (context) => {
    const head = await context.run('head', () => 'head');
    const all = await Promise.all([
      context.run('a', () => `${head}-a`),
      context.sleep('nap', 0.2),
      context.run('b', async () => ({ b: true })),
      context.call('call', { url: `${server.origin}/third`, method: 'POST', body: '{"n":1}' }),
      context.waitForEvent('wait', `event-${context.workflowRunId}`, { timeout: '30s' }),
      context.invoke('invoke', { workflow: child, body: 'parent' }),
      context.notify('notify', 'no-waiters', { x: 1 }),
      context.createWebhook('webhook'),
      context.sleepUntil('until', new Date(Date.now() + 100)),
    ]);
    const pair = await Promise.all([context.run('c', () => 1), context.run('d', () => 2)]);
    const tail = await context.run('tail', () => 'tail');
    return { all, pair, tail };
  });
  app.post('/many/*', serveMany({ parent, child }));
  app.post('/third', async (context) => context.json({ got: await context.req.json() }));
  const server = await serveApp(t, (request) => app.fetch(request));
  const { workflowRunId } = await client.trigger({ url: `${server.origin}/many/parent` });
  await eventually(async () => {
    const waiters = await client.getWaiters({ eventId: `event-${workflowRunId}` });
    return waiters.length > 0;
  });
  await client.notify({ eventId: `event-${workflowRunId}`, eventData: { paid: true } });
  const { all, pair, tail } = (await resultOf(service, workflowRunId)) as { all: unknown[]; pair: unknown; tail: unknown };
  const [a, nap, b, call, wait, invoke, notify, webhook, until] = all;
  assert.equal(a, 'head-a');
  assert.equal(nap ?? null, null);
  assert.deepEqual(b, { b: true });
  assert.deepEqual((call as { body: unknown }).body, { got: { n: 1 } });
  assert.deepEqual(wait, { eventData: { paid: true }, timeout: false });
  const { body, isFailed, isCanceled } = invoke as Record<string, unknown>;
  assert.deepEqual({ body, isFailed, isCanceled }, { body: 'child of parent', isFailed: false, isCanceled: false });
  assert.deepEqual((notify as { notifyResponse: unknown }).notifyResponse, []);
  assert.match(String((webhook as { webhookUrl: string }).webhookUrl), /\/v2\/workflows\/hooks\//);
  assert.equal(until ?? null, null);
  assert.deepEqual(pair, [1, 2]);
  assert.equal(tail, 'tail');
  const { steps } = await journalOf(service, workflowRunId);
  assert.deepEqual(
    steps.map(({ stepId }) => stepId).sort((x, y) => x - y),
    Array.from({ length: 13 }, (_, at) => at + 1),
  );
});

test('calls: success, error, Unicode, binary data, a large body, no listener, and retries', async (t) => {
  const app = new Hono();
  const large = 'ß'.repeat(150_000);
  let tries = 0;
  app.post('/echo', async (context) => {
    context.header('x-seen', context.req.header('x-mine') ?? '');
    return context.json({ text: await context.req.text(), type: context.req.header('content-type') ?? null });
  });
  app.get('/teapot', (context) => context.text('nö', 418));
  app.get('/binary', (context) => context.body(new Uint8Array([0, 255, 128, 65]), 200, { 'content-type': 'image/png' }));
  app.get('/large', (context) => context.json({ large }));
  app.get('/flaky', (context) => (++tries < 3 ? context.text('not yet', 503) : context.json({ tries })));
  app.post(
    '/caller',
    serve(async (context) => {
      const ok = await context.call<{ text: string; type: string }>('ok', {
        url: `${server.origin}/echo`,
        method: 'POST',
        body: JSON.stringify({ wörd: '€' }),
        headers: { 'x-mine': 'me' },
      });
      const error = await context.call<string>('error', { url: `${server.origin}/teapot`, method: 'GET' });
      const binary = await context.call<string>('binary', { url: `${server.origin}/binary` });
      const big = await context.call<{ large: string }>('big', { url: `${server.origin}/large` });
      const text = await context.call<{ text: string; type: string }>('text', {
        url: `${server.origin}/echo`,
        method: 'POST',
        body: 'plain',
        headers: { 'content-type': 'text/plain' },
      });
      const unreachable = await context.call<string>('unreachable', { url: 'http://127.0.0.1:9/', method: 'GET' });
      const flaky = await context.call<{ tries: number }>('flaky', {
        url: `${server.origin}/flaky`,
        retries: 3,
        retryDelay: '10',
      });
      return {
        ok: { status: ok.status, body: ok.body, seen: ok.header['X-Seen'] },
        error: { status: error.status, body: error.body },
        binary: { status: binary.status, bytes: [...binary.body].map((character) => character.charCodeAt(0)) },
        big: big.body.large.length,
        text: text.body,
        unreachable: unreachable.status,
        flaky: flaky.body,
      };
    }),
  );
  const server = await serveApp(t, (request) => app.fetch(request));
  const { workflowRunId } = await client.trigger({ url: `${server.origin}/caller` });
  assert.deepEqual(await resultOf(service, workflowRunId), {
    ok: { status: 200, body: { text: '{"wörd":"€"}', type: 'application/json' }, seen: ['me'] },
    error: { status: 418, body: 'nö' },
    binary: { status: 200, bytes: [0, 255, 128, 65] },
    big: 150_000,
    text: { text: 'plain', type: 'text/plain' },
    unreachable: 0,
    flaky: { tries: 3 },
  });
});

test('an invoked workflow returns how it ended', async (t) => {
  const app = new Hono();
  const good = createWorkflow<{ n: number }, { doubled: number; depth: string | null }>(async (context) => {
    const doubled = await context.run('double', () => context.requestPayload.n * 2);
    return { doubled, depth: context.headers.get('x-depth') };
  });
  const bad = createWorkflow(async (context) => {
    await context.run('fail', () => {
      throw new Error('out of stock');
    });
  });
  const gone = createWorkflow(async (context) => {
    await context.run('begin', () => 1);
    await context.cancel();
  });
  const parent = createWorkflow(async (context) => {
    const first = await context.invoke('good', { workflow: good, body: { n: 21 }, headers: { 'x-depth': '1' }, label: 'child' });
    const second = await context.invoke('bad', { workflow: bad, body: {}, retries: 0 });
    const third = await context.invoke('gone', { workflow: gone, body: {} });
    return [first, second, third].map(({ body, isFailed, isCanceled }) => ({ body, isFailed, isCanceled }));
  });
  app.post('/flows/*', serveMany({ parent, good, bad, gone }));
  const server = await serveApp(t, (request) => app.fetch(request));
  const { workflowRunId } = await client.trigger({ url: `${server.origin}/flows/parent` });
  const [first, second, third] = (await resultOf(service, workflowRunId)) as Record<string, unknown>[];
  assert.deepEqual(first, { body: { doubled: 42, depth: '1' }, isFailed: false, isCanceled: false });
  assert.deepEqual([second?.isFailed, second?.isCanceled], [true, false]);
  assert.match(String(second?.body), /out of stock/);
  assert.deepEqual([third?.isFailed, third?.isCanceled], [false, true]);
});

test('an event times out, arrives before its wait, and is sent by a step', async (t) => {
  const app = new Hono();
  app.post(
    '/waiter',
    serve<{ event: string }>(async (context) => {
      const { event } = context.requestPayload;
      const late = await context.waitForEvent('late', 'never', { timeout: '1s' });
      const notified = await context.waitForEvent('notified', event, { timeout: 20 });
      const early = await context.waitForEvent<string>('early', `${event}-early`, { timeout: '20s' });
      return { late, notified, early };
    }),
  );
  app.post(
    '/notifier',
    serve<{ event: string }>(async (context) => {
      const { event } = context.requestPayload;
      const { notifyResponse, eventData } = await context.notify('tell', event, { ok: 'jä' });
      return { notified: notifyResponse.length, eventData };
    }),
  );
  const server = await serveApp(t, (request) => app.fetch(request));
  const event = 'order paid/€';
  const { workflowRunId } = await client.trigger({ url: `${server.origin}/waiter`, body: { event: encodeURIComponent(event) } });
  await client.notify({ eventId: `${encodeURIComponent(event)}-early`, eventData: 'before', workflowRunId });
  await eventually(async () => (await client.getWaiters({ eventId: encodeURIComponent(event) })).length > 0);
  const notifier = await client.trigger({ url: `${server.origin}/notifier`, body: { event: encodeURIComponent(event) } });
  assert.deepEqual(await resultOf(service, notifier.workflowRunId), { notified: 1, eventData: { ok: 'jä' } });
  assert.deepEqual(await resultOf(service, workflowRunId), {
    late: { timeout: true },
    notified: { eventData: { ok: 'jä' }, timeout: false },
    early: { eventData: 'before', timeout: false },
  });
});

test('a webhook accepts any request, once before its wait and once after', async (t) => {
  const app = new Hono();
  const urls: string[] = [];
  app.post(
    '/hooked',
    serve(async (context) => {
      const webhook = await context.createWebhook('make');
      await context.run('publish', () => urls.push(webhook.webhookUrl));
      await context.waitForEvent('go', `go-${context.workflowRunId}`, { timeout: '20s' });
      const first = await context.waitForWebhook('first', webhook, '20s');
      const second = await context.waitForWebhook('second', webhook, '20s');
      const third = await context.waitForWebhook('third', webhook, '1s');
      const seen = [first, second].map(async ({ request, timeout }) => ({
        timeout,
        method: request?.method,
        query: new URL(request?.url ?? '').search,
        host: new URL(request?.url ?? '').host,
        own: request?.headers.get('x-own'),
        body: await request?.text(),
      }));
      return { seen: await Promise.all(seen), third: third.timeout };
    }),
  );
  const server = await serveApp(t, (request) => app.fetch(request));
  const { workflowRunId } = await client.trigger({ url: `${server.origin}/hooked` });
  const [url = ''] = await eventually(() => urls.length > 0 && urls);
  const early = await fetch(`${url}?from=early`, { method: 'PUT', headers: { 'x-own': '1' }, body: 'größe' });
  assert.equal(early.status, 200);
  await eventually(async () => (await client.getWaiters({ eventId: `go-${workflowRunId}` })).length > 0);
  await client.notify({ eventId: `go-${workflowRunId}` });
  await eventually(async () => (await journalOf(service, workflowRunId)).steps.some(({ stepName }) => stepName === 'first'));
  assert.equal((await fetch(`${url}?x=2`)).status, 200);
  const host = new URL(process.env.QSTASH_URL ?? '').host;
  assert.deepEqual(await resultOf(service, workflowRunId), {
    seen: [
      { timeout: false, method: 'PUT', query: '?from=early', host, own: '1', body: 'größe' },
      { timeout: false, method: 'GET', query: '?x=2', host, own: null, body: '' },
    ],
    third: true,
  });
  assert.equal((await fetch(url, { method: 'POST' })).status, 404, 'its run has ended');
  const guessed = url.replace(/[^/]+$/, 'never');
  assert.equal((await fetch(guessed, { method: 'POST' })).status, 404);
});

test('a long journal is fetched instead of sent', async (t) => {
  const app = new Hono();
  const payload = { text: 'ü'.repeat(200_000) };
  app.post(
    '/large',
    serve<typeof payload>(async (context) => {
      const first = await context.run('first', () => context.requestPayload.text.length);
      const [left, right, none] = await Promise.all([
        context.run('left', () => 'l'.repeat(90_000)),
        context.run('right', () => 'ß'.repeat(90_000)),
        context.sleep('nap', 0.05),
      ]);
      const last = await context.run('last', () => left.length + right.length);
      return { first, last, none: none ?? null };
    }),
  );
  const server = await serveApp(t, (request) => app.fetch(request));
  sdkRequests.length = 0;
  const { workflowRunId } = await client.trigger({ url: `${server.origin}/large`, body: payload });
  assert.deepEqual(await resultOf(service, workflowRunId), { first: 200_000, last: 180_000, none: null });
  assert.ok(sdkRequests.includes(`GET /v2/workflows/runs/${workflowRunId}`), 'the journal was fetched');
});

test('runs are started in batches, with an id, with a delay or at a time', async (t) => {
  const app = new Hono();
  app.post(
    '/n',
    serve<number>(async (context) => context.run('n', () => context.requestPayload)),
  );
  const server = await serveApp(t, (request) => app.fetch(request));
  const url = `${server.origin}/n`;
  const runs = await client.trigger([1, 2, 3].map((body) => ({ url, body })));
  assert.deepEqual(await Promise.all(runs.map(({ workflowRunId }) => resultOf(service, workflowRunId))), [1, 2, 3]);

  const at = Math.ceil(Date.now() / 1000) + 1;
  const startedAt = Date.now();
  const once = { url, body: 7, workflowRunId: 'only-one', delay: '1s' as const };
  const [first, second] = [await client.trigger(once), await client.trigger({ ...once, body: 8 })];
  assert.equal(first.workflowRunId, second.workflowRunId);
  const timed = await client.trigger({ url, body: 9, notBefore: at });
  assert.equal(await resultOf(service, first.workflowRunId), 7);
  assert.ok(Date.now() - startedAt >= 1_000, 'it waited');
  assert.equal(await resultOf(service, timed.workflowRunId), 9);
  assert.ok(Date.now() >= at * 1000, 'it waited');
});

test('a flow control key with parallelism 1 sends one delivery at a time', async (t) => {
  const app = new Hono();
  const count = 5;
  let [inside, max, entered] = [0, 0, 0];
  const keyStatus = async () => {
    const { body } = await service.request('GET', '/v2/flowControl/narrow');
    return body as { readonly waitListSize: number; readonly parallelismMax?: number };
  };
  app.post(
    '/narrow',
    serve(async (context) => {
      await context.run('inside', async () => {
        max = Math.max(max, ++inside);
        const others = count - ++entered;
        await eventually(async () => (await keyStatus()).waitListSize >= others);
        inside--;
      });
    }),
  );
  const server = await serveApp(t, (request) => app.fetch(request));
  const flowControl = { key: 'narrow', parallelism: 1, rate: 100, period: '1s' as const };
  const runs = await client.trigger(Array.from({ length: count }, () => ({ url: `${server.origin}/narrow`, flowControl })));
  await Promise.all(runs.map(({ workflowRunId }) => resultOf(service, workflowRunId)));
  assert.equal(max, 1);
  assert.equal((await keyStatus()).parallelismMax, 1);
});

test('an event id with slashes can be waited for, listed and notified: for all runs, for one run, and by a step', async (t) => {
  const app = new Hono();
  app.post(
    '/slashes',
    serve<{ id: string }>(async (context) => {
      const { eventData, timeout } = await context.waitForEvent('paid', `order/${context.requestPayload.id}`, { timeout: '1h' });
      return { eventData, timeout };
    }),
  );
  app.post(
    '/notifies',
    serve(async (context) => {
      const { notifyResponse } = await context.notify('tell', 'order/44/paid', 'from a step');
      return notifyResponse.length;
    }),
  );
  const server = await serveApp(t, (request) => app.fetch(request));
  const start = async (id: string) => (await client.trigger({ url: `${server.origin}/slashes`, body: { id } })).workflowRunId;
  const [all, one, deep] = [await start('42'), await start('43'), await start('44/paid')];
  const waits = (eventId: string) => eventually(async () => (await client.getWaiters({ eventId })).length === 1);
  for (const id of ['order/42', 'order/43', 'order/44/paid']) await waits(id);
  assert.equal((await client.notify({ eventId: 'order/42', eventData: 'of all' })).length, 1);
  assert.equal((await client.notify({ eventId: 'order/43', eventData: 'of one', workflowRunId: one })).length, 1);
  const { workflowRunId: notifies } = await client.trigger({ url: `${server.origin}/notifies` });
  assert.equal(await resultOf(service, notifies), 1);
  assert.deepEqual(await resultOf(service, all), { eventData: 'of all', timeout: false });
  assert.deepEqual(await resultOf(service, one), { eventData: 'of one', timeout: false });
  assert.deepEqual(await resultOf(service, deep), { eventData: 'from a step', timeout: false });
  await assert.rejects(client.notify({ eventId: 'order/42', workflowRunId: 'wfr_none' }), { status: 404 });
  assert.deepEqual(await client.notify({ eventId: 'no/waiters' }), []);
});
