/** Tests when refusal counts are written, and what happens if a write fails. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { CountOfDay } from '../../ports/stores/account-store.js';
import { ManualClock, quiet, settle } from '../../runtime/runtime.fixture.js';
import { DECEMBER, INSTANCE, openSpending } from '../spending.fixture.js';
import { Refusals } from './refusals.js';

async function open(t: TestContext) {
  const world = await openSpending(t);
  const clock = new ManualClock();
  let writes = 0;
  let faulty = false;
  const countOfDay = async (counts: readonly Omit<CountOfDay, 'kind'>[]) => {
    writes++;
    if (faulty) throw new Error('the disk is full');
    await world.store.accounts.countOfDay(counts);
  };
  return Object.assign(world, {
    refusals: new Refusals({ accounts: { countOfDay }, now: () => world.at, clock, log: quiet }),
    writes: () => writes,
    fail: (fails: boolean) => {
      faulty = fails;
    },
    async pass(ms: number) {
      clock.move(ms);
      await settle();
    },
    counts: async () =>
      (await world.store.accounts.countsByDay({ instanceId: INSTANCE, fromDay: 0 })).map(
        ({ what, count, lastAt }) => [what, count, lastAt] as const,
      ),
  });
}

test('a thousand refusals within a second cause one write at the end of the second', async (t) => {
  const world = await open(t);
  const before = world.at;
  for (let i = 0; i < 1_000; i++) world.refusals.count(INSTANCE, 'rate-limited');
  world.at += 7;
  world.refusals.count(INSTANCE, 'body-too-large');
  await world.pass(999);
  assert.deepEqual([world.writes(), await world.counts()], [0, []]);
  await world.pass(1);
  assert.equal(world.writes(), 1);
  assert.deepEqual(await world.counts(), [
    ['rate-limited', 1_000, before],
    ['body-too-large', 1, before + 7],
  ]);
  await world.pass(60_000);
  assert.equal(world.writes(), 1);
});

test('each refusal counts for its own day, and pending counts are written when the service stops', async (t) => {
  const world = await open(t);
  const before = world.at;
  world.refusals.count(INSTANCE, 'budget-exceeded');
  world.at = DECEMBER;
  world.refusals.count(INSTANCE, 'budget-exceeded');
  await world.refusals.write();
  assert.deepEqual(await world.counts(), [
    ['budget-exceeded', 1, DECEMBER],
    ['budget-exceeded', 1, before],
  ]);
});

test('counts that could not be written are written with the next ones', async (t) => {
  const world = await open(t);
  world.fail(true);
  world.refusals.count(INSTANCE, 'rate-limited');
  await world.pass(1_000);
  world.fail(false);
  world.refusals.count(INSTANCE, 'rate-limited');
  await world.pass(1_000);
  assert.deepEqual(await world.counts(), [['rate-limited', 2, world.at]]);
});
