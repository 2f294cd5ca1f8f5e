import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadPlans } from '../../accounts/plans/plans.js';
import { ApiHarness } from '../testing/api-harness.js';
import { RefusalDelays } from './refusal-delays.js';

function harness() {
  let now = 0;
  const waits: number[] = [];
  const wait = async (ms: number): Promise<void> => void waits.push(ms);
  const delays = new RefusalDelays({ wait }, () => now);
  const refuse = (caller: string, times: number) => Array.from({ length: times }, () => delays.pause(caller));
  return { waits, delays, refuse, pass: (ms: number) => (now += ms) };
}

test('up to 50 refusals of a caller in a second are sent immediately, and more of them wait longer and longer', () => {
  const { waits, refuse, pass } = harness();
  assert.deepEqual(new Set(refuse('a', 50)), new Set([null]));
  refuse('a', 3);
  assert.deepEqual(waits, [20, 40, 60]);
  refuse('a', 1_000);
  assert.equal(Math.max(...waits), 10_000);
  // Another caller, and the next second.
  assert.deepEqual(refuse('b', 1), [null]);
  pass(1_000);
  assert.deepEqual(refuse('a', 1), [null]);
});

test('thousands of refusals in a second are sent spread over time', () => {
  const { waits, refuse } = harness();
  refuse('a', 3_000);
  for (let second = 0; second < 10; second++) {
    const sent = waits.filter((ms) => ms >= second * 1_000 && ms < (second + 1) * 1_000);
    assert.ok(sent.length < 600, `${sent.length} in second ${second}`);
  }
  assert.ok(Math.max(...waits) <= 10_000);
});

test('a refusal over the rate of the plan is sent after its delay', async (t) => {
  const plans = loadPlans(JSON.stringify({ plans: [{ name: 'slow', apiCallsPerSecond: 1 }] }));
  assert.ok(plans.ok);
  const waits: number[] = [];
  const wait = async (ms: number): Promise<void> => void waits.push(ms);
  const { plans: loaded } = plans;
  const accountNow = () => Date.UTC(2026, 0, 1);
  const api = await ApiHarness.open({ refusalDelays: new RefusalDelays({ wait }, () => 0) }, { plans: loaded, accountNow });
  t.after(() => api.close());
  await api.store.accounts.changeInstance({ instanceId: 'qi_1', change: { plan: 'slow' } });
  api.limits.forget('qi_1');
  await api.limits.refuseSpending('qi_1');
  const statuses = (await Promise.all(Array.from({ length: 60 }, () => api.call('GET', '/v2/schedules')))).map(
    ({ status }) => status,
  );
  assert.deepEqual([statuses[0], new Set(statuses.slice(2))], [200, new Set([429])]);
  assert.ok(waits.length >= 5, `${waits.length} refusals waited`);
});
