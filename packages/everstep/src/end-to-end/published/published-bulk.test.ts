/** Bulk requests of clients that send their filters in a JSON body, where the published client uses the query. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type Harness, openHarness } from './published-messages.fixture.js';

let harness: Harness;
before(async () => {
  harness = await openHarness();
});
after(() => harness?.stop());

async function ask(method: string, path: string, filters: unknown): Promise<readonly [number, Record<string, unknown>]> {
  const init = { headers: { 'content-type': 'application/json' }, body: JSON.stringify(filters) };
  const response = await harness.request(method, path, init);
  return [response.status, (await response.json()) as Record<string, unknown>];
}

test('only the messages selected in the body are canceled', async () => {
  const { client, endpoints } = harness;
  const url = endpoints.url('/later');
  const publish = (label: string) => client.publish({ url, delay: '1h', label });
  const [named, labelled, kept] = [await publish('a'), await publish('b, c'), await publish('d')];
  assert.deepEqual(await ask('DELETE', '/v2/messages', { messageIds: [named?.messageId, 'msg_none'] }), [202, { cancelled: 1 }]);
  assert.deepEqual(await ask('DELETE', '/v2/messages', { messageIds: [] }), [202, { cancelled: 0 }]);
  assert.deepEqual(await ask('DELETE', '/v2/messages', { label: ['x', 'y'], url }), [202, { cancelled: 0 }]);
  // A text is parsed like a query parameter: a comma separates labels.
  assert.deepEqual(await ask('DELETE', '/v2/messages', { label: 'x,b', url }), [202, { cancelled: 1 }]);
  for (const [path, filters, words] of [
    ['/v2/messages', {}, /the body contains no filter/],
    ['/v2/messages', { lable: 'd' }, /unknown query parameter "lable"/],
    ['/v2/messages', ['msg_none'], /the body must be an object/],
    ['/v2/messages?count=10', { label: 'd' }, /in both the query and the body/],
  ] as const) {
    const [status, { error }] = await ask('DELETE', path, filters);
    assert.deepEqual([status, words.test(String(error))], [400, true], String(error));
  }
  assert.equal((await client.messages.get(kept?.messageId ?? '')).labels?.[0], 'd');
  assert.ok(labelled);
  assert.equal(await client.messages.deleteAll(), 1);
});

test('only the dead letters selected in the body are deleted or retried', async () => {
  const { client, endpoints, service } = harness;
  const url = endpoints.when('/fails', (_delivery, nth) => ({ status: nth > 3 ? 200 : 500 }));
  for (const label of ['one', 'two', 'three']) await client.publish({ url, retries: 0, label });
  await service.settle();
  const { messages } = await client.dlq.listMessages();
  const idOf = (label: string) => messages.find((message) => message.label === label)?.dlqId;
  assert.deepEqual(await ask('DELETE', '/v2/dlq', { dlqIds: [] }), [200, { deleted: 0 }]);
  assert.deepEqual(await ask('POST', '/v2/dlq/retry', { dlqIds: [] }), [201, { responses: [] }]);
  assert.deepEqual(await ask('DELETE', '/v2/dlq', { dlqIds: [idOf('one')] }), [200, { deleted: 1 }]);
  assert.equal((await ask('DELETE', '/v2/dlq', {}))[0], 400);
  const [status, { responses }] = await ask('POST', '/v2/dlq/retry', { label: 'two' });
  assert.deepEqual([status, Array.isArray(responses) && responses.length], [201, 1]);
  const left = await client.dlq.listMessages();
  assert.deepEqual(
    left.messages.map(({ label }) => label),
    ['three'],
  );
});
