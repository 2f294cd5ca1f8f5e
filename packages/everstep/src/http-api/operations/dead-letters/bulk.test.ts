import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { DeadLetterEntry } from '../../../contract/dead-letters.js';
import type { RunJournal } from '../../../contract/runs.js';
import { ApiHarness, type ErrorResponse } from '../../testing/api-harness.js';

interface Bulk {
  readonly workflowRuns: readonly { workflowRunId: string; workflowCreatedAt: number }[];
  readonly cursor: string;
}
interface Deleted {
  readonly deleted: number;
  readonly cursor: string;
}

let harness: ApiHarness;
before(async () => {
  harness = await ApiHarness.open();
});
after(() => harness.close());

const bulk = async (kind: 'resume' | 'restart', query: string, headers: Record<string, string> = {}) => {
  const { status, body } = await harness.call<Bulk>('POST', `/v2/workflows/dlq/${kind}?${query}`, { headers });
  assert.equal(status, 200, JSON.stringify(body));
  return body;
};
const entries = async (query: string): Promise<readonly DeadLetterEntry[]> =>
  (await harness.call<{ messages: DeadLetterEntry[] }>('GET', `/v2/workflows/dlq?${query}`)).body.messages;
const journal = async (runId: string): Promise<RunJournal> =>
  (await harness.call<RunJournal>('GET', `/v2/workflows/runs/${encodeURIComponent(runId)}`)).body;
/** Waits until the runs have ended, which takes a few turns. */
const waitForEnds = (runs: Bulk['workflowRuns']) =>
  Promise.all(runs.map(({ workflowRunId }) => harness.call('GET', `/v2/workflows/runs/${workflowRunId}/result`)));

test('a bulk operation handles 50 entries per request, oldest first, follows its cursor and skips runs that failed again', async () => {
  const ids = await harness.fail(120, { 'svc-label': 'many' });
  const before = await entries('label=many');
  const runIdOf = new Map(before.map(({ dlqId, workflowRunId }) => [dlqId, workflowRunId]));
  const origins: string[] = [];
  let cursor = '';
  const sizes: number[] = [];
  do {
    const page = await bulk('restart', `label=many${cursor === '' ? '' : `&cursor=${cursor}`}`);
    sizes.push(page.workflowRuns.length);
    await waitForEnds(page.workflowRuns);
    for (const { workflowRunId } of page.workflowRuns)
      origins.push((await journal(workflowRunId)).workflowRunOrigin?.dlqId ?? '');
    cursor = page.cursor;
  } while (cursor !== '');
  assert.deepEqual(sizes, [50, 50, 20]);
  assert.deepEqual(origins, ids, 'each entry once, in the order in which the runs failed');
  const afterwards = await entries('label=many');
  assert.equal(afterwards.length, 100, 'all of them failed again and are left for the next bulk');
  assert.ok(afterwards.every(({ dlqId }) => !runIdOf.has(dlqId)));
  await harness.call('DELETE', '/v2/workflows/dlq?label=many');
});

test('returns no cursor after the last page', async () => {
  await harness.fail(50, { 'svc-label': 'fifty' });
  const page = await bulk('resume', 'label=fifty');
  assert.equal(page.workflowRuns.length, 50);
  assert.equal(page.cursor, '');
});

test('count applies to all requests, and the cursor contains the remaining number', async () => {
  const ids = await harness.fail(60, { 'svc-label': 'counted' });
  const first = await bulk('restart', 'label=counted&count=53', { 'svc-label': 'again' });
  assert.equal(first.workflowRuns.length, 50);
  const second = await bulk('restart', `label=counted&count=53&cursor=${first.cursor}`, { 'svc-label': 'again' });
  assert.equal(second.workflowRuns.length, 3);
  assert.equal(second.cursor, '');
  assert.deepEqual((await entries('label=counted')).map(({ dlqId }) => dlqId).reverse(), ids.slice(53));
  const small = await bulk('restart', 'label=counted&count=2', { 'svc-label': 'again' });
  assert.equal(small.workflowRuns.length, 2);
  assert.equal(small.cursor, '', 'the count is used up');
});

test('a cursor neither skips nor repeats entries when others are processed in between', async () => {
  const ids = await harness.fail(70, { 'svc-label': 'raced' });
  const first = await bulk('restart', 'label=raced', { 'svc-label': 'elsewhere' });
  const taken = ids.slice(50, 60);
  await bulk('resume', `dlqIds=${taken.join(',')}`, { 'svc-label': 'elsewhere' });
  const second = await bulk('restart', `label=raced&cursor=${first.cursor}`, { 'svc-label': 'elsewhere' });
  assert.equal(second.workflowRuns.length, 10);
  assert.equal(second.cursor, '');
  assert.deepEqual(await entries('label=raced'), []);
});

test('two concurrent bulk operations create one run per entry', async () => {
  await harness.fail(30, { 'svc-label': 'twice' });
  const headers = { 'svc-label': 'of-twice' };
  const pages = await Promise.all([bulk('resume', 'label=twice', headers), bulk('restart', 'label=twice', headers)]);
  const made = pages.flatMap(({ workflowRuns }) => workflowRuns.map(({ workflowRunId }) => workflowRunId));
  assert.equal(made.length, 30);
  assert.equal(new Set(made).size, 30);
});

test('dlqIds are all or nothing, without duplicates, and override other filters', async () => {
  const ids = await harness.fail(3, { 'svc-label': 'named' });
  const [a = '', b = '', c = ''] = ids;
  const missing = await harness.call('POST', `/v2/workflows/dlq/restart?dlqIds=${a},dlq_none,${b}`);
  assert.equal(missing.status, 404);
  assert.match(missing.body.error, /dlq_none/);
  assert.equal((await entries('label=named')).length, 3, 'nothing happened');
  for (const request of [
    `POST /v2/workflows/dlq/restart?dlqIds=${a},${b}&count=1`,
    `DELETE /v2/workflows/dlq?dlqIds=${a},${b}&count=1`,
  ]) {
    const [method, url = ''] = request.split(' ');
    const less = await harness.call(method === 'POST' ? 'POST' : 'DELETE', url);
    assert.deepEqual([less.status, less.headers['svc-error-code']], [400, 'bad-parameter']);
    assert.match(less.body.error, /^count \(1\) must not be less than the number of dlqIds \(2\)/);
  }
  const page = await bulk('restart', `dlqIds=${a}&dlqIds=${a},${b}&label=other&count=2`);
  assert.equal(page.workflowRuns.length, 2);
  assert.equal(page.cursor, '');
  const repeated = Array.from({ length: 60 }, () => c).join(',');
  assert.equal((await bulk('resume', `dlqIds=${repeated}`)).workflowRuns.length, 1);
});

test('workflowRunId is a prefix for resume and delete, and exact for restart', async () => {
  for (const id of ['order-1', 'order-2', 'orders']) await harness.fail(1, { 'svc-workflow-runid': id, 'svc-label': 'by-id' });
  assert.equal((await bulk('restart', 'workflowRunId=order-')).workflowRuns.length, 0);
  assert.equal((await bulk('resume', 'workflowRunId=order-', { 'svc-label': 'resumed' })).workflowRuns.length, 2);
  assert.equal((await bulk('restart', 'workflowRunId=orders', { 'svc-label': 'restarted' })).workflowRuns.length, 1);
  await harness.fail(1, { 'svc-workflow-runid': 'order-3' });
  const deleted = await harness.call<Deleted>('DELETE', '/v2/workflows/dlq?workflowRunId=order-');
  assert.deepEqual(deleted.body, { deleted: 1, cursor: '' });
});

test('an empty time range matches nothing', async () => {
  assert.deepEqual(await bulk('resume', 'fromDate=2&toDate=1'), { workflowRuns: [], cursor: '' });
});

test('overrides apply to the new runs; settings without an override keep their value', async () => {
  const original = {
    'svc-label': 'overridden',
    'svc-retries': '1',
    'svc-retry-delay': '10',
    'svc-flow-control-key': 'old',
    'svc-flow-control-value': 'parallelism=1',
  };
  const settingsOf = async (page: Bulk) => {
    const run = await harness.store.findRun({ instanceId: 'qi_1', workflowRunId: page.workflowRuns[0]?.workflowRunId ?? '' });
    assert.ok(run);
    return run.settings;
  };
  await harness.fail(1, original);
  const set = await settingsOf(
    await bulk('resume', 'label=overridden', {
      'svc-retries': '5',
      'svc-retry-delay': 'retried',
      'svc-delay': '1h',
      'svc-label': 'new',
      'svc-flow-control-key': 'other',
      'svc-flow-control-value': 'rate=3, period=2s',
      'svc-failure-callback': 'http://w.test/callback',
      'svc-failure-callback-forward-x-a': '1',
    }),
  );
  assert.deepEqual(set, {
    maxRetries: 5,
    retryDelay: 'retried',
    deliveryTimeoutMs: set.deliveryTimeoutMs,
    labels: ['new'],
    flowControl: { key: 'other', rate: 3, periodMs: 2_000 },
    failureCallback: { url: 'http://w.test/callback', headers: { 'x-a': '1' } },
  });
  await harness.fail(1, original);
  const kept = await settingsOf(await bulk('restart', 'label=overridden', { 'svc-flow-control-value': 'parallelism=9' }));
  assert.deepEqual(kept.flowControl, { key: 'old', parallelism: 9 });
  assert.deepEqual([kept.maxRetries, kept.retryDelay, kept.labels], [1, '10', ['overridden']]);
});

test('rejects limits for a run without a flow control key and changes nothing', async () => {
  await harness.fail(2, { 'svc-label': 'keyless' });
  const headers = { 'svc-flow-control-value': 'parallelism=1' };
  const { status, body } = await harness.call('POST', '/v2/workflows/dlq/resume?label=keyless', { headers });
  assert.equal(status, 400);
  assert.match(body.error, /Svc-Flow-Control-Value requires Svc-Flow-Control-Key/);
  assert.equal((await entries('label=keyless')).length, 2);
});

test('a single resume or restart creates one run at either path, with an optional id', async () => {
  const paths = ['/v2/workflows/dlq/resume/', '/v2/dlq/resume/', '/v2/workflows/dlq/restart/', '/v2/dlq/restart/'];
  for (const [index, path] of paths.entries()) {
    const [dlqId = ''] = await harness.fail(1);
    const headers = { 'svc-workflow-runid': `single-${index}`, 'svc-retries': '4' };
    const { status, body } = await harness.call<Bulk['workflowRuns'][number]>('POST', path + dlqId, { headers });
    assert.equal(status, 200);
    assert.deepEqual(Object.keys(body).sort(), ['workflowCreatedAt', 'workflowRunId']);
    const run = await journal(`single-${index}`);
    assert.equal(run.workflowRunOrigin?.dlqId, dlqId);
    assert.equal(run.workflowRunOrigin?.kind, path.includes('resume') ? 'resume' : 'restart');
    assert.equal(run.maxRetries, 4);
    const old = await journal(run.workflowRunOrigin?.workflowRunId ?? '');
    assert.equal(old.workflowRunBecame?.workflowRunId, `single-${index}`);
    assert.equal((await harness.call('POST', path + dlqId)).status, 404, 'the entry is gone');
  }
});

test('rejects the id of an active run for another run', async () => {
  await harness.trigger('hang', { 'svc-workflow-runid': 'busy' });
  const [dlqId = ''] = await harness.fail(1);
  const taken = await harness.call('POST', `/v2/dlq/restart/${dlqId}`, { headers: { 'svc-workflow-runid': 'busy' } });
  assert.equal(taken.status, 409);
  assert.equal(taken.headers['svc-error-code'], 'run-id-taken');
  assert.equal((await harness.call('GET', `/v2/workflows/dlq/${dlqId}`)).status, 200, 'the entry is still there');
});

test('delete requires ids or filters, in the query or the body', async () => {
  const [a = '', b = '', c = '', d = ''] = await harness.fail(4, { 'svc-label': 'gone' });
  assert.deepEqual((await harness.call('DELETE', `/v2/workflows/dlq/${a}`)).body, { deleted: 1 });
  assert.equal((await harness.call('DELETE', `/v2/workflows/dlq/${a}`)).status, 404);
  assert.deepEqual((await harness.call('DELETE', `/v2/workflows/dlq?dlqIds=${b}`)).body, { deleted: 1, cursor: '' });
  const json = { 'content-type': 'application/json' };
  const body = JSON.stringify({ dlqIds: [c, c] });
  assert.deepEqual((await harness.call('DELETE', '/v2/workflows/dlq', { headers: json, body })).body, { deleted: 1, cursor: '' });
  const refused: readonly (readonly [query: string, body: string | undefined])[] = [
    ['', undefined],
    ['?count=1', undefined],
    ['?cursor=', undefined],
    ['?lable=gone', undefined],
    ['?dlqIds=', undefined],
    ['', '{"dlqIds":[]}'],
    ['', '{"dlqIDs":["x"]}'],
    [`?dlqIds=${d}`, JSON.stringify({ dlqIds: [d] })],
  ];
  for (const [query, content] of refused) {
    const options = content === undefined ? {} : { headers: json, body: content };
    const response = await harness.call<ErrorResponse>('DELETE', `/v2/workflows/dlq${query}`, options);
    assert.equal(response.status, 400, `${query} ${content}`);
  }
  assert.equal((await entries('label=gone')).length, 1);
  await harness.fail(54, { 'svc-label': 'gone' });
  const first = await harness.call<Deleted>('DELETE', '/v2/workflows/dlq?label=gone');
  assert.equal(first.body.deleted, 50);
  const rest = await harness.call<Deleted>('DELETE', `/v2/workflows/dlq?label=gone&cursor=${first.body.cursor}`);
  assert.deepEqual(rest.body, { deleted: 5, cursor: '' });
});
