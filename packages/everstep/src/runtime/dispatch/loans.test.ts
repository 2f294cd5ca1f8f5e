/** Several nodes: slots of flow control keys whose delivery another node makes, because the worker is connected there. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Loan, TaskId } from '../../ports/cluster.js';
import type { WorkerPresence } from '../../ports/workers.js';
import { aloneInCluster, ScriptedCaller, SETTINGS, settle, withRuntime } from '../runtime.fixture.js';

const VERIFY_EVERY_MS = 1_000;

/** The only worker is connected to another node. */
const elsewhere: WorkerPresence = {
  missingSince: () => null,
  capacityOf: () => 10,
  onChange: () => {},
  nodes: { isServedHere: () => false, nodeFor: () => 'n_2' },
};

const noCalls = new ScriptedCaller(() => {
  throw new Error('no worker is connected to this node');
});

test('a slot lent to a node that is killed is free when another node has taken over its tasks, and not before', async () => {
  const handed: TaskId[] = [];
  let openLoans: readonly Loan[] | null = null;
  const cluster = {
    ...aloneInCluster(() => []),
    handOver: async (tasks: readonly TaskId[], _to: string, options: { readonly isLent?: boolean } = {}) => {
      assert.equal(options.isLent, true);
      handed.push(...tasks);
    },
    openLoans: async (loans: readonly Loan[]) => openLoans ?? loans,
  };
  await withRuntime(
    noCalls,
    async ({ trigger, clock }) => {
      const settings = { ...SETTINGS, flowControl: { key: 'k', parallelism: 1 } };
      const runs = [];
      for (let n = 0; n < 3; n++) runs.push((await trigger({ workflowUrl: 'worker://shop/order', settings })).run.runKey);
      await settle();
      const lent = () => handed.map(({ runKey }) => runKey);
      assert.deepEqual(lent(), runs.slice(0, 1));
      // The borrower is dead, and its lease has not ended yet.
      clock.move(VERIFY_EVERY_MS);
      await settle();
      assert.deepEqual(lent(), runs.slice(0, 1));
      // Another node has claimed its tasks.
      openLoans = [];
      clock.move(VERIFY_EVERY_MS);
      await settle();
      assert.deepEqual(lent(), runs.slice(0, 2));
    },
    { cluster, workers: elsewhere },
  );
});
