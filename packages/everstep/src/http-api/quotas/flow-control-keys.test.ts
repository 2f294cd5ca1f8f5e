/** Tests that every operation that can create a flow control key checks the limit of the plan. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { loadPlans } from '../../accounts/plans/plans.js';
import type { RepairEntry } from '../../contract/repairs.js';
import { ApiHarness } from '../testing/api-harness.js';

const INSTANCE = 'qi_1';
const JSON_TYPE = { 'content-type': 'application/json' };
const REPAIRS = '/v2/workflows/repairs';

/** Opens an instance whose plan allows one flow control key, `used`, which exists. */
async function open(t: TestContext): Promise<ApiHarness> {
  const plans = loadPlans(JSON.stringify({ plans: [{ name: 'default', maxFlowControlKeys: 1 }] }));
  assert.ok(plans.ok);
  const harness = await ApiHarness.open({}, { plans: plans.plans });
  t.after(() => harness.close());
  await harness.trigger('ok', { 'svc-flow-control-key': 'used', 'svc-flow-control-value': 'parallelism=1' });
  return harness;
}

const keysOf = async ({ store }: ApiHarness) =>
  (await store.listFlowControls({ instanceId: INSTANCE })).map(({ key }) => key).sort();
const post = (harness: ApiHarness, url: string, headers: Readonly<Record<string, string>> = {}, body?: unknown) =>
  body === undefined
    ? harness.call<RepairEntry>('POST', url, { headers })
    : harness.call<RepairEntry>('POST', url, { headers: { ...JSON_TYPE, ...headers }, body: JSON.stringify(body) });
async function assertRefused(response: ReturnType<typeof post>, message: string): Promise<void> {
  const { status, headers, body } = await response;
  const code = headers['svc-error-code'] ?? headers['upstash-error-code'];
  assert.deepEqual([status, code], [409, 'too-many-flow-control-keys'], `${message}: ${JSON.stringify(body)}`);
}

test('pinning does not create a flow control key beyond the limit of the plan', async (t) => {
  const harness = await open(t);
  await assertRefused(post(harness, '/v2/flowControl/new/pin?parallelism=1'), 'pin');
  assert.equal((await post(harness, '/v2/flowControl/used/pin?parallelism=1')).status, 200);
  assert.deepEqual(await keysOf(harness), ['used']);
});

test('resumes, restarts and retries of dead letters do not create flow control keys beyond the limit of the plan', async (t) => {
  const harness = await open(t);
  const dlqIds = await harness.fail(8);
  const headersFor = (key: string) => ({
    'svc-flow-control-key': key,
    'svc-flow-control-value': 'parallelism=1',
    'upstash-flow-control-key': key,
    'upstash-flow-control-value': 'parallelism=1',
  });
  const urlsOf = (dlqId: string | undefined): readonly string[] =>
    ['resume', 'restart'].flatMap((kind) => [`/v2/workflows/dlq/${kind}/${dlqId}`, `/v2/workflows/dlq/${kind}?dlqIds=${dlqId}`]);
  const retryUrls = [`/v2/dlq/retry/${dlqIds[4]}`, `/v2/dlq/retry?dlqIds=${dlqIds[5]}`];
  for (const url of [...urlsOf(dlqIds[0]), ...retryUrls, '/v2/workflows/dlq/resume', '/v2/dlq/retry'])
    await assertRefused(post(harness, url, headersFor('new')), url);
  assert.deepEqual(await keysOf(harness), ['used']);
  const successes = [...dlqIds.slice(0, 4).flatMap((dlqId, index) => urlsOf(dlqId)[index] ?? []), ...retryUrls];
  for (const url of successes) {
    const { status, body } = await post(harness, url, headersFor('used'));
    assert.ok(status === 200 || status === 201, `${url}: ${JSON.stringify(body)}`);
  }
});

test('a repair is not planned, started or continued with a flow control key beyond the limit of the plan', async (t) => {
  const harness = await open(t);
  await harness.fail(1);
  const planOf = (key: string) => ({ action: 'resume', overrides: { flowControl: { key, parallelism: 1 } } });
  await assertRefused(post(harness, REPAIRS, {}, planOf('new')), 'plan');
  const { status, body: planned } = await post(harness, REPAIRS, {}, planOf('used'));
  assert.equal(status, 201);
  // Simulates another repair whose key was free when it was planned.
  const { repairs } = harness.store;
  const find = repairs.find.bind(repairs);
  const findWithNewKey: typeof find = async (query) => {
    const record = await find(query);
    return record && { ...record, overrides: { flowControlKey: 'new' } };
  };
  Object.assign(repairs, { find: findWithNewKey });
  await assertRefused(post(harness, `${REPAIRS}/${planned.repairId}/start`, {}, { ratePerSecond: 1 }), 'start');
  await assertRefused(post(harness, `${REPAIRS}/${planned.repairId}/continue`), 'continue');
  Object.assign(repairs, { find });
  assert.equal((await post(harness, `${REPAIRS}/${planned.repairId}/start`, {}, { ratePerSecond: 1 })).status, 200);
  assert.deepEqual(await keysOf(harness), ['used']);
});

test('a schedule that is started manually does not create a flow control key beyond the limit of the plan', async (t) => {
  const plans = loadPlans(JSON.stringify({ plans: [{ name: 'default', maxFlowControlKeys: 1 }] }));
  assert.ok(plans.ok);
  const harness = await ApiHarness.open({}, { plans: plans.plans });
  t.after(() => harness.close());
  const scheduleHeaders = (key: string) => ({
    'svc-cron': '0 0 1 1 *',
    'svc-schedule-id': key,
    'svc-flow-control-key': key,
    'svc-flow-control-value': 'parallelism=1',
  });
  for (const key of ['a', 'b'])
    assert.equal((await post(harness, '/v2/schedules/http://w.test/ok', scheduleHeaders(key))).status, 200);
  assert.equal((await post(harness, '/v2/schedules/a/run')).status, 200);
  await assertRefused(post(harness, '/v2/schedules/b/run'), 'run');
});

test('a batch does not create flow control keys beyond the limit of the plan', async (t) => {
  const harness = await open(t);
  const itemOf = (prefix: string, key: string) => ({
    destination: 'http://w.test/ok',
    headers: { [`${prefix}-flow-control-key`]: key, [`${prefix}-flow-control-value`]: 'parallelism=1' },
  });
  const plans = loadPlans(JSON.stringify({ plans: [{ name: 'default', maxFlowControlKeys: 3 }] }));
  assert.ok(plans.ok);
  const wider = await ApiHarness.open({}, { plans: plans.plans });
  t.after(() => wider.close());
  for (const [target, allowed] of [
    [harness, 0],
    [wider, 3],
  ] as const) {
    for (const [url, prefix] of [
      ['/v2/batch/trigger', 'svc'],
      ['/v2/batch', 'upstash'],
    ] as const) {
      const before = await keysOf(target);
      const items = ['a', 'b', 'c', 'd', 'a'].map((key) => itemOf(prefix, key));
      const { status, body } = await target.call<readonly { readonly error?: string }[]>('POST', url, {
        headers: JSON_TYPE,
        body: JSON.stringify(items),
      });
      assert.equal(status, 200);
      const refusedItems = body.filter(({ error }) => /limit of flow control keys/.test(error ?? ''));
      assert.equal(refusedItems.length, allowed === 0 ? 5 : 1, `${url}: ${JSON.stringify(body)}`);
      assert.equal((await keysOf(target)).length, allowed === 0 ? before.length : allowed);
    }
  }
});
