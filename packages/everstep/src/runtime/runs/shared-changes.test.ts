/** Concurrent changes of queues, URL groups and schedules by two processes on one store. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { CommitUnit } from '../../engine/writes.js';
import { NO_LIMITS } from '../../ports/stores/instance-limits.js';
import type { Store } from '../../ports/stores/store.js';
import { ALWAYS_OPEN } from '../../ports/stores/store-writes.js';
import { openSqliteStore } from '../../stores/sqlite/index.js';
import { Queues } from '../messages/queues.js';
import { UrlGroups } from '../messages/url-groups.js';
import { ManualClock, quiet, random } from '../runtime.fixture.js';
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

const now = () => 1;
const groupsOf = (store: Store) => new UrlGroups({ store, now, commit: committing(store) });
const queuesOf = (store: Store) =>
  new Queues({
    store,
    now,
    commit: committing(store),
    gates: { onQueueChanged() {}, reloadQueue: async () => {} },
    cluster: null,
    cancel: async () => false,
  });

function schedulesOf(store: Store): Schedules {
  const clock = new ManualClock();
  const context = () => ({ now: clock.now(), random, publicUrl: 'http://everstep' });
  return new Schedules({
    store,
    clock,
    log: quiet,
    context,
    commit: committing(store),
    drive: () => {},
    limits: NO_LIMITS,
    writes: ALWAYS_OPEN,
  });
}

test('keeps all endpoints that two processes add to and remove from a URL group at once', async (t) => {
  const store = await open(t);
  const [one, two] = [groupsOf(store), groupsOf(store)];
  const group = { instanceId: INSTANCE, name: 'g' };
  const urls = Array.from({ length: 40 }, (_, n) => `http://app/${n}`);
  const from = (n: number) => (n % 2 ? one : two);
  await Promise.all(urls.map((url, n) => from(n).addEndpoints({ ...group, endpoints: [{ name: null, url }] })));
  const endpoints = async () => (await store.findUrlGroup(group))?.endpoints.map(({ url }) => url).sort();
  assert.deepEqual(await endpoints(), [...urls].sort());
  await Promise.all(urls.slice(1).map((url, n) => from(n).removeEndpoints({ ...group, endpoints: [{ url }] })));
  assert.deepEqual(await endpoints(), urls.slice(0, 1));
  const deleted = await Promise.all([one.delete(group), two.delete(group)]);
  assert.deepEqual(deleted.sort(), [false, true]);
});

test('applies both changes of two processes to a queue', async (t) => {
  const store = await open(t);
  const [one, two] = [queuesOf(store), queuesOf(store)];
  for (let n = 0; n < 20; n++) {
    const queue = { instanceId: INSTANCE, name: `q${n}` };
    await Promise.all([one.put({ ...queue, parallelism: 7 }), two.put({ ...queue, paused: true })]);
    const found = await store.findQueue(queue);
    assert.deepEqual([found?.parallelism, found?.paused], [7, true]);
  }
});

test('two processes never create more schedules than the maximum', async (t) => {
  const store = await open(t);
  const [one, two] = [schedulesOf(store), schedulesOf(store)];
  const made = await Promise.all(Array.from({ length: 20 }, (_, n) => (n % 2 ? one : two).put(command({ max: 7 }))));
  assert.equal(made.filter((schedule) => schedule !== 'too-many-schedules').length, 7);
  assert.equal(await store.countObjects({ instanceId: INSTANCE, objectKind: 'schedule' }), 7);
  const [kept] = (await store.listSchedules({ instanceId: INSTANCE, after: null, limit: 1 })).items;
  assert.ok(kept);
  const replaced = await two.put(command({ scheduleId: kept.scheduleId, cron: '5 * * * *', max: 7 }));
  assert.equal(replaced !== 'too-many-schedules' && replaced.cron, '5 * * * *');
});

test('a schedule that one process pauses and another replaces is paused and replaced', async (t) => {
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
