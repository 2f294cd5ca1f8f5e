import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { ListSummary } from '../../../contract/insights/list-summaries.js';
import { ApiHarness } from '../../testing/api-harness.js';

let harness: ApiHarness;
before(async () => {
  harness = await ApiHarness.open();
  for (const label of ['eu', 'eu', 'us']) await harness.trigger('ok', { 'svc-label': label, 'svc-wait-for-result': 'true' });
  await harness.fail(2);
});
after(() => harness.close());

const summaryOf = async (list: string, query: Record<string, string> = {}) => {
  const { status, body } = await harness.call<ListSummary>('GET', `/v2/insights/${list}?${new URLSearchParams(query)}`);
  assert.equal(status, 200, JSON.stringify(body));
  assert.equal(body.counts.length * body.intervalMs, body.to - body.from);
  assert.ok(body.counts.length <= 120);
  return body;
};
const totalOf = ({ counts }: ListSummary) => counts.reduce((sum, count) => sum + count, 0);
const runs = (query?: Record<string, string>) => summaryOf('runs', query);

test('a summary counts the runs that match the filters of the list', async () => {
  assert.equal(totalOf(await runs()), 5);
  assert.equal(totalOf(await runs({ workflowUrl: 'http://w.test/fail' })), 2);
  assert.equal(totalOf(await runs({ state: 'RUN_FAILED' })), 2);
  assert.equal(totalOf(await runs({ label: 'eu' })), 2);
  assert.equal(totalOf(await runs({ label: 'eu', q: 'ok' })), 2);
  assert.equal(totalOf(await runs({ q: 'no such run' })), 0);
  assert.equal((await runs({ label: 'eu' })).coveredFrom, null);
});

test('counters are used for whole minutes and without other filters', async () => {
  const minute = Date.now() - (Date.now() % 60_000) - 3_600_000;
  const counted = { fromDate: String(minute), toDate: String(minute + 7_200_000 - 1) };
  const byMinute = await runs(counted);
  assert.deepEqual([byMinute.source, byMinute.intervalMs, totalOf(byMinute)], ['counters', 60_000, 5]);
  assert.equal((await runs({ ...counted, workflowUrl: 'http://w.test/ok' })).source, 'counters');
  for (const [name, value] of Object.entries({ state: 'RUN_SUCCESS', q: 'ok', label: 'eu' }))
    assert.equal((await runs({ ...counted, [name]: value })).source, 'entries', name);
  const inBetween = await runs({ fromDate: String(minute + 1) });
  assert.deepEqual([inBetween.source, totalOf(inBetween)], ['entries', 5]);
});

test('a range without runs, or that ends before it starts, has no counts', async () => {
  assert.equal(totalOf(await runs({ fromDate: '1000', toDate: '2000' })), 0);
  assert.equal(totalOf(await runs({ fromDate: '2000', toDate: '1000' })), 0);
  assert.equal(totalOf(await runs({ fromDate: String(Number.MAX_SAFE_INTEGER - 1) })), 0);
  assert.equal(totalOf(await runs({ fromDate: '0', toDate: String(Number.MAX_SAFE_INTEGER) })), 5);
});

test('the most frequent values of a field come first', async () => {
  const { topValues } = await runs({ field: 'label' });
  assert.deepEqual(topValues, {
    values: [
      { value: 'eu', count: 2 },
      { value: 'us', count: 1 },
    ],
    examined: 5,
    complete: true,
  });
  assert.deepEqual((await runs({ field: 'state', q: 'fail' })).topValues?.values, [{ value: 'RUN_FAILED', count: 2 }]);
  assert.equal((await harness.call('GET', '/v2/insights/runs?field=nothing')).status, 400);
});

test('dead letters and messages have summaries too', async () => {
  const letters = await summaryOf('dead-letters', { field: 'workflowUrl' });
  assert.deepEqual([totalOf(letters), letters.topValues?.values], [2, [{ value: 'http://w.test/fail', count: 2 }]]);
  assert.equal(totalOf(await summaryOf('dead-letters', { label: 'none' })), 0);
  const none = await summaryOf('messages', { field: 'host', state: 'FAILED' });
  assert.deepEqual([totalOf(none), none.topValues?.values], [0, []]);
  assert.equal((await summaryOf('messages')).source, 'counters');
});
