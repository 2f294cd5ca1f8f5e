import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiError } from '../../contract/error-codes.js';
import { ownersOf } from '../../fairness/owners.fixture.js';
import { ReadBudget } from './read-budget.js';

const NEVER = new AbortController().signal;
const isBusy = (error: unknown): boolean =>
  error instanceof ApiError && error.code === 'unavailable' && Number(error.headers['retry-after']) > 0;

/** Returns whether the promise is settled after all pending work has run. */
async function settles(promise: Promise<unknown>): Promise<boolean> {
  let settled = false;
  void promise.finally(() => (settled = true)).catch(() => undefined);
  await new Promise((resolve) => setImmediate(resolve));
  return settled;
}

test('responses wait in order for memory and get it when others release it', async () => {
  const budget = new ReadBudget({ maxBytes: 100, maxBytesOfOwner: 100, waitMs: 60_000 });
  const release = await budget.take('a', 80, NEVER);
  const second = budget.take('b', 60, NEVER);
  const third = budget.take('c', 20, NEVER);
  assert.equal(await settles(second), false);
  assert.equal(await settles(third), false, 'a shorter response does not overtake');
  release();
  release();
  await Promise.all([second, third]);
  assert.equal(budget.bytes, 80);
  (await second)();
  (await third)();
  assert.equal(budget.bytes, 0);
});

test('an owner cannot exceed its share and does not block others', async () => {
  const budget = new ReadBudget({ maxBytes: 100, maxBytesOfOwner: 50, waitMs: 60_000 });
  const release = await budget.take('a', 1_000, NEVER);
  assert.equal(budget.bytes, 50, 'a longer response takes the whole share');
  const more = budget.take('a', 10, NEVER);
  assert.equal(await settles(more), false);
  const other = budget.take('b', 50, NEVER);
  assert.equal(await settles(other), true);
  release();
  assert.equal(await settles(more), true);
});

test('rejects a response that waited too long or finds the queue full', async () => {
  const budget = new ReadBudget({ maxBytes: 10, maxBytesOfOwner: 10, maxWaiting: 1, waitMs: 1 });
  await budget.take('a', 10, NEVER);
  const waiting = budget.take('b', 1, NEVER, 5);
  await assert.rejects(budget.take('c', 1, NEVER), isBusy);
  await assert.rejects(waiting, isBusy);
  const gone = new AbortController();
  const abandoned = budget.take('d', 1, gone.signal, 60_000);
  gone.abort();
  await assert.rejects(abandoned, isBusy);
});

const SHARED = { maxBytes: 64, maxBytesOfOwner: 32, maxWaiting: 10, waitMs: 60_000 };

test('an owner at its limit with many waiting reads does not affect the reads of others', async () => {
  const budget = new ReadBudget(SHARED, ownersOf('hog1', 'quiet1', 'calm1'));
  await budget.take('hog1', 32, NEVER);
  let rejectedCount = 0;
  const reject = (error: unknown): void => {
    assert.ok(isBusy(error));
    rejectedCount++;
  };
  for (let n = 0; n < 20; n++) budget.take('hog1', 32, NEVER).catch(reject);
  assert.equal(await settles(budget.take('quiet1', 1, NEVER)), true);
  assert.equal(rejectedCount, 15, 'the other reads use its share of the waiting positions');
  const calm = budget.take('calm1', 31, NEVER);
  assert.equal(await settles(calm), true, 'the waiting reads of 32 bytes do not block it');
  const last = budget.take('quiet1', 31, NEVER);
  assert.equal(await settles(last), false, 'all memory is in use');
  (await calm)();
  assert.equal(await settles(last), true);
});

test('the instances of an account cannot use all memory together, and one leaves memory to the other', async () => {
  const budget = new ReadBudget(SHARED, ownersOf('hog1', 'hog2', 'quiet1'));
  await budget.take('hog1', 10, NEVER);
  const second = budget.take('hog1', 10, NEVER);
  assert.equal(await settles(second), false, 'an instance with several reads gets at most half of the share of its account');
  assert.equal(await settles(budget.take('hog2', 22, NEVER)), true);
  assert.equal(await settles(budget.take('hog2', 1, NEVER)), false, 'the account is at its limit');
  assert.equal(await settles(budget.take('quiet1', 32, NEVER)), true);
  assert.equal(budget.bytes, 64);
});

test('a large read is not blocked by a small one of its instance, although the account has another instance', async () => {
  const budget = new ReadBudget(SHARED, ownersOf('hog1', 'hog2', 'quiet1'));
  await budget.take('hog1', 3, NEVER);
  assert.equal(await settles(budget.take('hog1', 20, NEVER)), true);
  assert.equal(await settles(budget.take('hog1', 20, NEVER)), false, 'the account is at its limit');
});

test('the instances of the only account may use all memory together', async () => {
  const budget = new ReadBudget(SHARED, ownersOf('shop1', 'shop2'));
  for (const instanceId of ['shop1', 'shop2'])
    for (const bytes of [20, 12]) assert.equal(await settles(budget.take(instanceId, bytes, NEVER)), true);
  assert.equal(await settles(budget.take('shop1', 1, NEVER)), false);
});
