/** Tests plans from the operator's file. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BUILT_IN_PLANS, loadPlans, type Plans } from './plans.js';

function loaded(...plans: readonly unknown[]): Plans {
  const result = loadPlans(JSON.stringify({ plans }));
  assert.ok(result.ok, result.ok ? '' : result.problems.join('\n'));
  return result.plans;
}

function problemsOf(text: string): string {
  const result = loadPlans(text);
  assert.ok(!result.ok, 'the file must be rejected');
  return result.problems.join('\n');
}

test('without a file, an instance without a plan has no limits, and 100,000 messages cost a dollar', () => {
  const { name, pricePer100kMessages, ...limits } = BUILT_IN_PLANS.planOf({});
  assert.deepEqual([name, pricePer100kMessages], ['default', 1]);
  assert.deepEqual(new Set(Object.values(limits)), new Set([null]));
});

test('the plan for new instances limits every shared resource', () => {
  const { name, pricePer100kMessages, ...limits } = BUILT_IN_PLANS.planForNewInstances;
  assert.deepEqual([name, pricePer100kMessages], ['standard', 1]);
  for (const [limit, value] of Object.entries(limits)) assert.ok(typeof value === 'number', `${limit} is not limited`);
  // The built-in plan is also valid in a file.
  assert.deepEqual(loaded(BUILT_IN_PLANS.planForNewInstances).find('standard'), BUILT_IN_PLANS.planForNewInstances);
});

test("the operator's default plan also applies to new instances, unless there is a standard plan", () => {
  assert.equal(loaded({ name: 'free' }).planForNewInstances.name, 'standard');
  assert.equal(loaded({ name: 'default', maxParallelism: 3 }).planForNewInstances.maxParallelism, 3);
  const both = loaded({ name: 'default', maxParallelism: 3 }, { name: 'standard', maxParallelism: 5 });
  assert.equal(both.planForNewInstances.maxParallelism, 5);
});

test('a limit that a plan omits does not apply', () => {
  const plans = loaded({ name: 'free', maxSchedules: 0, maxMessageBytes: 1000, pricePer100kMessages: 0.5 });
  assert.deepEqual(plans.find('free'), {
    ...BUILT_IN_PLANS.planOf({}),
    name: 'free',
    maxSchedules: 0,
    maxMessageBytes: 1000,
    pricePer100kMessages: 0.5,
  });
  assert.equal(plans.find('gold'), null);
});

test('an instance has its plan, or the default plan if it has none or the plan no longer exists', () => {
  const plans = loaded({ name: 'free' }, { name: 'default', maxParallelism: 3 });
  assert.deepEqual(
    plans.all.map(({ name }) => name),
    ['default', 'standard', 'free'],
  );
  assert.equal(plans.planOf({ plan: 'free' }).name, 'free');
  for (const instance of [{}, { plan: 'gone' }, { plan: 'default' }]) {
    assert.deepEqual([plans.planOf(instance).name, plans.planOf(instance).maxParallelism], ['default', 3]);
  }
});

for (const [what, plan, problem] of [
  ['a limit that is a string', { name: 'a', maxSchedules: '5' }, /plan 1: maxSchedules must be a whole number from 0 to 10000/],
  ['a fraction', { name: 'a', apiCallsPerSecond: 0.5 }, /apiCallsPerSecond must be a whole number from 1/],
  ['a message limit over that of the server', { name: 'a', maxMessageBytes: 1e9 }, /maxMessageBytes must be a whole number/],
  ['a zero timeout', { name: 'a', maxTimeoutMs: 0 }, /maxTimeoutMs must be a whole number from 1000/],
  ['zero parallelism', { name: 'a', maxParallelism: 0 }, /maxParallelism must be a whole number from 1/],
  ['a negative price', { name: 'a', pricePer100kMessages: -1 }, /pricePer100kMessages must be a number of dollars/],
  ['an unknown limit', { name: 'a', maxSchedule: 5 }, /maxSchedule is not a known field/],
  ['a name with a space', { name: 'my plan' }, /name must consist of/],
  ['a missing name', {}, /name must consist of/],
  ['an entry that is not an object', 5, /an object/],
] as const) {
  test(`a file with ${what} is rejected with a clear error`, () => {
    assert.match(problemsOf(JSON.stringify({ plans: [plan] })), problem);
  });
}

test('a file in another format or with a duplicate plan is rejected', () => {
  assert.match(problemsOf('{'), /is not JSON/);
  assert.match(problemsOf('[]'), /the array "plans"/);
  assert.match(problemsOf('{"plans": [], "more": 1}'), /no other field/);
  assert.match(problemsOf('{"plans": [{"name": "a"}, {"name": "a"}]}'), /plan 2: the name a is already used/);
});
