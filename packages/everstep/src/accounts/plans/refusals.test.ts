/** Tests when refusal counts are written, and what happens if a write fails. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { DailyCount } from '../../ports/stores/account-store.js';
import { ManualClock, quiet, settle } from '../../runtime/runtime.fixture.js';
import { DECEMBER, INSTANCE, openSpending } from '../spending.fixture.js';
import { Refusals } from './refusals.js';

async function open(t: TestContext) {
  const harness = await openSpending(t);
  const clock = new ManualClock();
  let writes = 0;
  let faulty = false;
  const countOfDay = async (counts: readonly Omit<DailyCount, 'kind'>[]) => {
    writes++;
    if (faulty) throw new Error('the disk is full');
    await harness.store.accounts.countOfDay(counts);
  };
  return Object.assign(harness, {
    refusals: new Refusals({ accounts: { countOfDay }, now: () => harness.at, clock, log: quiet }),
    writes: () => writes,
    fail: (fails: boolean) => {
      faulty = fails;
    },
    async pass(ms: number) {
      clock.move(ms);
      await settle();
    },
    counts: async () =>
      (await harness.store.accounts.countsByDay({ instanceId: INSTANCE, fromDay: 0 })).map(
        ({ what, count, lastAt }) => [what, count, lastAt] as const,
      ),
  });
}

test('a thousand refusals within a second cause one write at the end of the second', async (t) => {
  const harness = await open(t);
  const before = harness.at;
  for (let i = 0; i < 1_000; i++) harness.refusals.count(INSTANCE, 'rate-limited');
  harness.at += 7;
  harness.refusals.count(INSTANCE, 'body-too-large');
  await harness.pass(999);
  assert.deepEqual([harness.writes(), await harness.counts()], [0, []]);
  await harness.pass(1);
  assert.equal(harness.writes(), 1);
  assert.deepEqual(await harness.counts(), [
    ['rate-limited', 1_000, before],
    ['body-too-large', 1, before + 7],
  ]);
  await harness.pass(60_000);
  assert.equal(harness.writes(), 1);
});

test('each refusal counts for its own day, and pending counts are written when the server stops', async (t) => {
  const harness = await open(t);
  const before = harness.at;
  harness.refusals.count(INSTANCE, 'budget-exceeded');
  harness.at = DECEMBER;
  harness.refusals.count(INSTANCE, 'budget-exceeded');
  await harness.refusals.write();
  assert.deepEqual(await harness.counts(), [
    ['budget-exceeded', 1, DECEMBER],
    ['budget-exceeded', 1, before],
  ]);
});

test('counts that could not be written are written with the next ones', async (t) => {
  const harness = await open(t);
  harness.fail(true);
  harness.refusals.count(INSTANCE, 'rate-limited');
  await harness.pass(1_000);
  harness.fail(false);
  harness.refusals.count(INSTANCE, 'rate-limited');
  await harness.pass(1_000);
  assert.deepEqual(await harness.counts(), [['rate-limited', 2, harness.at]]);
});
