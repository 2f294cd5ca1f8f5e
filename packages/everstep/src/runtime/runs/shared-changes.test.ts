/** Queues, groups of URLs and schedules that several processes change at once: two of each part on one store. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { CommitUnit } from '../../engine/writes.js';
import { NO_LIMITS } from '../../ports/stores/instance-limits.js';
import type { Store } from '../../ports/stores/store.js';
import { ALWAYS_OPEN } from '../../ports/stores/store-writes.js';
import { openSqliteStore } from '../../stores/sqlite/index.js';
import { MessageTargets } from '../messages/message-targets.js';
import { quiet, random, StandingClock } from '../runtime.fixture.js';
import { command, INSTANCE, id } from '../services/schedules.fixture.js';
import { Schedules } from '../services/schedules.js';

async function open(t: TestContext): Promise<Store> {
  const store = await openSqliteStore({ file: ':memory:' });
  t.after(() => store.close());
  return store;
}

const committing = (store: Store) => async (unit: CommitUnit) => {
  const [result] = await store.commit([unit]);
  assert.ok(result);
  return result;
};

const targetsOf = (store: Store) =>
  new MessageTargets({ store, now: () => 1, commit: committing(store), queueChanged: () => {}, cancel: async () => false });

function schedulesOf(store: Store): Schedules {
  const clock = new StandingClock();
  const context = () => ({ now: clock.now(), random, publicUrl: 'http://everstep' });
  return new Schedules({
    store,
    clock,
    log: quiet,
    context,
    commit: committing(store),
    begin: () => {},
    limits: NO_LIMITS,
    writes: ALWAYS_OPEN,
  });
}

test('endpoints that are added to a group, and taken out of it, by two processes at once are none lost', async (t) => {
  const store = await open(t);
  const [one, two] = [targetsOf(store), targetsOf(store)];
  const group = { instanceId: INSTANCE, name: 'g' };
  const urls = Array.from({ length: 40 }, (_, n) => `http://app/${n}`);
  const from = (n: number) => (n % 2 ? one : two);
  await Promise.all(urls.map((url, n) => from(n).addEndpoints({ ...group, endpoints: [{ name: null, url }] })));
  const endpoints = async () => (await store.findUrlGroup(group))?.endpoints.map(({ url }) => url).sort();
  assert.deepEqual(await endpoints(), [...urls].sort());
  await Promise.all(urls.slice(1).map((url, n) => from(n).removeEndpoints({ ...group, endpoints: [{ url }] })));
  assert.deepEqual(await endpoints(), urls.slice(0, 1));
  const deleted = await Promise.all([one.deleteUrlGroup(group), two.deleteUrlGroup(group)]);
  assert.deepEqual(deleted.sort(), [false, true]);
});

test('of a queue that two processes change at once both changes count', async (t) => {
  const store = await open(t);
  const [one, two] = [targetsOf(store), targetsOf(store)];
  for (let n = 0; n < 20; n++) {
    const queue = { instanceId: INSTANCE, name: `q${n}` };
    await Promise.all([one.putQueue({ ...queue, parallelism: 7 }), two.putQueue({ ...queue, paused: true })]);
    const found = await store.findQueue(queue);
    assert.deepEqual([found?.parallelism, found?.paused], [7, true]);
  }
});

test('two processes that make schedules at once make no more than there may be', async (t) => {
  const store = await open(t);
  const [one, two] = [schedulesOf(store), schedulesOf(store)];
  const made = await Promise.all(Array.from({ length: 20 }, (_, n) => (n % 2 ? one : two).put(command({ most: 7 }))));
  assert.equal(made.filter((schedule) => schedule !== 'too-many-schedules').length, 7);
  assert.equal(await store.countSchedules({ instanceId: INSTANCE }), 7);
  const [kept] = (await store.listSchedules({ instanceId: INSTANCE, after: null, limit: 1 })).items;
  assert.ok(kept);
  const replaced = await two.put(command({ scheduleId: kept.scheduleId, cron: '5 * * * *', most: 7 }));
  assert.equal(replaced !== 'too-many-schedules' && replaced.cron, '5 * * * *');
});

test('a schedule that one process pauses and another replaces at the same time is both', async (t) => {
  const store = await open(t);
  const [one, two] = [schedulesOf(store), schedulesOf(store)];
  for (let n = 0; n < 20; n++) {
    const scheduleId = `s${n}`;
    await one.put(command({ scheduleId }));
    await Promise.all([one.pause({ ...id(scheduleId), paused: true }), two.put(command({ scheduleId, cron: '7 * * * *' }))]);
    const found = await store.findSchedule(id(scheduleId));
    assert.deepEqual([found?.paused, found?.cron, found?.nextAt], [true, '7 * * * *', null]);
  }
});
