/** The slots of workers that are connected to other nodes, for the deliveries that this node passes on. */
import assert from 'node:assert/strict';
import { it, type TestContext } from 'node:test';
import type { NodePool, NodeWorkers, PublishedPool } from '../ports/node-workers.js';
import { quiet } from '../runtime/runtime.fixture.js';
import { ClusterWorkers } from './cluster-workers.js';
import { ConnectedWorkers, settle } from './connected-workers.fixture.js';

const INSTANCE = 'qi_1';
const REPORT = 'worker://shop/report';
const ORDER = 'worker://shop/order';

/** A node whose only other member has these pools. */
async function startNode(t: TestContext, pools: readonly NodePool[]) {
  const published: PublishedPool[] = [];
  const board: NodeWorkers = {
    nodeId: 'n_1',
    members: async () =>
      [...new Set(['n_1', ...pools.map(({ nodeId }) => nodeId)])].map((nodeId) => ({ nodeId, url: null, workersVersion: 1 })),
    poolsOf: async () => pools,
    connectionsElsewhere: async () => [],
    publishPools: async ({ put }) => void published.push(...put),
    notify: () => {},
  };
  const harness = new ConnectedWorkers();
  const workers = new ClusterWorkers({ local: harness.pools, board, clock: harness.clock, log: quiet });
  await workers.start();
  t.after(() => workers.stop());
  const free = () => [REPORT, ORDER].map((url) => workers.freeSlots(INSTANCE, url));
  const start = (deliveryKey: string, url: string) =>
    workers.reserve({ deliveryKey, runKey: deliveryKey, instanceId: INSTANCE, url });
  return { harness, workers, published, free, start };
}

const poolOf = (nodeId: string, slots: number, workflows: readonly string[], more: Partial<NodePool> = {}): NodePool => ({
  ...{ nodeId, instanceId: INSTANCE, app: 'shop', slots, workflows, limitedSlots: [] },
  ...more,
});

it('deliveries that other nodes make take no slots of the workers of this node', async (t) => {
  const { harness, workers, free, start } = await startNode(t, [poolOf('n_2', 2, ['order'])]);
  harness.connect({ workflows: ['report'], maxConcurrency: 1 });
  assert.deepEqual(free(), [1, 2]);
  for (const key of ['a', 'b']) start(key, ORDER);
  assert.deepEqual(free(), [1, 0]);
  start('c', REPORT);
  assert.deepEqual(free(), [0, 0]);
  for (const key of ['b', 'c']) workers.release(key);
  assert.deepEqual(free(), [1, 1]);
});

it('counts the slots of another node only for the workflows that its workers serve, and in total', async (t) => {
  const { free, start } = await startNode(t, [
    poolOf('n_2', 4, ['report', 'order'], { limitedSlots: [['report', 1]] }),
    poolOf('n_3', 1, ['order']),
  ]);
  assert.deepEqual(free(), [1, 5]);
  start('a', REPORT);
  assert.deepEqual(free(), [0, 4]);
});

it('publishes the slots of a workflow that only some workers serve', async (t) => {
  const { harness, published } = await startNode(t, []);
  harness.connect({ workflows: ['order', 'report'], maxConcurrency: 2 });
  harness.connect({ workflows: ['order'], maxConcurrency: 3 });
  harness.clock.advance();
  await settle();
  assert.deepEqual(
    published.map(({ slots, workflows, limitedSlots }) => ({ slots, workflows, limitedSlots })),
    [{ slots: 5, workflows: ['order', 'report'], limitedSlots: [['report', 2]] }],
  );
});
