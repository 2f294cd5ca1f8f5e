import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { DeadLetterEntry } from '../../../contract/dead-letters.js';
import type { ExplanationResponse } from '../../../contract/explanation.js';
import type { DestinationEntry, FlowControlEntry } from '../../../contract/service.js';
import type { InstanceSettings } from '../../../engine/runs/run.js';
import { ApiHarness } from '../../testing/api-harness.js';

let harness: ApiHarness;
before(async () => {
  harness = await ApiHarness.open();
});
after(() => harness.close());

const json = { 'content-type': 'application/json' };
const flow = (path: string, method: 'GET' | 'POST' = 'POST') => harness.call<FlowControlEntry>(method, `/v2/flowControl/${path}`);

test('lists flow control keys with and without a slash, and returns one with the limits that a run set', async () => {
  const key = 'my key/1';
  const headers = { 'svc-flow-control-key': key, 'svc-flow-control-value': 'parallelism=2, rate=10, period=1m' };
  await harness.trigger('hang', headers);
  await harness.trigger('hang', { ...headers, 'svc-delay': '1h' });
  let { body } = await flow(encodeURIComponent(key), 'GET');
  // The response to a trigger is sent before its run starts, so the test waits for turns of the event loop.
  for (let turn = 0; body.parallelismCount === 0; turn++) {
    assert.ok(turn < 10_000, 'the run does not start');
    await new Promise((resolve) => setImmediate(resolve));
    ({ body } = await flow(encodeURIComponent(key), 'GET'));
  }
  const { ratePeriodStart, ...rest } = body;
  assert.deepEqual(rest, {
    flowControlKey: key,
    waitListSize: 0,
    parallelismMax: 2,
    parallelismCount: 1,
    rateMax: 10,
    rateCount: 1,
    ratePeriod: 60,
    isPaused: false,
    isPinnedParallelism: false,
    isPinnedRate: false,
  });
  assert.ok(Number.isSafeInteger(ratePeriodStart));
  for (const path of ['/v2/flowControl', '/v2/flowControl/']) {
    const listed = await harness.call<{ flowControls: FlowControlEntry[] }>('GET', path);
    assert.deepEqual(listed.body.flowControls, [body]);
  }
});

test('pauses, resumes, pins, unpins and resets a key and returns its new state', async () => {
  await harness.trigger('hang', { 'svc-flow-control-key': 'k', 'svc-flow-control-value': 'parallelism=1' });
  assert.equal((await flow('k/pause')).body.isPaused, true);
  assert.equal((await flow('k/resume')).body.isPaused, false);
  const { body: pinned } = await flow('k/pin?parallelism=3&rate=7&period=2m');
  assert.deepEqual(
    [pinned.parallelismMax, pinned.rateMax, pinned.ratePeriod, pinned.isPinnedParallelism, pinned.isPinnedRate],
    [3, 7, 120, true, true],
  );
  await harness.trigger('hang', { 'svc-flow-control-key': 'k', 'svc-flow-control-value': 'parallelism=9' });
  assert.equal((await flow('k', 'GET')).body.parallelismMax, 3, 'pinned limits stay');
  assert.equal((await flow('k/resetRate')).body.rateCount, 0);
  assert.deepEqual((await flow('k/unpin')).body.isPinnedParallelism, false);
  await harness.trigger('hang', { 'svc-flow-control-key': 'k', 'svc-flow-control-value': 'parallelism=9' });
  assert.equal((await flow('k', 'GET')).body.parallelismMax, 9);
  const made = await flow('new%2Fkey/pin?rate=5');
  assert.deepEqual([made.status, made.body.flowControlKey, made.body.ratePeriod], [200, 'new/key', 1], 'a pin creates the key');
  const global = await harness.call<{ parallelismMax: number; parallelismCount: number }>('GET', '/v2/globalParallelism');
  assert.ok(global.body.parallelismMax >= global.body.parallelismCount && global.body.parallelismCount > 0);
});

test('pins parallelism and rate separately; unpin without parameters unpins both', async () => {
  const pins = async (request: string) => {
    const { status, body } = await flow(request);
    assert.equal(status, 200, request);
    return [body.isPinnedParallelism, body.isPinnedRate];
  };
  assert.deepEqual(await pins('p/pin?parallelism=3'), [true, false]);
  const value = { 'svc-flow-control-key': 'p', 'svc-flow-control-value': 'parallelism=9, rate=5' };
  await harness.trigger('hang', value);
  const { body } = await flow('p', 'GET');
  assert.deepEqual([body.parallelismMax, body.rateMax], [3, 5], 'limits that are not pinned follow the latest run');
  assert.deepEqual(await pins('p/pin?rate=2'), [true, true]);
  assert.deepEqual(await pins('p/unpin?parallelism=true&rate=false'), [false, true]);
  assert.deepEqual(await pins('p/unpin?parallelism=true'), [false, true]);
  assert.deepEqual(await pins('p/pin'), [true, true], 'a pin without limits pins the current limits');
  assert.deepEqual(await pins('p/unpin?rate=true'), [true, false]);
  assert.deepEqual(await pins('p/unpin'), [false, false]);
  await harness.trigger('hang', { 'svc-flow-control-key': 'only', 'svc-flow-control-value': 'rate=5' });
  assert.deepEqual(await pins('only/pin'), [false, true]);
});

test('explains a waiting run with its position at the key', async () => {
  await harness.trigger('hang', { 'svc-flow-control-key': 'ex', 'svc-flow-control-value': 'parallelism=1' });
  await harness.trigger('hang', { 'svc-workflow-runid': 'held', 'svc-flow-control-key': 'ex' });
  const { status, body } = await harness.call<ExplanationResponse>('GET', '/v2/workflows/runs/held/explain');
  assert.equal(status, 200);
  assert.equal(body.workflowState, 'RUN_STARTED');
  const [task] = body.tasks;
  assert.deepEqual([task?.what, task?.reasons[0]?.kind, task?.reasons[0]?.place], ['workflow', 'flow-control', 1]);
  assert.match(body.summary, /Position 1 of 1 in the wait list of the flow control key "ex"/);
  await harness.trigger('hang', { 'svc-workflow-runid': 'later', 'svc-delay': '1h' });
  const later = await harness.call<ExplanationResponse>('GET', '/v2/workflows/runs/later/explain');
  assert.equal(later.body.tasks[0]?.reasons[0]?.kind, 'not-before');
  await harness.call('DELETE', '/v2/workflows/runs/later');
  const ended = await harness.call<ExplanationResponse>('GET', '/v2/workflows/runs/later/explain');
  assert.deepEqual([ended.body.tasks, ended.body.summary], [[], 'The run was canceled; nothing is pending.']);
});

test('holds and releases a destination by any of its URLs', async () => {
  const list = async () =>
    (await harness.call<{ destinations: DestinationEntry[] }>('GET', '/v2/destinations')).body.destinations;
  const post = (verb: string, body: object) =>
    harness.call('POST', `/v2/destinations/${verb}`, { headers: json, body: JSON.stringify(body) });
  const held = await post('hold', { url: 'http://Held.test:80/some/path?x', reason: 'deploying' });
  assert.deepEqual([held.status, held.body], [200, { origin: 'http://held.test', isHeld: true }]);
  await harness.send({
    method: 'POST',
    url: '/v2/trigger/http://held.test/ok',
    headers: { authorization: `Bearer ${harness.token}`, 'svc-workflow-runid': 'on-hold' },
  });
  const entry = (await list()).find(({ origin }) => origin === 'http://held.test');
  assert.deepEqual([entry?.isHeld, entry?.heldBy, entry?.reason], [true, 'hand', 'deploying']);
  const { body } = await harness.call<ExplanationResponse>('GET', '/v2/workflows/runs/on-hold/explain');
  assert.equal(body.tasks[0]?.reasons[0]?.kind, 'destination-held');
  const released = await post('release', { origin: 'http://held.test' });
  assert.deepEqual([released.status, released.body], [200, { origin: 'http://held.test', isHeld: false }]);
  assert.equal((await post('release', { origin: 'http://held.test' })).status, 404);
  const run = await harness.call('GET', '/v2/workflows/runs/on-hold/result');
  assert.equal(run.status, 200, 'a held run continues');
});

test('updates settings partially', async () => {
  const get = async () => (await harness.call<InstanceSettings>('GET', '/v2/settings')).body;
  const put = (body: object) =>
    harness.call<InstanceSettings>('PUT', '/v2/settings', { headers: json, body: JSON.stringify(body) });
  const before = await get();
  assert.equal(before.breaker.enabled, false);
  const { body } = await put({
    breaker: { failures: 7 },
    retention: { failed: { maxAgeMs: 1_000 }, succeeded: { maxCount: 5 } },
  });
  const expected: InstanceSettings = {
    breaker: { ...before.breaker, failures: 7 },
    retention: {
      ...before.retention,
      failed: { maxAgeMs: 1_000, maxCount: null },
      succeeded: { maxAgeMs: null, maxCount: 5 },
    },
  };
  assert.deepEqual(body, expected);
  assert.deepEqual(await get(), expected);
  await put({ retention: { failed: { maxAgeMs: null } } });
  assert.deepEqual((await get()).retention.failed, { maxAgeMs: null, maxCount: null });
  assert.deepEqual((await put({})).body, await get());
});

test('concurrent updates of settings are all kept', async () => {
  const put = (retention: object) =>
    harness.call<InstanceSettings>('PUT', '/v2/settings', { headers: json, body: JSON.stringify({ retention }) });
  await Promise.all([
    put({ canceled: { maxCount: 11 } }),
    put({ canceled: { maxAgeMs: 2_000 } }),
    put({ failed: { maxCount: 12 } }),
  ]);
  const { body } = await harness.call<InstanceSettings>('GET', '/v2/settings');
  assert.deepEqual([body.retention.canceled, body.retention.failed.maxCount], [{ maxAgeMs: 2_000, maxCount: 11 }, 12]);
});

test('a failed callback shows the number of retries, not of failures', async () => {
  const [dlqId = ''] = await harness.fail(1, { 'svc-failure-callback': 'http://c.test/refuse', 'svc-retries': '0' });
  const entry = async () => (await harness.call<DeadLetterEntry>('GET', `/v2/workflows/dlq/${dlqId}`)).body;
  for (let turn = 0; (await entry()).failureFunctionState !== 'CALLBACK_FAIL'; turn++) {
    assert.ok(turn < 1_000, 'the callback was not given up');
    await new Promise((resolve) => setImmediate(resolve));
  }
  const { failureFunctionInfo: info } = await entry();
  assert.deepEqual([info?.retried, info?.errors.length], [0, 1]);
});

test('retries and cancels a failure callback and shows its attempts', async () => {
  const headers = { 'svc-failure-callback': 'http://c.test/refuse', 'svc-retries': '1', 'svc-retry-delay': '3600000' };
  const [dlqId = ''] = await harness.fail(1, headers);
  const entry = async () => (await harness.call<DeadLetterEntry>('GET', `/v2/workflows/dlq/${dlqId}`)).body;
  for (let turn = 0; !(await entry()).failureFunctionInfo?.errors.length; turn++) {
    assert.ok(turn < 1_000, 'the callback was not attempted');
    await new Promise((resolve) => setImmediate(resolve));
  }
  const { failureFunctionState, failureFunctionInfo: info } = await entry();
  assert.equal(failureFunctionState, 'CALLBACK_INPROGRESS');
  assert.deepEqual(
    [info?.state, info?.url, info?.responseStatus, info?.retried, info?.errors.length],
    ['CALLBACK_INPROGRESS', 'http://c.test/refuse', 500, 1, 1],
  );
  assert.ok(info?.nextAttemptAt);
  const change = (method: 'POST' | 'DELETE', path: string) =>
    harness.call<{ failureFunctionState: string } & { error: string }>(method, `${path}/${dlqId}`);
  const canceled = await change('DELETE', '/v2/workflows/dlq/callback');
  assert.deepEqual([canceled.status, canceled.body], [200, { failureFunctionState: 'CALLBACK_CANCELED' }]);
  const twice = await change('DELETE', '/v2/dlq/callback');
  assert.deepEqual([twice.status, twice.headers['svc-error-code']], [409, 'callback-not-possible']);
  const again = await change('POST', '/v2/dlq/callback');
  assert.deepEqual([again.status, again.body], [200, { failureFunctionState: 'CALLBACK_INPROGRESS' }]);
  const [plain = ''] = await harness.fail(1);
  assert.equal((await harness.call('POST', `/v2/dlq/callback/${plain}`)).status, 409, 'it has none');
});
