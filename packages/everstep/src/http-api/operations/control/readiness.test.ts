/** Tests the reasons in the responses of the readiness check. The body contains only `error`, as in all errors. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiHarness } from '../../testing/api-harness.js';

interface NotReady {
  readonly error?: string;
}

test('a node without a lease is not ready but accepts requests', async () => {
  let leased = true;
  const node = await ApiHarness.open({ hasLease: () => leased });
  const statuses = async () =>
    Promise.all(['/health', '/ready', '/v2/flowControl/'].map(async (url) => (await node.call('GET', url)).status));
  assert.deepEqual(await statuses(), [200, 200, 200]);
  leased = false;
  assert.deepEqual(await statuses(), [200, 503, 200]);
  const { headers, body } = await node.call<NotReady>('GET', '/ready');
  assert.match(String(body.error), /this node has no database lease/);
  assert.equal(headers['svc-not-ready-reason'], 'no-lease');
  await node.close();
});

test('the readiness check has a stable reason for each state in which the server is not ready', async () => {
  const states = { isStarting: true, isStopping: true, storeRefusal: 'the store rejects writes: disk full', readable: false };
  const node = await ApiHarness.open({
    isStarting: () => states.isStarting,
    isStopping: () => states.isStopping,
    storeRefusal: () => (states.storeRefusal === '' ? null : states.storeRefusal),
  });
  const { latestTime } = node.store;
  node.store.latestTime = async () => (states.readable ? latestTime() : Promise.reject(new Error('at 10.1.2.3')));
  const asked = async () => {
    const { status, headers, body } = await node.call<NotReady>('GET', '/ready');
    if (status === 503) assert.deepEqual(Object.keys(body), ['error']);
    return [status, headers['svc-error-code'], headers['svc-not-ready-reason'], body.error];
  };
  assert.deepEqual((await asked()).slice(0, 3), [503, 'unavailable', 'starting']);
  states.isStarting = false;
  assert.deepEqual((await asked()).slice(0, 3), [503, 'unavailable', 'stopping']);
  states.isStopping = false;
  assert.deepEqual(await asked(), [503, 'store-unavailable', 'store-unavailable', 'the store rejects writes: disk full']);
  states.storeRefusal = '';
  const unreadable = await asked();
  assert.deepEqual(unreadable.slice(0, 3), [503, 'unavailable', 'store-unreadable']);
  assert.ok(!String(unreadable[3]).includes('10.1.2.3'));
  states.readable = true;
  assert.deepEqual(await asked(), [200, undefined, undefined, undefined]);
  await node.close();
});
