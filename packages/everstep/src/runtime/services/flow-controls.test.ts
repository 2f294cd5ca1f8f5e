/** Flow control keys and settings as users see and change them on one of several nodes. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AccountLocks } from '../../accounts/quotas/account-locks.js';
import { DEFAULT_INSTANCE_SETTINGS, type InstanceSettings } from '../../engine/runs/run.js';
import type { ControlWrite } from '../../engine/writes.js';
import type { Cluster, SharedChange } from '../../ports/cluster.js';
import type { Store } from '../../ports/stores/store.js';
import { aloneInCluster, type Bench, ScriptedCaller, withRuntime } from '../runtime.fixture.js';
import { Settings } from './flow-controls.js';

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

test('other nodes read a hold or a key again if the response to the commit of its change was lost', async () => {
  const changes: SharedChange[] = [];
  const notifying: Cluster = { ...cluster, notify: (change) => void changes.push(change) };
  const wrap = (store: Store): Store => ({
    ...store,
    commit: async (units) => {
      await store.commit(units);
      throw new Error('the response was lost');
    },
  });
  await withRuntime(
    noSteps,
    async ({ runtime }) => {
      const hold = { instanceId: INSTANCE, origin: 'http://app:80', reason: 'maintenance' };
      await assert.rejects(runtime.destinations.hold(hold), /the response was lost/);
      assert.deepEqual(changes.splice(0), [{ kind: 'settings', instanceId: INSTANCE }]);
      const pin = { kind: 'pin', limits: { parallelism: 1 } } as const;
      for (const change of [pin, { kind: 'pause' }, { kind: 'reset-rate' }] as const) {
        await assert.rejects(runtime.flowControl.change({ ...KEY, change }), /the response was lost/);
        assert.deepEqual(changes.splice(0), [{ kind: 'flow-control', ...KEY }]);
      }
    },
    { cluster: notifying, wrap },
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

test('a change of the settings keeps a change that another node has made', async () => {
  await withRuntime(
    noSteps,
    async (bench) => {
      const { settings: service } = bench.runtime;
      const before = await service.instanceSettings({ instanceId: INSTANCE });
      const retention = { ...before.retention, failed: { maxAgeMs: 1_000, maxCount: null } };
      const settings = { ...before, retention };
      await commitElsewhere(bench, { kind: 'set-instance-settings', instanceId: INSTANCE, settings });
      const breaker = { ...before.breaker, failures: 7 };
      const update = (latest: InstanceSettings) => ({ ...latest, breaker });
      const changed = await service.changeInstanceSettings({ instanceId: INSTANCE, update });
      assert.deepEqual(changed, { breaker, retention });
      assert.deepEqual(await bench.store.instanceSettings({ instanceId: INSTANCE }), changed);
    },
    { cluster },
  );
});

test('concurrent changes of the settings on two nodes are both kept', async () => {
  let stored: InstanceSettings | null = null;
  const locks = new AccountLocks();
  const node = () =>
    new Settings({
      store: {
        accounts: { runExclusively: (work, accountIds) => locks.run(accountIds, work) },
        instanceSettings: async () => stored,
      },
      gates: {
        instanceSettings: async () => DEFAULT_INSTANCE_SETTINGS,
        async changeInstanceSettings({ settings }) {
          await new Promise((resolve) => setImmediate(resolve));
          stored = settings;
        },
      },
    });
  const breaker = { ...DEFAULT_INSTANCE_SETTINGS.breaker, failures: 7 };
  const retention = { ...DEFAULT_INSTANCE_SETTINGS.retention, failed: { maxAgeMs: 1_000, maxCount: null } };
  await Promise.all([
    node().changeInstanceSettings({ instanceId: INSTANCE, update: (latest) => ({ ...latest, breaker }) }),
    node().changeInstanceSettings({ instanceId: INSTANCE, update: (latest) => ({ ...latest, retention }) }),
  ]);
  assert.deepEqual(stored, { breaker, retention });
});
