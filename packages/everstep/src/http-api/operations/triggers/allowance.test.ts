/** Tests the limits of budgets and plans through the API: which requests are rejected, and which work continues. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { json } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import { loadPlans } from '../../../accounts/plans/plans.js';
import type { TriggeredRun } from '../../../contract/runs.js';
import type { InstanceChange } from '../../../ports/stores/account-store.js';
import { ApiHarness, EVENT_ID } from '../../testing/api-harness.js';

const INSTANCE = 'qi_1';
const TRIGGER = '/v2/trigger/http://w.test/ok';
const PLANS = loadPlans(
  JSON.stringify({
    plans: [
      { name: 'small', maxMessageBytes: 10, maxSchedules: 1, maxParallelism: 2, maxTimeoutMs: 60_000 },
      { name: 'daily', maxRequestsPerDay: 2 },
      { name: 'slow', apiCallsPerSecond: 1 },
    ],
  }),
);

async function open(t: TestContext, change: InstanceChange = {}): Promise<ApiHarness> {
  assert.ok(PLANS.ok);
  const harness = await ApiHarness.open({}, { plans: PLANS.plans });
  t.after(() => harness.close());
  await changed(harness, change);
  return harness;
}

async function changed(harness: ApiHarness, change: InstanceChange): Promise<void> {
  await harness.store.accounts.changeInstance({ instanceId: INSTANCE, change });
  harness.limits.forget(INSTANCE);
  // The cached budget is current from here on.
  await harness.limits.refuseSpending(INSTANCE);
}

/** Spends a number of dollars and refreshes the cached budget. */
async function spend(harness: ApiHarness, dollars: number): Promise<void> {
  const write = { kind: 'count-messages', instanceId: INSTANCE, messages: dollars * 100_000, at: harness.runtime.now() } as const;
  await harness.store.commit([{ guards: [], writes: [write] }]);
  harness.limits.forget(INSTANCE);
  await harness.limits.refuseSpending(INSTANCE);
}

const codeOf = ({ headers }: { readonly headers: Readonly<Record<string, unknown>> }) => headers['svc-error-code'];

test('the amount spent is the price of the messages of the runs', async (t) => {
  const harness = await open(t);
  await harness.trigger('ok', { 'svc-wait-for-result': 'true' });
  await harness.trigger('steps', { 'svc-wait-for-result': 'true' });
  await harness.runtime.idle();
  const [month] = await harness.store.accounts.usage({ instanceId: INSTANCE, fromMonth: '2000-01' });
  // One call for the run that ends immediately; for the other run, one for each call of its endpoint.
  assert.equal(month?.messages, harness.endpoints.calls.length);
});

test('a spent budget rejects triggers, batch items, schedules, resumes and restarts with 402 without Retry-After', async (t) => {
  const harness = await open(t, { budgetDollars: 20 });
  const [dlqId] = await harness.fail(1);
  await spend(harness, 20);
  for (const [url, headers] of [
    [TRIGGER, {}],
    ['/v2/schedules/http://w.test/ok', { 'svc-cron': '0 * * * *' }],
    [`/v2/workflows/dlq/resume/${dlqId}`, {}],
    [`/v2/workflows/dlq/restart/${dlqId}`, {}],
    [`/v2/workflows/dlq/restart?dlqIds=${dlqId}`, {}],
    [`/v2/workflows/dlq/callback/${dlqId}`, {}],
  ] as const) {
    const received = await harness.call('POST', url, { headers });
    assert.deepEqual([received.status, codeOf(received)], [402, 'budget-exceeded'], url);
    assert.equal(received.headers['retry-after'], undefined);
    assert.match(received.body.error, /\$20\.\d\d of \$20 for \d{4}-\d\d, which ends at .*Z \(UTC\)/);
  }
  const batch = await harness.call<readonly { readonly error?: string }[]>('POST', '/v2/batch/trigger', {
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify([{ destination: 'http://w.test/ok' }, { destination: 'http://w.test/ok' }]),
  });
  assert.equal(batch.status, 200);
  assert.deepEqual(
    batch.body.map(({ error }) => /budget/.test(error ?? '')),
    [true, true],
  );
});

test('runs that started before the budget was spent continue', async (t) => {
  const harness = await open(t, { budgetDollars: 20 });
  const { workflowRunId } = await harness.trigger('wait');
  await harness.runtime.idle();
  await spend(harness, 25);
  assert.equal((await harness.call('POST', TRIGGER)).status, 402);
  const notified = await harness.call('POST', `/v2/notify/${encodeURIComponent(EVENT_ID)}`, { body: '{}' });
  assert.equal(notified.status, 200);
  const journal = await harness.journalWhen(workflowRunId, ({ workflowState }) => workflowState !== 'RUN_STARTED');
  assert.equal(journal.workflowState, 'RUN_SUCCESS');
});

test('raising or removing the budget lets runs start again', async (t) => {
  const harness = await open(t, { budgetDollars: 20 });
  await spend(harness, 30);
  assert.equal((await harness.call('POST', TRIGGER)).status, 402);
  for (const budgetDollars of [40, 0]) {
    await changed(harness, { budgetDollars: 20 });
    assert.equal((await harness.call('POST', TRIGGER)).status, 402);
    await changed(harness, { budgetDollars });
    assert.equal((await harness.call('POST', TRIGGER)).status, 200);
  }
});

test('the budget of another instance has no effect', async (t) => {
  const harness = await open(t, { budgetDollars: 20 });
  await spend(harness, 30);
  const token = await harness.authority.issueToken({ instanceId: 'qi_2', access: 'read-write' });
  const result = await harness.send({ method: 'POST', url: TRIGGER, headers: { authorization: `Bearer ${token}` } });
  assert.equal(result.status, 200);
});

test('a plan limits the size of messages', async (t) => {
  const harness = await open(t, { plan: 'small' });
  assert.equal((await harness.call('POST', TRIGGER, { body: '0123456789' })).status, 200);
  for (const [url, headers] of [
    [TRIGGER, {}],
    ['/v2/schedules/http://w.test/ok', { 'svc-cron': '0 * * * *' }],
    ['/v2/notify/e', {}],
  ] as const) {
    const response = await harness.call('POST', url, { headers, body: '0123456789a' });
    assert.deepEqual([response.status, codeOf(response)], [413, 'body-too-large'], url);
    assert.match(response.body.error, /the plan small allows messages of at most 10 bytes, but this one has 11/);
  }
});

test('a message that is announced as larger than the plan allows is refused before it arrives', async (t) => {
  const harness = await open(t, { plan: 'small' });
  const { port } = await harness.api.listen({ host: '127.0.0.1', port: 0 });
  const headers = { authorization: `Bearer ${harness.token}`, 'content-length': 11 };
  const request = httpRequest({ port, host: '127.0.0.1', method: 'POST', path: TRIGGER, headers, agent: false });
  request.on('error', () => {});
  // Sends only the head of the request.
  request.flushHeaders();
  const [response]: IncomingMessage[] = await once(request, 'response');
  assert.ok(response);
  const { error } = (await json(response)) as { readonly error?: string };
  assert.equal(response.statusCode, 413);
  assert.match(error ?? '', /the plan small allows messages of at most 10 bytes, but this one has 11/);
  await harness.refusals.write();
  const counts = await harness.store.accounts.countsByDay({ instanceId: INSTANCE, fromDay: 0 });
  assert.equal(counts.find(({ what }) => what === 'body-too-large')?.count, 1);
});

test('a plan limits the number of schedules; replacing one is always possible', async (t) => {
  const harness = await open(t, { plan: 'small' });
  const create = (id: string) =>
    harness.call('POST', '/v2/schedules/http://w.test/ok', { headers: { 'svc-cron': '0 * * * *', 'svc-schedule-id': id } });
  assert.equal((await create('a')).status, 200);
  const refused = await create('b');
  assert.deepEqual([refused.status, codeOf(refused)], [409, 'too-many-schedules']);
  assert.match(refused.body.error, /limit of schedules of the plan small \(maxSchedules: 1\)/);
  assert.equal((await create('a')).status, 200);
});

test('a plan limits the runs of a day; Retry-After is the start of the next day', async (t) => {
  const harness = await open(t, { plan: 'daily' });
  for (let i = 0; i < 2; i++) assert.equal((await harness.call<TriggeredRun>('POST', TRIGGER)).status, 200);
  const refused = await harness.call('POST', TRIGGER);
  assert.deepEqual([refused.status, codeOf(refused)], [429, 'daily-limit-reached']);
  const seconds = Number(refused.headers['retry-after']);
  assert.ok(seconds >= 1 && seconds <= 86_400, String(seconds));
  // The published client has a different error for the daily limit than for the rate limit.
  const { 'ratelimit-limit': limit, 'ratelimit-remaining': remaining, 'ratelimit-reset': reset } = refused.headers;
  assert.deepEqual([limit, remaining, Number(reset) % 86_400], ['2', '0', 0]);
});

test('runs count for the day on which they were admitted, however they start', async (t) => {
  const harness = await open(t, { plan: 'daily' });
  const [first, second] = await harness.fail(2);
  const at = harness.runtime.now() - 86_400_000;
  const day = Math.floor(at / 86_400_000);
  const before = await harness.store.accounts.countsByDay({ instanceId: INSTANCE, fromDay: 0 });
  // Simulates midnight between admission and start.
  Object.assign(harness.limits, { admitRuns: async () => ({ kind: 'admitted', at }) });
  const body = JSON.stringify([{ destination: 'http://w.test/ok' }]);
  for (const [url, more] of [
    [TRIGGER, {}],
    ['/v2/batch/trigger', { headers: { 'content-type': 'application/json' }, body }],
    [`/v2/workflows/dlq/resume/${first}`, {}],
    [`/v2/workflows/dlq/restart?dlqIds=${second}`, {}],
  ] as const)
    assert.equal((await harness.call('POST', url, more)).status, 200, url);
  const counts = await harness.store.accounts.countsByDay({ instanceId: INSTANCE, fromDay: 0 });
  assert.deepEqual(counts.slice(0, before.length), before);
  assert.deepEqual(counts.slice(before.length), [{ instanceId: INSTANCE, day, what: 'run', count: 4, lastAt: at }]);
});

test('a deduplicated run and an empty recovery do not count against the daily limit', async (t) => {
  const harness = await open(t, { plan: 'daily' });
  const headers = { 'svc-deduplication-id': 'once' };
  for (let i = 0; i < 5; i++) assert.equal((await harness.call('POST', TRIGGER, { headers })).status, 200);
  assert.equal((await harness.call('POST', '/v2/workflows/dlq/restart/dlq_none')).status, 404);
  assert.equal((await harness.call('POST', TRIGGER)).status, 200);
  assert.equal((await harness.call('POST', TRIGGER)).status, 429);
});

/** Published client that publishes single messages and batches. */
const PUBLISHED = '/v2/publish/http://w.test/ok';
const inBatch = (harness: ApiHarness, items: readonly object[]) =>
  harness.call<readonly { readonly error?: string; readonly deduplicated?: boolean }[]>('POST', '/v2/batch', {
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(items.map((item) => ({ destination: 'http://w.test/ok', ...item }))),
  });

test('deduplicated and rejected messages of the published client do not count against the daily limit', async (t) => {
  const harness = await open(t, { plan: 'daily' });
  const headers = { 'upstash-deduplication-id': 'once' };
  for (let i = 0; i < 4; i++) assert.equal((await harness.call('POST', PUBLISHED, { headers })).status, 200);
  assert.equal((await harness.call('POST', '/v2/enqueue/q/http://w.test/ok', { headers })).status, 200);
  assert.equal((await harness.call('POST', '/v2/publish/no-such-group')).status, 404);
  const batch = await inBatch(harness, [{ headers }, { destination: 'no-such-group' }]);
  assert.deepEqual(
    batch.body.map(({ deduplicated, error }) => deduplicated ?? error !== undefined),
    [true, true],
  );
  assert.equal((await harness.call('POST', PUBLISHED)).status, 200);
  assert.equal((await harness.call('POST', PUBLISHED)).status, 429);
});

test('a manual start of a schedule counts one run for each endpoint of its URL group', async (t) => {
  const harness = await open(t, { plan: 'daily' });
  const json = { 'content-type': 'application/json', 'upstash-telemetry-sdk': 'test' };
  const addEndpoints = (...names: readonly string[]) => {
    const endpoints = names.map((name) => ({ name, url: `http://m.test/${name}` }));
    return harness.call('POST', '/v2/topics/all/endpoints', { headers: json, body: JSON.stringify({ endpoints }) });
  };
  await addEndpoints('a', 'b', 'c');
  const headers = { 'upstash-cron': '0 9 * * *', 'upstash-schedule-id': 'news' };
  assert.equal((await harness.call('POST', '/v2/schedules/all', { headers })).status, 200);
  const run = () => harness.call('POST', '/v2/schedules/news/run');
  const refused = await run();
  assert.deepEqual([refused.status, codeOf(refused)], [429, 'daily-limit-reached']);
  await harness.call('DELETE', '/v2/topics/all', { headers: json });
  assert.equal((await run()).status, 409);
  await addEndpoints('a', 'b');
  assert.equal((await run()).status, 200);
  assert.equal((await harness.call('POST', TRIGGER)).status, 429);
});

test('deduplicated runs of the published client do not count against the daily limit', async (t) => {
  const harness = await open(t, { plan: 'daily' });
  const headers = { 'upstash-deduplication-id': 'once', 'upstash-workflow-sdk-version': '1' };
  const item = { headers: { ...headers, 'upstash-workflow-init': 'true' } };
  for (let i = 0; i < 4; i++) {
    assert.equal((await inBatch(harness, [item])).status, 200);
    assert.equal((await harness.call('POST', TRIGGER, { headers })).status, 200);
  }
  assert.equal((await harness.call('POST', PUBLISHED)).status, 200);
  assert.equal((await harness.call('POST', PUBLISHED)).status, 429);
});

test('messages of the published client count for the day on which they were admitted', async (t) => {
  const harness = await open(t, { plan: 'daily' });
  const at = harness.runtime.now() - 86_400_000;
  const day = Math.floor(at / 86_400_000);
  Object.assign(harness.limits, { admitRuns: async () => ({ kind: 'admitted', at }) });
  assert.equal((await harness.call('POST', PUBLISHED)).status, 200);
  const init = { 'upstash-workflow-init': 'true', 'upstash-workflow-sdk-version': '1' };
  assert.equal((await inBatch(harness, [{}, { headers: init }])).status, 200);
  const version = { 'upstash-workflow-sdk-version': '1' };
  assert.equal((await harness.call('POST', TRIGGER, { headers: version })).status, 200);
  const counts = await harness.store.accounts.countsByDay({ instanceId: INSTANCE, fromDay: 0 });
  assert.deepEqual(counts, [{ instanceId: INSTANCE, day, what: 'run', count: 4, lastAt: at }]);
});

test('publishing a message counts as an API call', async (t) => {
  const harness = await open(t, { plan: 'slow' });
  const published = await Promise.all([1, 2, 3].map(() => harness.call('POST', PUBLISHED)));
  assert.ok(published.some(({ status }) => status === 429));
});

test('a plan limits the size of webhook calls', async (t) => {
  const harness = await open(t, { plan: 'small' });
  const { workflowRunId } = await harness.trigger('hook');
  const { steps } = await harness.journalWhen(workflowRunId, (journal) =>
    journal.steps.some(({ stepName }) => stepName === 'make'),
  );
  const { webhookUrl, eventId } = JSON.parse(steps.find(({ stepName }) => stepName === 'make')?.out ?? '{}');
  const { pathname: url } = new URL(webhookUrl);
  const send = (body: string) => harness.send({ method: 'POST', url, payload: body });
  // The URL that the published SDK creates for the same webhook.
  const hookUrl = `/v2/workflows/hooks/${INSTANCE}/${workflowRunId}/${eventId}`;
  for (const refused of [
    await send('0123456789a'),
    await harness.send({ method: 'POST', url: hookUrl, payload: '0123456789a' }),
    await harness.send({ method: 'PUT', url: hookUrl, payload: '0123456789a' }),
  ])
    assert.deepEqual(
      [refused.status, refused.headers['svc-error-code'] ?? refused.headers['upstash-error-code']],
      [413, 'body-too-large'],
    );
  assert.equal((await send('0123456789')).status, 200);
  assert.equal((await harness.send({ method: 'POST', url: `${hookUrl}x`, payload: '0123456789a' })).status, 404);
  assert.equal((await harness.send({ method: 'POST', url: '/v2/webhooks/whk_none.none', payload: '0123456789a' })).status, 404);
});

test('counts rejections for the owner, by kind', async (t) => {
  const harness = await open(t, { plan: 'small' });
  await harness.call('POST', TRIGGER, { body: '0123456789a' });
  await harness.call('POST', '/v2/notify/e', { body: '0123456789a' });
  for (const id of ['a', 'b'])
    await harness.call('POST', '/v2/schedules/http://w.test/ok', { headers: { 'svc-cron': '0 * * * *', 'svc-schedule-id': id } });
  await changed(harness, { budgetDollars: 20, plan: 'daily' });
  for (let i = 0; i < 4; i++) await harness.call('POST', TRIGGER);
  await spend(harness, 20);
  await harness.call('POST', TRIGGER);
  await harness.refusals.write();
  const counts = await harness.store.accounts.countsByDay({ instanceId: INSTANCE, fromDay: 0 });
  assert.deepEqual(
    new Map(counts.map(({ what, count }) => [what, count])),
    new Map([
      ['too-many-schedules', 1],
      ['run', 2],
      ['daily-limit-reached', 2],
      ['budget-exceeded', 1],
      ['body-too-large', 2],
    ]),
  );
});

test('a plan limits API calls, including reads, and returns the time to wait', async (t) => {
  const harness = await open(t, { plan: 'slow' });
  const responses = await Promise.all([1, 2, 3].map(() => harness.call('GET', '/v2/schedules')));
  const refused = responses.filter(({ status }) => status === 429);
  assert.ok(refused.length >= 1);
  for (const response of refused) {
    assert.deepEqual([codeOf(response), response.headers['retry-after']], ['rate-limited', '1']);
    assert.match(response.body.error, /the plan slow limits API calls to 1 per second/);
    assert.deepEqual([response.headers['burst-ratelimit-limit'], response.headers['burst-ratelimit-remaining']], ['1', '0']);
    assert.match(String(response.headers['burst-ratelimit-reset']), /^\d{10}$/);
  }
});

test('steps that endpoints submit for active runs do not count as calls, but publishing does', async (t) => {
  const harness = await open(t, { plan: 'slow' });
  const version = { 'upstash-workflow-sdk-version': '1' };
  const headers = { ...version, 'upstash-workflow-init': 'false', 'upstash-workflow-runid': 'wfr_none' };
  const body = JSON.stringify({ stepId: 1, stepName: 'a', stepType: 'Run', concurrent: 1 });
  const send = (item: object) => {
    const batch = JSON.stringify([{ destination: 'http://w.test/ok', ...item }]);
    return harness.call('POST', '/v2/batch', { headers: { ...version, 'content-type': 'application/json' }, body: batch });
  };
  const submitted = await Promise.all([1, 2, 3, 4].map(() => send({ headers, body })));
  assert.deepEqual(
    submitted.map(({ status }) => status),
    [400, 400, 400, 400],
  );
  const started = await Promise.all([1, 2, 3].map(() => send({ headers: { ...version, 'upstash-workflow-init': 'true' } })));
  assert.ok(started.some(({ status }) => status === 429));
});

test('rejects a timeout above the limit of the plan and limits the default', async (t) => {
  const harness = await open(t, { plan: 'small' });
  const json = { 'content-type': 'application/json' };
  for (const [url, headers, body] of [
    [TRIGGER, { 'svc-timeout': '61s' }, ''],
    ['/v2/schedules/http://w.test/ok', { 'svc-cron': '0 * * * *', 'svc-timeout': '2m' }, ''],
    ['/v2/publish/http://w.test/ok', { 'upstash-timeout': '2m' }, ''],
    ['/v2/publish/http://w.test/ok', { 'upstash-callback': 'http://w.test/', 'upstash-callback-timeout': '2m' }, ''],
  ] as const) {
    const response = await harness.call('POST', url, { headers: { ...json, ...headers }, body });
    assert.equal(response.status, 400, JSON.stringify(response.body));
    assert.match(response.body.error, /Timeout must be at most 1m, the limit of the plan small/);
  }
  await harness.trigger('ok', { 'svc-timeout': '60s', 'svc-wait-for-result': 'true' });
  await harness.trigger('ok', { 'svc-wait-for-result': 'true' });
  assert.deepEqual(
    harness.endpoints.calls.map(({ timeoutMs }) => timeoutMs),
    [60_000, 60_000],
  );
});

test('shows and enforces the parallelism of the plan', async (t) => {
  const harness = await open(t, { plan: 'small' });
  for (let i = 0; i < 4; i++) await harness.trigger('hang');
  // Enough turns for more deliveries than the plan allows.
  for (let turn = 0; turn < 200; turn++) await new Promise((resolve) => setImmediate(resolve));
  const { body } = await harness.call<{ parallelismMax: number; parallelismCount: number }>('GET', '/v2/globalParallelism');
  assert.deepEqual(body, { parallelismMax: 2, parallelismCount: 2 });
});
