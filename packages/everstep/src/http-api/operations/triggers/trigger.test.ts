import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { LIMITS } from '../../../config/limits.js';
import type { RunJournal, RunResult, TriggeredRun } from '../../../contract/runs.js';
import { ReadBudget } from '../../admission/read-budget.js';
import { ApiHarness } from '../../testing/api-harness.js';
import { destinationOf } from './trigger.js';

const memory = new ReadBudget({ waitMs: 1 });
let harness: ApiHarness;
before(async () => {
  harness = await ApiHarness.open({ reads: memory });
});
after(() => harness.close());

test('a trigger returns the run, which contains its input', async () => {
  const { status, body } = await harness.call<TriggeredRun>('POST', '/v2/trigger/http://w.test/ok?a=1&b=x%20y', {
    headers: {
      'Svc-Workflow-RunId': 'my/run id 1',
      'Svc-Retries': '7',
      'Svc-Retry-Delay': 'retried * 100',
      'Svc-Timeout': '2m',
      'Svc-Label': 'red, grün,red',
      'Svc-Flow-Control-Key': 'k',
      'Svc-Flow-Control-Value': 'parallelism=2, rate=5, period=1m',
      'Svc-Failure-Callback': 'https://w.test/callback',
      'Svc-Forward-X-Trace': 'abc',
      'Svc-Failure-Callback-Forward-X-Side': 'def',
      'Content-Type': 'text/x-odd',
    },
    body: 'hello',
  });
  assert.equal(status, 200);
  assert.equal(body.workflowRunId, 'my/run id 1');
  assert.equal(body.deduplicated, undefined);
  const run = await harness.store.findRun({ instanceId: 'qi_1', workflowRunId: 'my/run id 1' });
  assert.ok(run);
  assert.equal(run.createdAt, body.workflowCreatedAt);
  assert.equal(run.workflowUrl, 'http://w.test/ok?a=1&b=x%20y');
  assert.equal(run.callerIp, '127.0.0.1');
  assert.deepEqual(run.settings, {
    maxRetries: 7,
    retryDelay: 'retried * 100',
    deliveryTimeoutMs: 120_000,
    labels: ['red', 'grün'],
    flowControl: { key: 'k', parallelism: 2, rate: 5, periodMs: 60_000 },
    failureCallback: { url: 'https://w.test/callback', headers: { 'x-side': 'def' } },
  });
  const payload = await harness.store.loadPayload({ runKey: run.key });
  assert.ok(payload);
  assert.equal(Buffer.from(payload.body).toString(), 'hello');
  assert.equal(payload.contentType, 'text/x-odd');
  assert.deepEqual(payload.forwardHeaders, { 'x-trace': 'abc' });
});

test('accepts any bytes without a content type', async () => {
  const bytes = Buffer.from([0, 255, 1, 254]);
  const { body } = await harness.call<TriggeredRun>('POST', '/v2/trigger/http://w.test/ok', { body: bytes });
  const run = await harness.store.findRun({ instanceId: 'qi_1', workflowRunId: body.workflowRunId });
  const payload = await harness.store.loadPayload({ runKey: run?.key ?? '' });
  assert.deepEqual(Buffer.from(payload?.body ?? []), bytes);
  assert.equal(payload?.contentType, null);
});

test('accepts a raw or percent-encoded workflow URL with its query', () => {
  const table: readonly (readonly [path: string, query: string, expected: string])[] = [
    ['http://w.test/a', '', 'http://w.test/a'],
    ['http://w.test/a', 'x=1&y=%2C', 'http://w.test/a?x=1&y=%2C'],
    ['http://w.test/a%20b', '', 'http://w.test/a%20b'],
    ['http%3A%2F%2Fw.test%2Fa%3Fx%3D1%252C', '', 'http://w.test/a?x=1%2C'],
    ['http%3A%2F%2Fw.test%2Fa', 'x=1', 'http://w.test/a?x=1'],
    ['http%3A%2F%2Fw.test%2Fa%3Fx%3D1', 'y=2', 'http://w.test/a?x=1&y=2'],
  ];
  for (const [path, query, expected] of table)
    assert.equal(destinationOf({ path: `/v2/trigger/${path}`, query }), expected, `${path} ${query}`);
});

test('a raw URL keeps a token in its query that does not authenticate the request', async () => {
  const own = `svc_token=${harness.token}`;
  const table: readonly (readonly [url: string, headers: Record<string, string>, expected: string])[] = [
    [`http://w.test/ok?a=1&${own}`, {}, 'http://w.test/ok?a=1'],
    [`http://w.test/ok?${own}`, {}, 'http://w.test/ok'],
    [`http://w.test/ok?svc_token=theirs&${own}`, {}, 'http://w.test/ok?svc_token=theirs'],
    ['http://w.test/ok?svc_token=theirs', { authorization: `Bearer ${harness.token}` }, 'http://w.test/ok?svc_token=theirs'],
    [`http%3A%2F%2Fw.test%2Fok%3Fa%3D1?${own}`, {}, 'http://w.test/ok?a=1'],
  ];
  for (const [url, headers, expected] of table) {
    const { status, body } = await harness.send<TriggeredRun>({ method: 'POST', url: `/v2/trigger/${url}`, headers });
    assert.equal(status, 200, url);
    const run = await harness.store.findRun({ instanceId: 'qi_1', workflowRunId: body.workflowRunId });
    assert.equal(run?.workflowUrl, expected);
  }
});

test('the query of a workflow URL does not change the dialect of the request', async () => {
  const authorization = `Bearer ${harness.token}`;
  for (const query of ['cancel=true', 'a=1&workflowRunIds=x', 'qstash_token=theirs', 'next=my_qstash_token=1']) {
    const url = `http://w.test/ok?${query}`;
    for (const headers of [{ 'svc-retries': '7' }, {}]) {
      const {
        status,
        headers: received,
        body,
      } = await harness.send<TriggeredRun>({
        method: 'POST',
        url: `/v2/trigger/${url}`,
        headers: { authorization, ...headers },
      });
      assert.deepEqual([status, received['svc-error-code']], [200, undefined], url);
      const run = await harness.store.findRun({ instanceId: 'qi_1', workflowRunId: body.workflowRunId });
      assert.deepEqual([run?.dialect, run?.workflowUrl], ['native', url]);
      if ('svc-retries' in headers) assert.equal(run?.settings.maxRetries, 7);
    }
  }
});

test('an id of an active run and a deduplication id return the existing run', async () => {
  const first = await harness.trigger('hang', { 'svc-workflow-runid': 'taken' });
  assert.deepEqual(await harness.trigger('hang', { 'svc-workflow-runid': 'taken' }), { ...first, deduplicated: true });
  await harness.call('DELETE', '/v2/workflows/runs/taken');
  assert.equal((await harness.trigger('ok', { 'svc-workflow-runid': 'taken' })).deduplicated, undefined);

  const one = await harness.trigger('ok', { 'svc-deduplication-id': 'd' });
  assert.deepEqual(await harness.trigger('ok', { 'svc-deduplication-id': 'd' }), { ...one, deduplicated: true });

  const byContent = { 'svc-content-based-deduplication': 'true' };
  const content = await harness.trigger('ok', byContent, 'a');
  assert.deepEqual(await harness.trigger('ok', byContent, 'a'), { ...content, deduplicated: true });
  assert.equal((await harness.trigger('ok', byContent, 'b')).deduplicated, undefined);
  assert.equal((await harness.trigger('ok', { ...byContent, 'svc-forward-x': '1' }, 'a')).deduplicated, undefined);
  assert.equal((await harness.trigger('ok', { 'svc-content-based-deduplication': 'false' }, 'a')).deduplicated, undefined);
});

test('delay and not-before postpone the start, and not-before takes precedence', async () => {
  const dueAt = async (headers: Record<string, string>) => {
    const { workflowRunId, workflowCreatedAt } = await harness.trigger('ok', headers);
    const { body } = await harness.call<RunJournal>('GET', `/v2/workflows/runs/${workflowRunId}`);
    return (body.tasks[0]?.dueAt ?? Number.NaN) - workflowCreatedAt;
  };
  const near = (value: number, expected: number) =>
    assert.ok(Math.abs(value - expected) <= 2_000, `${value} is not near ${expected}`);
  near(await dueAt({ 'svc-delay': '1d10h' }), 34 * 3_600_000);
  near(await dueAt({ 'svc-delay': '90' }), 90_000);
  const inAnHour = String(Math.floor(Date.now() / 1000) + 3_600);
  near(await dueAt({ 'svc-delay': '5m', 'svc-not-before': inAnHour }), 3_600_000);
});

const LONG_BODY = 'x'.repeat(LIMITS.maxInlineBytes + 1);

test('waiting for the result returns it, or 202 when the time is up', async () => {
  const wait = (endpoint: string, time: string, body = 'in') =>
    harness.call<RunResult>('POST', `/v2/trigger/http://w.test/${endpoint}`, {
      headers: { 'svc-wait-for-result': time },
      body,
    });
  const ok = await wait('ok', 'true');
  assert.equal(ok.status, 200);
  assert.equal(ok.body.workflowState, 'RUN_SUCCESS');
  assert.deepEqual(ok.body.result, { got: 'in' });
  const failed = await wait('fail', '30s');
  assert.equal(failed.status, 200);
  assert.equal(failed.body.workflowState, 'RUN_FAILED');
  assert.match(failed.body.error ?? '', /returned 500/);
  assert.equal(failed.body.result, undefined);
  const long = await wait('ok', '30s', LONG_BODY);
  assert.equal(long.status, 200);
  assert.deepEqual(long.body.result, { got: LONG_BODY });
  const slow = await wait('hang', '0');
  assert.equal(slow.status, 202);
  assert.deepEqual(Object.keys(slow.body).sort(), ['workflowCreatedAt', 'workflowRunId', 'workflowState']);
});

test('a trigger whose result gets no memory in time returns 202, because an error would start the run again', async () => {
  const release = await memory.take('qi_1', LIMITS.maxReadBytesOfOwner, new AbortController().signal);
  const path = '/v2/trigger/http://w.test/ok';
  const waiting = await harness.call<RunResult>('POST', path, { headers: { 'svc-wait-for-result': 'true' }, body: LONG_BODY });
  release();
  assert.deepEqual([waiting.status, waiting.body.workflowState], [202, 'RUN_STARTED']);
  const { body } = await harness.call<RunResult>('GET', `/v2/workflows/runs/${waiting.body.workflowRunId}/result`);
  assert.deepEqual(body.result, { got: LONG_BODY });
});

test('a batch returns a result for each item, and an invalid item fails alone', async () => {
  const items = [
    {
      destination: 'http://w.test/ok',
      body: 'text',
      headers: { 'Svc-Label': 'a', 'content-type': 'text/plain', 'Svc-Forward-X': 'é' },
    },
    { destination: 'ftp://w.test/ok' },
    { destination: 'http://w.test/ok', body: { order: 1 }, headers: { 'svc-workflow-runid': 'b-1' } },
    { destination: 'http://w.test/hang', headers: { 'svc-workflow-runid': 'b-2' } },
    { destination: 'http://w.test/hang', headers: { 'svc-workflow-runid': 'b-2' } },
    { destination: 'http://w.test/ok', headers: { 'Svc-Retries': 'many' } },
    { destination: 'http://w.test/ok', headers: { 'Svc-Wait-For-Result': 'true' } },
    { destination: 'http://w.test/ok', extra: 1 },
    'no item',
    { destination: 'http://w.test/ok', headers: { 'Svc-Label': 'a\u0000b' } },
    { destination: 'http://w.test/ok', headers: { 'Svc-Workflow-RunId': 'half \ud800' } },
  ];
  const { status, body } = await harness.call<readonly (Partial<TriggeredRun> & { error?: string })[]>(
    'POST',
    '/v2/batch/trigger',
    {
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(items),
    },
  );
  assert.equal(status, 200);
  assert.equal(body.length, items.length);
  assert.match(body[1]?.error ?? '', /^destination must be an absolute http or https URL/);
  assert.equal(body[2]?.workflowRunId, 'b-1');
  assert.deepEqual(body[4], { ...body[3], deduplicated: true });
  assert.match(body[5]?.error ?? '', /^Svc-Retries must be an integer from 0 to \d+, not "many"/);
  assert.match(body[6]?.error ?? '', /Svc-Wait-For-Result/);
  assert.match(body[7]?.error ?? '', /"extra"/);
  assert.ok(body[8]?.error);
  assert.match(body[9]?.error ?? '', /^Svc-Label contains characters that are not allowed in a header/);
  assert.match(body[10]?.error ?? '', /^Svc-Workflow-RunId contains characters that are not allowed in a header/);
  const first = await harness.store.findRun({ instanceId: 'qi_1', workflowRunId: body[0]?.workflowRunId ?? '' });
  assert.deepEqual(first?.settings.labels, ['a']);
  const payload = await harness.store.loadPayload({ runKey: first?.key ?? '' });
  assert.equal(payload?.contentType, 'text/plain');
  assert.equal(Buffer.from(payload?.forwardHeaders.x ?? '', 'latin1').toString(), 'é');
  const json = await harness.store.findRun({ instanceId: 'qi_1', workflowRunId: 'b-1' });
  const jsonPayload = await harness.store.loadPayload({ runKey: json?.key ?? '' });
  assert.equal(Buffer.from(jsonPayload?.body ?? []).toString(), '{"order":1}');
  assert.equal(jsonPayload?.contentType, 'application/json');
});
