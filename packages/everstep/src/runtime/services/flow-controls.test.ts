/** Flow control keys as users see and change them on a node that does not hold the gates. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ControlWrite } from '../../engine/writes.js';
import type { Cluster } from '../../ports/cluster.js';
import { aloneInCluster, type Bench, ScriptedCaller, withRuntime } from '../runtime.fixture.js';

const noSteps = new ScriptedCaller(() => {
  throw new Error('no step was expected');
});
const INSTANCE = 'qi_1';
const KEY = { instanceId: INSTANCE, key: 'k' };

/** A cluster in which another node holds the gates and has published its counts. */
const cluster: Cluster = {
  ...aloneInCluster(() => []),
  gateHolderOf: async () => 'n_2',
  gateStatusOf: async () => ({ keys: { k: { waiting: 2, inFlight: 1 } } }),
};

/** Commits a write as another node does. */
const commitElsewhere = ({ store }: Bench, write: ControlWrite) => store.commit([{ guards: [], writes: [write] }]);
const triggerElsewhere = (bench: Bench, parallelism: number) =>
  commitElsewhere(bench, { kind: 'put-flow-control', instanceId: INSTANCE, flowControl: { key: 'k', parallelism }, at: 0 });

test('a node without the gates shows and changes the stored limits, and keeps the rate window of the other node', async () => {
  await withRuntime(
    noSteps,
    async (bench) => {
      const { flowControl } = bench.runtime;
      await triggerElsewhere(bench, 1);
      const before = await flowControl.find(KEY);
      assert.deepEqual([before?.parallelism, before?.waiting, before?.inFlight], [1, 2, 1]);

      await flowControl.change({ ...KEY, change: { kind: 'resume' } });
      await triggerElsewhere(bench, 5);
      await commitElsewhere(bench, { kind: 'set-flow-window', ...KEY, window: { startedAt: 7, granted: 90 } });
      assert.equal((await flowControl.find(KEY))?.parallelism, 5);
      assert.deepEqual(
        (await flowControl.list({ instanceId: INSTANCE })).map(({ parallelism, waiting }) => [parallelism, waiting]),
        [[5, 2]],
      );

      const paused = await flowControl.change({ ...KEY, change: { kind: 'pause' } });
      assert.deepEqual([paused?.parallelism, paused?.paused], [5, true]);
      const stored = await bench.store.findFlowControl(KEY);
      assert.deepEqual([stored?.parallelism, stored?.paused, stored?.window], [5, true, { startedAt: 7, granted: 90 }]);
    },
    { cluster },
  );
});

test('a pause and a pin at the same time are both kept', async () => {
  await withRuntime(
    noSteps,
    async (bench) => {
      const { flowControl } = bench.runtime;
      await triggerElsewhere(bench, 3);
      await Promise.all([
        flowControl.change({ ...KEY, change: { kind: 'pause' } }),
        flowControl.change({ ...KEY, change: { kind: 'pin', limits: { parallelism: 4 } } }),
      ]);
      const stored = await bench.store.findFlowControl(KEY);
      assert.deepEqual([stored?.parallelism, stored?.parallelismPinned, stored?.paused], [4, true, true]);
    },
    { cluster },
  );
});
