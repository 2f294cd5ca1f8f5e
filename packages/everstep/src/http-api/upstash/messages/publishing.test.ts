/** Publishing messages through the API: their total size, and duplicates. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { LIMITS } from '../../../config/limits.js';
import { ApiHarness, type ErrorResponse } from '../../testing/api-harness.js';
import { json } from '../../testing/bad-input-case.js';

const INSTANCE = 'qi_1';
const TOO_LARGE = /bytes in total, but a request or a schedule can publish at most 67108864 bytes at once; .*smaller URL groups/;

async function open(t: TestContext): Promise<ApiHarness> {
  const harness = await ApiHarness.open();
  t.after(() => harness.close());
  return harness;
}

const addEndpoints = (harness: ApiHarness, name: string, count: number) =>
  harness.runtime.urlGroups.addEndpoints({
    instanceId: INSTANCE,
    name,
    endpoints: Array.from({ length: count }, (_, n) => ({ name: null, url: `http://m.test/${n}` })),
  });

const countMessages = async (harness: ApiHarness): Promise<number> =>
  (await harness.runtime.messages.list({ instanceId: INSTANCE, filter: {}, after: null, limit: 1_000 })).items.length;

test('messages to a URL group that are too large together are rejected', async (t) => {
  const harness = await open(t);
  await addEndpoints(harness, 'all', 7);
  const body = Buffer.alloc(LIMITS.maxBodyBytes);
  for (const [url, headers] of [
    ['/v2/publish/all', { 'upstash-method': 'PUT' }],
    ['/v2/enqueue/q/all', { 'upstash-method': 'PUT' }],
    ['/v2/schedules/all', { 'upstash-cron': '0 9 * * *' }],
  ] as const) {
    const received = await harness.call('POST', url, { headers, body });
    assert.deepEqual([received.status, received.headers['upstash-error-code']], [413, 'body-too-large'], url);
    assert.match(received.body.error, TOO_LARGE);
  }
  assert.equal(await countMessages(harness), 0);
});

test('an item of a batch that would make it too large gets its own error, and the other items are published', async (t) => {
  const harness = await open(t);
  await addEndpoints(harness, 'all', 30);
  const large = { destination: 'all', body: 'x'.repeat(1.5 * 1024 * 1024) };
  const received = await harness.call<readonly (readonly unknown[] | ErrorResponse)[]>('POST', '/v2/batch', {
    headers: json,
    body: JSON.stringify([large, large, { destination: 'all', body: 'small' }]),
  });
  assert.equal(received.status, 200);
  const [first, second, third] = received.body;
  assert.ok(Array.isArray(first) && Array.isArray(third) && second && 'error' in second);
  assert.match(second.error, TOO_LARGE);
  assert.deepEqual([first.length, third.length, await countMessages(harness)], [30, 30, 60]);
});

test('a schedule whose messages have become too large together cannot be changed to a large body, or run', async (t) => {
  const harness = await open(t);
  await addEndpoints(harness, 'all', 1);
  const headers = { 'upstash-cron': '0 9 * * *', 'upstash-schedule-id': 'news' };
  const body = 'x'.repeat(1_000_000);
  assert.equal((await harness.call('POST', '/v2/schedules/all', { headers, body })).status, 200);
  await addEndpoints(harness, 'all', 70);
  const change = { headers: { 'content-type': 'application/json' }, body: JSON.stringify({ body }) };
  for (const received of [
    await harness.call('POST', '/v2/schedules/news/run'),
    await harness.call('PATCH', '/v2/schedules/news', change),
  ]) {
    assert.deepEqual([received.status, received.headers['svc-error-code']], [413, 'body-too-large']);
    assert.match(received.body.error, TOO_LARGE);
  }
  assert.equal(await countMessages(harness), 0);
});

test('content-based deduplication distinguishes methods, but not queues', async (t) => {
  const harness = await open(t);
  const isDuplicate = async (path: string, method?: string): Promise<boolean> => {
    const headers = {
      'upstash-content-based-deduplication': 'true',
      ...(method === undefined ? {} : { 'upstash-method': method }),
    };
    const url = `/v2/${path}/http://m.test/item`;
    const { status, body } = await harness.call<{ readonly deduplicated?: true }>('POST', url, { headers, body: '{}' });
    assert.equal(status, 200);
    return body.deduplicated === true;
  };
  assert.deepEqual(
    [
      await isDuplicate('publish', 'PUT'),
      await isDuplicate('publish', 'DELETE'),
      await isDuplicate('publish', 'PUT'),
      await isDuplicate('publish'),
      await isDuplicate('publish', 'POST'),
      await isDuplicate('enqueue/q'),
    ],
    [false, false, true, false, true, true],
  );
});
