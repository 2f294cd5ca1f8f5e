/** Plans as the operator's file has them. */
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
  assert.ok(!result.ok, 'the file must be refused');
  return result.problems.join('\n');
}

test('without a file an instance without a plan is limited by nothing, and 100,000 messages cost a dollar', () => {
  const { name, pricePer100kMessages, ...limits } = BUILT_IN_PLANS.planOf({});
  assert.deepEqual([name, pricePer100kMessages], ['default', 1]);
  assert.deepEqual(new Set(Object.values(limits)), new Set([null]));
});

test('the plan of new instances limits whatever one instance could take from others', () => {
  const { name, pricePer100kMessages, maxMessageBytes, ...limits } = BUILT_IN_PLANS.ofNewInstances;
  assert.deepEqual([name, pricePer100kMessages, maxMessageBytes], ['standard', 1, null]);
  for (const [limit, value] of Object.entries(limits)) assert.ok(typeof value === 'number', `${limit} is not limited`);
  // What the built-in plan says could stand in a file.
  assert.deepEqual(loaded(BUILT_IN_PLANS.ofNewInstances).find('standard'), BUILT_IN_PLANS.ofNewInstances);
});

test('a default plan of the operator is that of new instances too, unless there is a standard plan', () => {
  assert.equal(loaded({ name: 'free' }).ofNewInstances.name, 'standard');
  assert.equal(loaded({ name: 'default', maxParallelism: 3 }).ofNewInstances.maxParallelism, 3);
  const both = loaded({ name: 'default', maxParallelism: 3 }, { name: 'standard', maxParallelism: 5 });
  assert.equal(both.ofNewInstances.maxParallelism, 5);
});

test('what a plan does not say is no limit', () => {
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

test('an instance has its plan, and the default plan when it has none or one that is not there any more', () => {
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
  ['a limit that is text', { name: 'a', maxSchedules: '5' }, /plan 1: maxSchedules must be a whole number from 0 to 10000/],
  ['a fraction', { name: 'a', apiCallsPerSecond: 0.5 }, /apiCallsPerSecond must be a whole number from 1/],
  ['a message that the service does not take', { name: 'a', maxMessageBytes: 1e9 }, /maxMessageBytes must be a whole number/],
  ['a timeout of no time', { name: 'a', maxTimeoutMs: 0 }, /maxTimeoutMs must be a whole number from 1000/],
  ['no deliveries at all', { name: 'a', maxParallelism: 0 }, /maxParallelism must be a whole number from 1/],
  ['a negative price', { name: 'a', pricePer100kMessages: -1 }, /pricePer100kMessages must be a number of dollars/],
  ['a misspelt limit', { name: 'a', maxSchedule: 5 }, /maxSchedule is nothing that a plan has/],
  ['a name with a space', { name: 'my plan' }, /name must be/],
  ['no name', {}, /name must be/],
  ['no object', 5, /it must be an object/],
] as const) {
  test(`a file with ${what} is refused in plain words`, () => {
    assert.match(problemsOf(JSON.stringify({ plans: [plan] })), problem);
  });
}

test('a file of another form is refused, and a plan that is there twice', () => {
  assert.match(problemsOf('{'), /no JSON/);
  assert.match(problemsOf('[]'), /the list "plans"/);
  assert.match(problemsOf('{"plans": [], "more": 1}'), /nothing else/);
  assert.match(problemsOf('{"plans": [{"name": "a"}, {"name": "a"}]}'), /plan 2: a is there twice/);
});
