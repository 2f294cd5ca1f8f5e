/** The slots of workers that are connected to other nodes, for the deliveries that this node passes on. */
import assert from 'node:assert/strict';
import { it, type TestContext } from 'node:test';
import type { NodePool, NodeWorkers } from '../ports/node-workers.js';
import { workersOf } from '../ports/workers.js';
import { quiet } from '../runtime/runtime.fixture.js';
import { ClusterWorkers } from './cluster-workers.js';
import { ConnectedWorkers } from './connected-workers.fixture.js';

const INSTANCE = 'qi_1';
const [REPORTS, ORDERS] = [workersOf(INSTANCE, 'worker://shop/report'), workersOf(INSTANCE, 'worker://shop/order')];

const poolAt = (nodeId: string, slots: number, ...workflows: readonly string[]): NodePool => ({
  ...{ nodeId, instanceId: INSTANCE, app: 'shop', slots, workflows },
});

/** Starts the node `n_1`. Other nodes have these pools, which the test may change. */
async function startNode(t: TestContext, pools: NodePool[]) {
  let workersVersion = 1;
  const nodeIds = [...new Set(['n_1', ...pools.map(({ nodeId }) => nodeId)])];
  const board: NodeWorkers = {
    nodeId: 'n_1',
    members: async () => nodeIds.map((nodeId) => ({ nodeId, url: null, workersVersion })),
    poolsOf: async () => [...pools],
    connectionsElsewhere: async () => [],
    publishPools: async () => {},
    notify: () => {},
  };
  const harness = new ConnectedWorkers();
  const workers = new ClusterWorkers({ local: harness.pools, board, clock: harness.clock, log: quiet });
  await workers.start();
  t.after(() => workers.stop());
  return {
    ...{ harness, workers },
    free: () => [REPORTS, ORDERS].map((name) => workers.freeSlots(name)),
    freed: () => workers.takeFreed().flatMap((freedSlots) => [...freedSlots.workers]),
    start: (key: string, name: string, isCounted = false) => workers.reserve({ key, workers: name, runKey: key, isCounted }),
    async change(...newPools: readonly NodePool[]) {
      pools.splice(0, pools.length, ...newPools);
      workersVersion++;
      await workers.refresh();
    },
  };
}

it('deliveries that other nodes make take no slots of the workers of this node', async (t) => {
  const { harness, workers, free, start } = await startNode(t, [poolAt('n_2', 2, 'order')]);
  assert.deepEqual(free(), [Number.POSITIVE_INFINITY, 2]);
  harness.connect({ workflows: ['report'], maxConcurrency: 1 });
  assert.deepEqual(free(), [1, 2]);
  assert.deepEqual([start('a', ORDERS), start('b', ORDERS), start('c', ORDERS)], [true, true, false]);
  assert.deepEqual(free(), [1, 0]);
  start('d', REPORTS);
  assert.deepEqual(free(), [0, 0]);
  for (const key of ['b', 'd']) workers.release(key);
  assert.deepEqual(free(), [1, 1]);
});

it('deliveries of a workflow count only at the nodes whose workers serve it', async (t) => {
  const { free, start } = await startNode(t, [poolAt('n_2', 1, 'report'), poolAt('n_3', 3, 'order')]);
  assert.deepEqual(free(), [1, 3]);
  for (const key of ['a', 'b', 'c']) start(key, ORDERS);
  assert.deepEqual(free(), [1, 0]);
});

it('while workers of this node serve a workflow, only their slots count', async (t) => {
  const { harness, free, start } = await startNode(t, [poolAt('n_2', 5, 'report', 'order')]);
  const worker = harness.connect({ workflows: ['order'], maxConcurrency: 1 });
  assert.deepEqual(free(), [5, 1]);
  start('a', ORDERS);
  assert.deepEqual(free(), [5, 0]);
  worker.lose();
  assert.deepEqual(free(), [5, 5]);
});

it('reports the workflows of pools of other nodes with released slots, and of those that change', async (t) => {
  const { workers, freed, start, change } = await startNode(t, [poolAt('n_2', 2, 'report', 'order')]);
  assert.deepEqual(freed(), [REPORTS, ORDERS]);
  start('a', ORDERS);
  workers.release('a');
  assert.deepEqual(freed(), [REPORTS, ORDERS]);
  start('a', ORDERS);
  start('b', REPORTS, true);
  workers.release('a');
  assert.deepEqual(workers.takeFreed(), [{ instanceId: INSTANCE, workers: new Set([REPORTS, ORDERS]), wasLastCounted: true }]);
  await change(poolAt('n_2', 3, 'order'));
  assert.deepEqual(freed(), [REPORTS, ORDERS, ORDERS]);
});

it('a released slot is reported for the workflows that its pool serves since it changed, whatever number of slots it has', async (t) => {
  const { workers, free, freed, start, change } = await startNode(t, [poolAt('n_2', 4, 'order')]);
  for (const key of ['a', 'b']) start(key, ORDERS);
  await change(poolAt('n_2', 2, 'report', 'order'));
  freed();
  assert.deepEqual([free(), start('c', REPORTS)], [[0, 0], false]);
  for (const key of ['a', 'b']) {
    workers.release(key);
    assert.deepEqual(freed(), [REPORTS, ORDERS]);
  }
  assert.deepEqual([free(), start('c', REPORTS)], [[2, 2], true]);
});

it('a start keeps the slot that is held for it when its pool gets fewer slots', async (t) => {
  const { workers, free, start, change } = await startNode(t, [poolAt('n_2', 2, 'order')]);
  for (const key of ['held', 'a']) start(key, ORDERS, true);
  await change(poolAt('n_2', 1, 'order'));
  assert.equal(workers.reserve({ key: 'b', workers: ORDERS, runKey: 'b', isCounted: true }, 'held'), true);
  workers.release('a');
  assert.equal(free()[1], 0);
  workers.release('b');
  assert.equal(free()[1], 1);
});

it('no more deliveries have a slot than other nodes have together, even if one node gets all of them', async (t) => {
  const { workers, free, start } = await startNode(t, [poolAt('n_2', 2, 'order'), poolAt('n_3', 2, 'order')]);
  const nodeOf = (key: string) => workers.nodeFor(INSTANCE, 'worker://shop/order', key);
  const keys = Array.from({ length: 100 }, (_, index) => `key${index}`);
  const keysOfOneNode = keys.filter((key) => nodeOf(key) === nodeOf('key0')).slice(0, 6);
  assert.deepEqual(
    keysOfOneNode.map((key) => start(key, ORDERS)),
    [true, true, true, true, false, false],
  );
  assert.equal(free()[1], 0);
  workers.release('key0');
  assert.equal(free()[1], 1);
});
