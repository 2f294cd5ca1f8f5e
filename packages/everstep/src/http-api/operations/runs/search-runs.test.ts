import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { LIMITS } from '../../../config/limits.js';
import type { RunSearchPage } from '../../../contract/runs.js';
import type { CommitUnit } from '../../../ports/stores/store.js';
import { sampleRun } from '../../../stores/conformance/samples.js';
import { ApiHarness } from '../../testing/api-harness.js';

let harness: ApiHarness;
before(async () => {
  harness = await ApiHarness.open();
});
after(() => harness.close());

const ended = { 'svc-wait-for-result': 'true' };
const search = async (query: Record<string, string>, of = harness) =>
  (await of.call<RunSearchPage>('GET', `/v2/workflows/search?${new URLSearchParams(query)}`)).body;
const idsOf = ({ runs }: RunSearchPage) => runs.map(({ workflowRunId }) => workflowRunId);
const latin1 = (text: string) => Buffer.from(text).toString('latin1');
const find = async (q: string) => idsOf(await search({ q }));

test('finds runs whose ids, labels, URLs and errors contain all words, case-insensitively', async () => {
  await harness.trigger('ok?Bills', { 'svc-workflow-runid': 'order-17', 'svc-label': latin1('Müller,EU'), ...ended });
  await harness.trigger('fail', { 'svc-workflow-runid': 'order-18', 'svc-label': 'eu', 'svc-retries': '0', ...ended });
  await harness.trigger('ok', { 'svc-workflow-runid': 'shipment 100%_*', ...ended });
  assert.deepEqual(await find('ORDER'), ['order-18', 'order-17']);
  assert.deepEqual(await find('mÜLLER'), ['order-17']);
  assert.deepEqual(await find('/ok?bills'), ['order-17']);
  assert.deepEqual(await find('returned 500'), ['order-18']);
  assert.deepEqual(await find('  order   eu '), ['order-18', 'order-17']);
  assert.deepEqual(await find('order eu bills'), ['order-17']);
  assert.deepEqual(await find('order shipment'), []);
  assert.deepEqual(await find(''), ['shipment 100%_*', 'order-18', 'order-17']);
});

test('a search has no wildcards', async () => {
  assert.deepEqual(await find('100%_*'), ['shipment 100%_*']);
  for (const q of ['%', '_', '*']) assert.deepEqual(await find(q), ['shipment 100%_*'], q);
  for (const q of ['order_17', 'ord%', 'o*r', '.', 'order.17'])
    assert.deepEqual(await find(q), q === '.' ? await find('w.test') : [], q);
});

test('shows a run as in the log, without steps and result', async () => {
  const { runs, complete, searchedUntil, cursor } = await search({ q: 'order-18' });
  const [run] = runs;
  const [entry] = (await harness.call<{ runs: Record<string, unknown>[] }>('GET', '/v2/workflows/logs?workflowRunId=order-18'))
    .body.runs;
  const { steps: _steps, workflowRunResponse: _response, ...shown } = entry ?? {};
  assert.deepEqual(run, shown);
  assert.deepEqual([complete, cursor], [true, undefined]);
  assert.ok(searchedUntil !== null && searchedUntil <= (run?.workflowRunCreatedAt ?? 0));
});

test('supports all filters of the run log', async () => {
  assert.deepEqual(idsOf(await search({ q: 'order', state: 'RUN_FAILED' })), ['order-18']);
  assert.deepEqual(idsOf(await search({ q: 'order', label: 'EU' })), ['order-17']);
  assert.deepEqual(idsOf(await search({ q: 'order', workflowUrl: 'http://w.test/ok' })), []);
  assert.deepEqual(idsOf(await search({ q: 'order', workflowRunId: 'order-17' })), ['order-17']);
  assert.deepEqual(idsOf(await search({ q: 'order-17', workflowRunId: 'order-17' })), ['order-17']);
  assert.deepEqual(idsOf(await search({ q: 'order', callerIp: '10.0.0.1' })), []);
  assert.deepEqual(await search({ q: 'order', fromDate: '2', toDate: '1' }), { runs: [], searchedUntil: null, complete: true });
});

test('an exact id comes first, even when it was used several times', async () => {
  for (let n = 0; n < 3; n++) await harness.trigger('ok', { 'svc-workflow-runid': 'daily', ...ended });
  await harness.trigger('ok', { 'svc-workflow-runid': 'daily-2', ...ended });
  assert.deepEqual(await find('daily'), ['daily', 'daily', 'daily', 'daily-2']);
  const found: string[] = [];
  for (let cursor = ''; ; ) {
    const page = await search({ q: 'daily', count: '2', cursor });
    found.push(...idsOf(page));
    assert.equal(page.complete, page.cursor === undefined);
    if (page.cursor === undefined) break;
    ({ cursor } = page);
  }
  assert.deepEqual(found, ['daily', 'daily', 'daily', 'daily-2']);
});

test('one request searches a limited number of runs, reports its progress, and the cursor continues', async () => {
  const large = await ApiHarness.open();
  const runs = LIMITS.maxRunsSearched + 5_000;
  for (let first = 0; first < runs; first += 5_000) {
    const units = Array.from({ length: 5_000 }, (_, at): CommitUnit => {
      const run = sampleRun(first + at, { instanceId: 'qi_1', workflowRunId: `wfr_${first + at}`, settings: { labels: ['x'] } });
      return {
        guards: [],
        writes: [{ kind: 'create-run', run, input: { body: new Uint8Array(0), contentType: null, forwardHeaders: {} } }],
      };
    });
    await large.store.commit(units);
  }
  const startedAt = performance.now();
  const exact = await search({ q: 'wfr_1', count: '1' }, large);
  assert.deepEqual(idsOf(exact), ['wfr_1'], 'the second oldest run is found immediately');
  assert.ok(performance.now() - startedAt < LIMITS.maxRunSearchMs * 10);
  let page = await search({ q: 'WFR_7 x' }, large);
  const seen: number[] = [];
  let requests = 1;
  while (!page.complete) {
    assert.ok(page.cursor !== undefined && page.searchedUntil !== null);
    seen.push(page.searchedUntil);
    page = await search({ q: 'WFR_7 x', cursor: page.cursor, count: '100' }, large);
    requests++;
  }
  assert.ok(requests > 1);
  assert.deepEqual(
    [...seen].sort((a, b) => b - a),
    seen,
  );
  const nothing = await search({ q: 'no such thing' }, large);
  assert.deepEqual([nothing.runs, nothing.complete], [[], false]);
  await large.close();
});

test('a cursor is bound to its query, and invalid queries are rejected', async () => {
  const { cursor } = await search({ q: 'daily', count: '1' });
  const codeOf = async (query: string) => {
    const { status, headers } = await harness.call('GET', `/v2/workflows/search?${query}`);
    return [status, headers['svc-error-code']];
  };
  assert.deepEqual(await codeOf(`q=other&cursor=${cursor}`), [400, 'bad-cursor']);
  assert.deepEqual(await codeOf(`q=daily&state=RUN_FAILED&cursor=${cursor}`), [400, 'bad-cursor']);
  assert.deepEqual(await codeOf('count=101'), [400, 'bad-parameter']);
  assert.deepEqual(await codeOf(`q=${'x'.repeat(LIMITS.maxRunQueryLength + 1)}`), [400, 'bad-parameter']);
  assert.deepEqual(await codeOf(`q=${Array.from({ length: 21 }, (_, n) => n).join('+')}`), [400, 'bad-parameter']);
  assert.deepEqual(await codeOf('query=daily'), [400, 'bad-parameter']);
});

test('reads runs again by their creation times and ids', async () => {
  const ids = ['again,1', 'again.2'];
  for (const id of ids) await harness.trigger('ok', { 'svc-workflow-runid': id, ...ended });
  const { runs } = await search({ q: 'again' });
  const names = runs.map(({ workflowRunId, workflowRunCreatedAt }) => `${workflowRunCreatedAt}.${workflowRunId}`);
  const read = async (given: readonly string[]) =>
    harness.call<RunSearchPage>(
      'GET',
      `/v2/workflows/search?${new URLSearchParams(given.map((name): [string, string] => ['run', name]))}`,
    );
  assert.deepEqual((await read([...names, '1.removed'])).body, { runs, searchedUntil: null, complete: true });
  assert.deepEqual((await read(names.slice(1))).body.runs, runs.slice(1), 'a comma is part of an id');
  assert.equal((await read(['order-17'])).status, 400);
  assert.equal((await read(Array.from({ length: LIMITS.maxRunsById + 1 }, (_, n) => `1.${n}`))).status, 400);
});
