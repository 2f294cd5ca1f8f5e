import assert from 'node:assert/strict';
import { AsyncLocalStorage } from 'node:async_hooks';
import { test } from 'node:test';
import { ownersOf } from './owners.fixture.js';
import { WorkSlices } from './work-slices.js';

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

function harness(...instanceIds: readonly string[]) {
  let busyMs = 0;
  const waits: number[] = [];
  const slices = new WorkSlices(ownersOf(...instanceIds), {
    busyMs: () => busyMs,
    // The time limit of a slice never ends here.
    wait: (ms) => (ms === 50 ? new Promise(() => {}) : turn().then(() => void waits.push(ms))),
  });
  const done: string[] = [];
  const work = (instanceId: string, ms: number, unhurried = false) =>
    slices.run(
      instanceId,
      async () => {
        busyMs += ms;
        done.push(instanceId);
        return ms;
      },
      { unhurried },
    );
  return { slices, work, done, waits };
}

test('accounts take turns, and after a long slice all other work gets three times as long', async () => {
  const { work, done, waits } = harness('a1', 'b1');
  const all = ['a1', 'a1', 'a1', 'b1'].map((instanceId) => work(instanceId, 100));
  assert.deepEqual(await Promise.all(all), [100, 100, 100, 100]);
  assert.deepEqual(done, ['a1', 'b1', 'a1', 'a1']);
  assert.deepEqual(waits.slice(0, 3), [300, 300, 300]);
});

test('short slices, and slices of the only active account, run without a pause', async () => {
  for (const { work, waits, instanceId, ms } of [
    { ...harness('a1', 'b1'), instanceId: 'a1', ms: 1 },
    { ...harness('a1'), instanceId: 'a1', ms: 100 },
  ]) {
    await Promise.all([work(instanceId, ms), work(instanceId, ms)]);
    assert.deepEqual(waits, [0]);
  }
});

test('short slices of several accounts add up until there is a pause', async () => {
  const { work, waits } = harness('a1', 'b1');
  const all = Array.from({ length: 5 }, () => work('a1', 1));
  await Promise.all(all);
  assert.deepEqual(waits.slice(0, 4), [0, 6, 0, 6]);
});

test('unhurried slices of a single account are paced, too', async () => {
  const { work, waits } = harness('a1');
  await Promise.all([work('a1', 100, true), work('a1', 100, true)]);
  assert.deepEqual(waits, [300]);
});

test('failing work does not affect other work', async () => {
  const { slices, work } = harness('a1', 'b1');
  const failed = slices.run('a1', () => Promise.reject(new Error('no')));
  const good = work('b1', 5);
  await assert.rejects(failed, /no/);
  assert.equal(await good, 5);
});

test('a slice runs in the context of its caller, and an error of one ends only that one', async () => {
  const { slices } = harness('a1', 'b1');
  const context = new AsyncLocalStorage<string>();
  const run = (name: string) => context.run(name, () => slices.run(name, async () => context.getStore()));
  const failing = slices.run('a1', () => {
    throw new Error('no slice');
  });
  const all = [run('a1'), run('b1'), run('a1')];
  await assert.rejects(failing, /no slice/);
  assert.deepEqual(await Promise.all(all), ['a1', 'b1', 'a1']);
});
