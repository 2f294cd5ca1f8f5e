/** When what was refused is written down, and what becomes of it when that fails. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { CountOfDay } from '../ports/account-store.js';
import { quiet, StandingClock, settle } from '../runtime/runtime.fixture.js';
import { Refusals } from './refusals.js';
import { DECEMBER, INSTANCE, openSpending } from './spending.fixture.js';

async function open(t: TestContext) {
  const world = await openSpending(t);
  const clock = new StandingClock();
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
      (await world.store.accounts.countsOfDays({ instanceId: INSTANCE, fromDay: 0 })).map(
        ({ what, count, lastAt }) => [what, count, lastAt] as const,
      ),
  });
}

test('a thousand refusals of a second are one write, at the end of it', async (t) => {
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

test('each is counted for its own day, and what waits is written when the service stops', async (t) => {
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

test('what could not be written is written with the next', async (t) => {
  const world = await open(t);
  world.fail(true);
  world.refusals.count(INSTANCE, 'rate-limited');
  await world.pass(1_000);
  world.fail(false);
  world.refusals.count(INSTANCE, 'rate-limited');
  await world.pass(1_000);
  assert.deepEqual(await world.counts(), [['rate-limited', 2, world.at]]);
});
