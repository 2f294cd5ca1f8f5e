/** Management calls of the unmodified `Client` of `@upstash/workflow`. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { Client } from '@upstash/workflow';
import { serve } from '@upstash/workflow/hono';
import { Hono } from 'hono';
import { endOf, eventually, resultOf, serveApp, startService } from './published-sdk.fixture.js';

const service = await startService();
const client = new Client({ baseUrl: process.env.QSTASH_URL ?? '', token: process.env.QSTASH_TOKEN ?? '' });

/** An app whose workflow waits for an event, and fails permanently if its payload requests it. */
const app = new Hono();
app.post(
  '/wait/:name?',
  serve(async (context) => {
    const first = await context.run('first', () => ({ seen: context.requestPayload }));
    const { eventData, timeout } = await context.waitForEvent('paid', 'paid', { timeout: '1h' });
    return { first, eventData, timeout };
  }),
);
let healed = false;
const tried: string[] = [];
let calls = 0;
app.post(
  '/fail',
  serve(
    async (context) => {
      await context.run('before', () => tried.push('before'));
      await context.run('break', () => {
        tried.push('break');
        if (!healed) throw new Error('out of stock');
      });
      return 'done';
    },
    {
      failureFunction: async () => {
        calls++;
        if (calls === 1) throw new Error('no listener');
      },
    },
  ),
);
const server = await serveApp({ after }, (request) => app.fetch(request));
const at = (path: string): string => server.origin + path;

const stateOf = async (workflowRunId: string): Promise<string | undefined> =>
  (await client.logs({ filter: { workflowRunId } })).runs[0]?.workflowState;

async function started(path: string, settings: { readonly label?: string | string[] } = {}): Promise<string> {
  const { workflowRunId } = await client.trigger({ url: at(path), ...settings });
  return workflowRunId;
}

async function failed(count: number, settings: { readonly label?: string } = {}): Promise<string[]> {
  const runs = await client.trigger(Array.from({ length: count }, () => ({ url: at('/fail'), retries: 0, ...settings })));
  await Promise.all(runs.map(({ workflowRunId }) => endOf(service, workflowRunId)));
  return runs.map(({ workflowRunId }) => workflowRunId);
}

test('runs are canceled by id; unknown and ended runs are ignored', async () => {
  const [one, two, three] = [await started('/wait'), await started('/wait'), await started('/wait')];
  assert.deepEqual(await client.cancel(one), { cancelled: 1 });
  assert.deepEqual(await client.cancel(one), { cancelled: 0 });
  assert.deepEqual(await client.cancel([one, two, three, 'wfr_none']), { cancelled: 2 });
  assert.deepEqual(await client.cancel([]), { cancelled: 0 });
  assert.deepEqual(await client.cancel({ ids: 'wfr_none' }), { cancelled: 0 });
  assert.equal(await stateOf(two), 'RUN_CANCELED');
});

test('runs are canceled by URL, URL prefix and other filters', async () => {
  await started('/wait/a');
  await started('/wait/ab');
  await started('/wait/c', { label: ['red', 'blue'] });
  await started('/wait/d', { label: 'blue' });
  assert.deepEqual(await client.cancel({ filter: { workflowUrl: at('/wait/a') } }), { cancelled: 1 });
  assert.deepEqual(await client.cancel({ filter: { workflowUrl: [at('/wait/x'), at('/wait/y')] } }), { cancelled: 0 });
  assert.deepEqual(await client.cancel({ filter: { workflowUrlStartingWith: [at('/wait/a'), at('/none')] } }), { cancelled: 1 });
  assert.deepEqual(await client.cancel({ filter: { label: 'green' } }), { cancelled: 0 });
  assert.deepEqual(await client.cancel({ filter: { label: ['red', 'green'], fromDate: new Date(0) } }), { cancelled: 1 });
  assert.deepEqual(await client.cancel({ filter: { path: '/wait/none' } }), { cancelled: 0 });
  const { host } = new URL(server.origin);
  assert.deepEqual(await client.cancel({ filter: { host, path: ['/wait/d', '/wait/e'] } }), { cancelled: 1 });
  assert.deepEqual(await client.cancel({ filter: { fromDate: 0 } }), { cancelled: 0 });
});

test('all runs are canceled in batches of the requested size', async () => {
  await Promise.all(Array.from({ length: 5 }, () => started('/wait')));
  assert.deepEqual(await client.cancel({ all: true, count: 2 }), { cancelled: 2 });
  assert.deepEqual(await client.cancel({ urlStartingWith: at('/wait') }), { cancelled: 3 });
  assert.deepEqual(await client.cancel({ all: true }), { cancelled: 0 });
});

test('a request without a valid selection cancels nothing', async () => {
  const workflowRunId = await started('/wait');
  const request = (query: string, body?: string) =>
    fetch(`${process.env.QSTASH_URL}/v2/workflows/runs${query}`, {
      method: 'DELETE',
      headers: { authorization: `Bearer ${process.env.QSTASH_TOKEN}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body }),
    });
  assert.equal((await request('')).status, 400);
  assert.equal((await request('?labels=red')).status, 400);
  assert.equal((await request('?label=red', '{"label":"red"}')).status, 400);
  assert.equal(await stateOf(workflowRunId), 'RUN_STARTED');
  const byBody = await request('', JSON.stringify({ workflowUrl: at('/wait'), label: 'none' }));
  assert.deepEqual([byBody.status, await byBody.json()], [200, { cancelled: 0 }]);
  const everything = await request('', '{}');
  assert.deepEqual([everything.status, await everything.json()], [200, { cancelled: 1 }]);
});

test('waiting runs are listed and notified with any kind of data', async () => {
  const eventId = 'paid';
  const workflowRunId = await started('/wait');
  const waiters = await eventually(async () => {
    const found = await client.getWaiters({ eventId });
    return found.length > 0 && found;
  });
  const [waiter] = waiters;
  assert.equal(waiters.length, 1);
  assert.ok(waiter);
  assert.equal(waiter.url, at('/wait'));
  assert.equal(waiter.timeoutUrl, at('/wait'));
  assert.ok(Math.abs(waiter.deadline - Date.now() / 1000 - 3600) < 60, 'Unix seconds');
  assert.deepEqual(waiter.headers['Upstash-Workflow-Runid'], [workflowRunId]);
  const notified = await client.notify({ eventId, eventData: { amount: 12, text: 'grüße' } });
  assert.equal(notified.length, 1);
  assert.equal(notified[0]?.waiter.url, at('/wait'));
  assert.match(notified[0]?.messageId ?? '', /^msg_/);
  assert.equal(notified[0]?.error, '');
  assert.deepEqual(await resultOf(service, workflowRunId), {
    first: {},
    eventData: { amount: 12, text: 'grüße' },
    timeout: false,
  });
  assert.deepEqual(await client.notify({ eventId, eventData: 'too late' }), []);
  assert.deepEqual(await client.getWaiters({ eventId }), []);
});

test('an event for a run that does not wait for it yet is stored', async () => {
  const { workflowRunId } = await client.trigger({ url: at('/wait'), delay: 1 });
  const [kept] = await client.notify({ eventId: 'paid', eventData: 'early', workflowRunId });
  assert.equal(kept?.waiter.url, at('/wait'));
  const ended = (await resultOf(service, workflowRunId)) as { eventData: unknown };
  assert.equal(ended.eventData, 'early');
  await assert.rejects(client.notify({ eventId: 'paid', workflowRunId: 'wfr_none' }), /run \\"wfr_none\\" not found/);
});

test('logs show a run with its steps, labels and result', async () => {
  const { workflowRunId } = await client.trigger({
    url: at('/wait'),
    body: { item: 'tea' },
    headers: { 'x-user': 'ada' },
    label: ['shop', 'eu'],
    retries: 2,
    retryDelay: '1000',
  });
  const [open] = await eventually(async () => {
    const { runs } = await client.logs({ workflowRunId });
    return runs[0]?.steps[2]?.type === 'sequential' && runs;
  });
  assert.ok(open);
  assert.equal(open.workflowState, 'RUN_STARTED');
  assert.equal(open.workflowUrl, at('/wait'));
  assert.equal(open.label, 'shop');
  assert.deepEqual(open.labels, ['shop', 'eu']);
  assert.ok(Math.abs(open.workflowRunCreatedAt - Date.now()) < 60_000);
  assert.equal(open.workflowRunCompletedAt, undefined);
  const [init, first, wait] = open.steps.map(({ steps }) => steps[0] as Record<string, unknown>);
  assert.deepEqual(
    open.steps.map(({ type }) => type),
    ['sequential', 'sequential', 'sequential'],
  );
  const { messageId, createdAt, headers, ...initial } = init ?? {};
  assert.deepEqual(initial, {
    stepName: 'init',
    stepType: 'Initial',
    callType: 'step',
    out: '{"item":"tea"}',
    retries: 2,
    retryDelay: '1000',
    concurrent: 1,
    state: 'STEP_SUCCESS',
  });
  assert.match(String(messageId), /^msg_/);
  assert.equal(typeof createdAt, 'number');
  assert.deepEqual((headers as Record<string, unknown>)['X-User'], ['ada']);
  assert.deepEqual((headers as Record<string, unknown>)['Content-Type'], ['application/json']);
  assert.equal(first?.stepName, 'first');
  assert.equal(first?.stepType, 'Run');
  assert.equal(first?.out, '{"seen":{"item":"tea"}}');
  assert.equal(wait?.stepType, 'Wait');
  assert.equal(wait?.state, 'STEP_PROGRESS');
  assert.equal(wait?.waitEventId, 'paid');
  assert.equal(wait?.waitTimeoutDuration, '1h');
  assert.equal(typeof wait?.waitTimeoutDeadline, 'number');
  await client.notify({ eventId: 'paid', eventData: 'now' });
  await endOf(service, workflowRunId);
  const [ended] = (await client.logs({ filter: { workflowRunId } })).runs;
  assert.equal(ended?.workflowState, 'RUN_SUCCESS');
  assert.equal(typeof ended?.workflowRunCompletedAt, 'number');
  assert.deepEqual(JSON.parse(ended?.workflowRunResponse ?? ''), {
    first: { seen: { item: 'tea' } },
    eventData: 'now',
    timeout: false,
  });
  const done = ended?.steps[2]?.steps[0] as Record<string, unknown> | undefined;
  assert.equal(done?.out, 'now');
  assert.equal(done?.waitTimeout, false);
});

test('logs are filtered and paginated', async () => {
  const ids = [];
  for (let i = 0; i < 5; i++) ids.push(await started(`/wait/log${i}`, { label: 'paged' }));
  const { cursor, runs } = await client.logs({ count: 3, filter: { label: 'paged' } });
  assert.deepEqual(
    runs.map(({ workflowRunId }) => workflowRunId),
    ids.slice(2).reverse(),
    'newest first',
  );
  assert.ok(cursor);
  const rest = await client.logs({ count: 3, cursor, filter: { label: 'paged' } });
  assert.deepEqual(
    rest.runs.map(({ workflowRunId }) => workflowRunId),
    ids.slice(0, 2).reverse(),
  );
  assert.equal(rest.cursor, undefined);
  const idsOf = async (filter: NonNullable<Parameters<typeof client.logs>[0]>['filter']) =>
    (await client.logs({ count: 100, ...(filter ? { filter: { label: 'paged', ...filter } } : {}) })).runs.map(
      ({ workflowRunId }) => workflowRunId,
    );
  assert.deepEqual(await idsOf({ workflowUrl: [at('/wait/log1'), at('/wait/log3')] }), [ids[3], ids[1]]);
  assert.deepEqual(await idsOf({ path: '/wait/log4' }), [ids[4]]);
  assert.deepEqual(await idsOf({ host: 'elsewhere.test' }), []);
  assert.deepEqual(await idsOf({ state: 'RUN_FAILED' }), []);
  assert.deepEqual(await idsOf({ toDate: 1 }), []);
  const [third] = (await client.logs({ filter: { workflowRunId: ids[2] ?? '' } })).runs;
  const messageId = third?.steps[0]?.steps[0]?.messageId ?? '';
  assert.deepEqual(await idsOf({ messageId }), [ids[2]]);
  assert.deepEqual(await idsOf({ workflowCreatedAt: third?.workflowRunCreatedAt ?? 0, workflowUrl: at('/wait/log2') }), [ids[2]]);
  await client.cancel({ filter: { label: 'paged' } });
  assert.equal((await idsOf({ state: 'RUN_CANCELED' })).length, 5);
});

test('a failed run is in the log and in the DLQ with the state of its failure function', async () => {
  const [workflowRunId = ''] = await failed(1, { label: 'broken' });
  const message = await eventually(async () => {
    const [found] = (await client.dlq.list({ filter: { workflowRunId } })).messages;
    return found?.failureCallbackInfo?.state === 'CALLBACK_FAIL' && found;
  });
  const [logged] = (await client.logs({ filter: { workflowRunId } })).runs;
  assert.ok(logged?.dlqId);
  assert.equal(message.dlqId, logged.dlqId);
  const last = logged.steps.at(-1);
  assert.equal(last?.type, 'next');
  assert.equal(last.steps[0]?.state, 'STEP_FAILED');
  const error = (last.steps[0] as { errors?: { error: string; status: number; body: string; time: number }[] }).errors?.[0];
  assert.match(error?.error ?? '', /out of stock/);
  assert.equal(error?.status, 500);
  assert.match(error?.body ?? '', /out of stock/);
  const { failureFunction } = logged;
  assert.equal(failureFunction?.state, 'CALLBACK_FAIL');
  assert.equal(failureFunction.dlqId, logged.dlqId);
  assert.equal(failureFunction.failStatus, 500);
  assert.match(failureFunction.failResponse, /out of stock/);
  assert.match(failureFunction.messageId, /^msg_/);
  const { header, responseHeader, ...shown } = message;
  assert.equal(shown.workflowUrl, at('/fail'));
  assert.equal(shown.responseStatus, 500);
  assert.match(shown.responseBody, /out of stock/);
  assert.equal(shown.maxRetries, 0);
  assert.deepEqual(shown.labels, ['broken']);
  assert.equal(shown.body, '');
  assert.deepEqual(header['Content-Type'], ['application/json']);
  assert.ok(responseHeader['Content-Type'] ?? responseHeader['content-type']);
  for (const field of ['notBefore', 'createdAt', 'workflowCreatedAt'] as const) assert.equal(typeof shown[field], 'number');
  assert.equal(typeof shown.callerIP, 'string');

  const again = await client.dlq.retryFailureFunction({ dlqId: message.dlqId });
  assert.equal(again.workflowRunId, workflowRunId);
  assert.equal(again.workflowCreatedAt, message.workflowCreatedAt);
  await eventually(async () => {
    const [found] = (await client.dlq.list({ filter: { failureFunctionState: 'CALLBACK_SUCCESS', workflowRunId } })).messages;
    return found;
  });
  await assert.rejects(client.dlq.retryFailureFunction({ dlqId: 'dlq_none' }), /not found in the dead letter queue/);
  assert.deepEqual(await client.dlq.delete(message.dlqId), { deleted: 1, cursor: undefined });
});

test('dead letters are listed with every filter and in pages', async () => {
  await failed(3, { label: 'listed' });
  const count = async (filter: NonNullable<Parameters<typeof client.dlq.list>[0]>['filter']) =>
    (await client.dlq.list({ filter: { label: 'listed', ...filter } })).messages.length;
  assert.equal(await count({}), 3);
  assert.equal(await count({ url: at('/fail') }), 3);
  assert.equal(await count({ url: at('/wait') }), 0);
  assert.equal(await count({ workflowUrl: [at('/wait'), at('/fail')] }), 3);
  assert.equal(await count({ responseStatus: 500 }), 3);
  assert.equal(await count({ responseStatus: 404 }), 0);
  assert.equal(await count({ fromDate: new Date(0), toDate: Date.now() + 60_000 }), 3);
  assert.equal(await count({ callerIp: ['10.1.1.1'] }), 0);
  const page = await client.dlq.list({ count: 2, filter: { label: 'listed' } });
  assert.equal(page.messages.length, 2);
  const rest = await client.dlq.list({
    count: 500,
    filter: { label: 'listed' },
    ...(page.cursor ? { cursor: page.cursor } : {}),
  });
  assert.equal(rest.messages.length, 1);
  assert.equal(rest.cursor, undefined);
  assert.equal((await client.dlq.delete({ filter: { label: 'listed' } })).deleted, 3);
});

test('failed runs are resumed from the failed step or restarted, individually or in bulk', async () => {
  const runs = await failed(4, { label: 'again' });
  const { messages } = await client.dlq.list({ filter: { label: 'again' } });
  const [a = '', b = '', c = '', d = ''] = messages.map(({ dlqId }) => dlqId);
  assert.equal(messages.length, runs.length);
  healed = true;
  tried.length = 0;
  const resumed = await client.dlq.resume({ dlqId: a, retries: 1, flowControl: { key: 'slow', parallelism: 1 } });
  assert.equal(await resultOf(service, resumed.workflowRunId), 'done');
  assert.deepEqual(tried, ['break'], 'recorded results are kept');
  const restarted = await client.dlq.restart({ dlqId: [b] });
  assert.equal(await resultOf(service, restarted[0]?.workflowRunId ?? ''), 'done');
  assert.deepEqual(tried, ['break', 'before', 'break']);
  const both = await client.dlq.resume([c, d]);
  assert.equal(both.workflowRuns.length, 2);
  assert.equal(both.cursor, undefined);
  for (const { workflowRunId } of both.workflowRuns) assert.equal(await resultOf(service, workflowRunId), 'done');
  const [logged] = (await client.logs({ filter: { workflowRunId: resumed.workflowRunId } })).runs;
  assert.equal(logged?.steps[0]?.steps[0] && (logged.steps[0].steps[0] as { retries: number }).retries, 1);
  await assert.rejects(client.dlq.resume('dlq_none'), /not found in the dead letter queue/);
  assert.deepEqual(await client.dlq.resume([]), { workflowRuns: [] });
  healed = false;
});

test('all dead letters are processed by repeating the request until there is no cursor', async () => {
  await failed(60, { label: 'many' });
  await failed(60, { label: 'many' });
  healed = true;
  let cursor: string | undefined;
  const pages: number[] = [];
  const restarted: string[] = [];
  do {
    const page = await client.dlq.restart({ filter: { label: 'many' }, ...(cursor ? { cursor } : {}) });
    pages.push(page.workflowRuns.length);
    restarted.push(...page.workflowRuns.map(({ workflowRunId }) => workflowRunId));
    cursor = page.cursor;
  } while (cursor);
  assert.deepEqual(pages, [50, 50, 20], 'regardless of the requested count');
  assert.equal((await client.dlq.list({ filter: { label: 'many' } })).messages.length, 0);
  await Promise.all(restarted.map((workflowRunId) => endOf(service, workflowRunId)));
  healed = false;
  await failed(3, { label: 'gone' });
  const first = await client.dlq.delete({ all: true, count: 2 });
  assert.equal(first.deleted, 2);
  assert.ok(first.cursor);
  assert.deepEqual(await client.dlq.delete({ all: true, count: 2, cursor: first.cursor }), { deleted: 1, cursor: undefined });
  assert.deepEqual(await client.dlq.resume({ all: true }), { workflowRuns: [], cursor: undefined });
});

test('a misspelled trigger setting is refused, and SDK telemetry headers are accepted', async () => {
  const trigger = (headers: Record<string, string>) =>
    fetch(`${process.env.QSTASH_URL}/v2/trigger/${at('/wait')}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${process.env.QSTASH_TOKEN}`, 'upstash-workflow-sdk-version': '1', ...headers },
    });
  for (const name of ['Upstash-Retry', 'Upstash-Labels', 'Upstash-Workflow-Run-Id', 'Upstash-Flowcontrol-Key']) {
    const refused = await trigger({ [name]: '1' });
    assert.equal(refused.status, 400, name);
    assert.match(
      await refused.text(),
      new RegExp(`unknown header \\\\"${name.toLowerCase()}\\\\"; this operation supports .*Upstash-Retries`),
    );
  }
  const taken = await trigger({
    'upstash-telemetry-sdk': 'x',
    'upstash-telemetry-tomorrow': 'x',
    'upstash-feature-set': 'LazyFetch',
    'upstash-workflow-tomorrow': 'x',
    'upstash-method': 'POST',
    'upstash-signature': 'of a request that is passed on',
    'upstash-redact-fields': 'body,header[Authorization]',
  });
  assert.equal(taken.status, 200, await taken.clone().text());
  const { workflowRunId } = (await taken.json()) as { workflowRunId: string };
  const [logged] = (await client.logs({ filter: { workflowRunId } })).runs;
  assert.ok(logged);
  assert.equal((await client.cancel(workflowRunId)).cancelled, 1);
});

test('redacted values are not in the log', async () => {
  const { workflowRunId } = await client.trigger({
    url: at('/wait'),
    body: { secret: 'of the body' },
    headers: { 'x-secret': 'of a header', 'x-open': 'open' },
    redact: { body: true, header: ['X-Secret'] },
  });
  const { runs } = await eventually(async () => {
    const logs = await client.logs({ filter: { workflowRunId } });
    return (logs.runs[0]?.steps.length ?? 0) > 2 && logs;
  });
  const text = JSON.stringify(runs);
  assert.ok(!text.includes('of the body') && !text.includes('of a header'), text);
  assert.ok(text.includes('open'));
  await client.cancel(workflowRunId);
});
