/** Limits of waiting requests, and the errors beyond them. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { ApiError } from '../../contract/error-codes.js';
import { ownersOf } from '../../fairness/owners.fixture.js';
import { ApiHarness } from '../testing/api-harness.js';
import { HeldRequests } from './held-requests.js';

const refusalOf = (requests: HeldRequests, instanceId: string): string | null => {
  try {
    requests.acquire(instanceId);
    return null;
  } catch (error) {
    assert.ok(error instanceof ApiError);
    assert.equal(error.headers['retry-after'], '5');
    return `${error.status}: ${error.message}`;
  }
};

test('an account cannot use the share of others, and a finished request frees its slot', () => {
  const requests = new HeldRequests({ requestName: 'streams', maxTotal: 100, owners: ownersOf('hog1', 'quiet1') });
  const open = Array.from({ length: 50 }, () => requests.acquire('hog1'));
  assert.match(
    refusalOf(requests, 'hog1') ?? '',
    /^429: the queue instance has reached its account's current fair share of streams \(50\)/,
  );
  for (let i = 0; i < 10; i++) requests.acquire('quiet1');
  for (const over of open.slice(0, 30)) {
    over();
    over();
  }
  assert.equal(refusalOf(requests, 'hog1'), null);
});

test('limits waiting requests per instance and in total', () => {
  const owners = ownersOf('only1');
  const limited = new HeldRequests({ requestName: 'streams', maxTotal: 100, maxPerInstance: 2, owners });
  for (let i = 0; i < 2; i++) limited.acquire('only1');
  assert.match(refusalOf(limited, 'only1') ?? '', /^429: the queue instance has reached its limit of streams \(2\)/);
  const full = new HeldRequests({ requestName: 'streams', maxTotal: 3, owners });
  for (let i = 0; i < 3; i++) full.acquire('only1');
  assert.match(refusalOf(full, 'only1') ?? '', /^503: the server has reached its limit of 3 streams/);
});

async function harness(t: TestContext): Promise<ApiHarness> {
  const opened = await ApiHarness.open({ connectionLimits: { served: 8, accepted: 16 } });
  t.after(() => opened.close());
  return opened;
}

test('rejects a trigger that waits for its result before starting the run when too many wait', async (t) => {
  const { call, trigger, endpoints } = await harness(t).then((opened) => ({
    endpoints: opened.endpoints,
    call: opened.call.bind(opened),
    trigger: opened.trigger.bind(opened),
  }));
  const { workflowRunId } = await trigger('hang');
  const waiting = Array.from({ length: 6 }, () => call('GET', `/v2/workflows/runs/${workflowRunId}/result?timeout=300s`));
  // Enough turns of the event loop for all of them to wait.
  for (let turn = 0; turn < 200; turn++) await new Promise((resolve) => setImmediate(resolve));
  const calls = endpoints.calls.length;
  for (const [method, url, headers] of [
    ['GET', `/v2/workflows/runs/${workflowRunId}/result?timeout=1s`, {}],
    ['POST', '/v2/trigger/http://w.test/ok', { 'svc-wait-for-result': '1s' }],
  ] as const) {
    const refused = await call(method, url, { headers });
    assert.deepEqual([refused.status, refused.headers['retry-after']], [503, '5'], url);
  }
  assert.equal(endpoints.calls.length, calls, 'no run was started');
  const short = await call('GET', `/v2/workflows/runs/${workflowRunId}/result?timeout=0`);
  assert.equal(short.status, 202, 'a request that does not wait uses no slot');
  assert.equal((await call('POST', '/v2/trigger/http://w.test/ok')).status, 200);
  await call('DELETE', `/v2/workflows/runs/${workflowRunId}`);
  for (const response of await Promise.all(waiting)) assert.equal(response.status, 200);
  const after = await call('POST', '/v2/trigger/http://w.test/ok', { headers: { 'svc-wait-for-result': '10s' } });
  assert.equal(after.status, 200);
});
