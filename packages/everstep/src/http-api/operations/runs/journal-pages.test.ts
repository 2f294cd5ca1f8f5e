import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { RunJournal } from '../../../contract/runs.js';
import { ApiHarness } from '../../testing/api-harness.js';

let harness: ApiHarness;
before(async () => {
  harness = await ApiHarness.open();
});
after(() => harness.close());

const ended = { 'svc-wait-for-result': 'true' };
const page = async (id: string, query = '') => (await harness.call<RunJournal>('GET', `/v2/workflows/runs/${id}?${query}`)).body;

test('a journal is read in pages; the input is on the first one', async () => {
  await harness.trigger('steps', { 'svc-workflow-runid': 'paged', ...ended });
  const whole = await page('paged');
  assert.deepEqual([whole.cursor, whole.complete], [undefined, undefined]);
  const first = await page('paged', 'count=1');
  assert.deepEqual([first.steps, first.complete, first.input], [whole.steps.slice(0, 1), false, whole.input]);
  const second = await page('paged', `count=1&cursor=${first.cursor}`);
  assert.deepEqual([second.steps, second.complete, second.input], [whole.steps.slice(1), true, undefined]);
  assert.deepEqual(second.result, whole.result);
});

test('the cursor of the last page returns the entries that were added since then', async () => {
  await harness.trigger('wait', { 'svc-workflow-runid': 'open' });
  await harness.journalWhen('open', ({ tasks }) => tasks.some(({ kind }) => kind === 'wait'));
  const before = await page('open', 'count=10');
  const same = await page('open', `count=10&cursor=${before.cursor}`);
  assert.deepEqual([same.steps, same.attempts, same.complete, same.tasks], [[], [], true, before.tasks]);
  await harness.call('DELETE', '/v2/workflows/runs/open');
  const after = await page('open', `count=10&cursor=${same.cursor}`);
  assert.deepEqual([after.workflowState, after.steps], ['RUN_CANCELED', []]);
});

test('failed attempts are on one page only, with the times when they started', async () => {
  await harness.trigger('refused-call', { 'svc-workflow-runid': 'failed', ...ended });
  const first = await page('failed', 'count=1');
  assert.deepEqual([first.attempts.length, first.complete], [1, false]);
  assert.equal(typeof first.attempts[0]?.startedAt, 'number');
  const second = await page('failed', `count=1&cursor=${first.cursor}`);
  assert.deepEqual([second.attempts.map(({ retried }) => retried), second.complete], [[1], true]);
  const third = await page('failed', `count=1&cursor=${second.cursor}`);
  assert.deepEqual([third.attempts, third.complete], [[], true]);
});

test('long results are omitted on request', async () => {
  const { steps } = await page('paged', 'count=10&maxResultBytes=0');
  assert.deepEqual(
    steps.map(({ out, outLeftOut }) => [out, outLeftOut]),
    [
      [undefined, 1],
      [undefined, 1],
    ],
  );
});

test('a cursor belongs to one run and requires the size of a page', async () => {
  const { cursor } = await page('paged', 'count=1');
  const codeOf = async (path: string) => {
    const { status, headers } = await harness.call('GET', `/v2/workflows/runs/${path}`);
    return [status, headers['svc-error-code']];
  };
  assert.deepEqual(await codeOf(`failed?count=1&cursor=${cursor}`), [400, 'bad-cursor']);
  assert.deepEqual(await codeOf(`paged?cursor=${cursor}`), [400, 'bad-parameter']);
  assert.deepEqual(await codeOf('paged?count=0'), [400, 'bad-parameter']);
});
