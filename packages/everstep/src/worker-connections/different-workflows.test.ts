/** Workers of one app that serve different workflows: a delivery uses only the slots of workers that serve its workflow. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { noMessages, ScriptedCaller, settle, withRuntime } from '../runtime/runtime.fixture.js';
import { ConnectedWorkers, type SimulatedWorker } from './connected-workers.fixture.js';
import { WorkerStepCaller } from './worker-step-caller.js';

const noEndpoint = new ScriptedCaller(({ workflowUrl }) => {
  throw new Error(`unexpected request to ${workflowUrl}`);
});

/** Returns the workflows of the requests that the worker has received. */
const workflowsAt = ({ frames }: SimulatedWorker): readonly string[] =>
  frames.flatMap((frame) => (frame.kind === 'step' ? [frame.workflow] : []));

it('busy workers of one workflow do not delay deliveries to workers that serve another one', async () => {
  const harness = new ConnectedWorkers();
  const { pools } = harness;
  const both = harness.connect({ workflows: ['order', 'report'], maxConcurrency: 1 });
  const large = harness.connect({ workflows: ['order'], maxConcurrency: 3 });
  const caller = new WorkerStepCaller({
    ...{ pools, now: () => harness.clock.now() },
    otherTransports: { stepCaller: noEndpoint, messageSender: noMessages },
  });
  const turn = async () => {
    await settle();
    await both.turn();
  };
  await withRuntime(
    caller,
    async (bench) => {
      for (let n = 0; n < 6; n++) await bench.trigger({ workflowUrl: 'worker://shop/report' });
      await turn();
      for (let n = 0; n < 6; n++) await bench.trigger({ workflowUrl: 'worker://shop/order' });
      await turn();
      assert.deepEqual(workflowsAt(both), ['report']);
      assert.deepEqual(workflowsAt(large), ['order', 'order', 'order']);
      assert.equal(bench.runtime.workload().deliveriesInFlight, 4, 'no delivery without a worker takes a slot');
      both.lose();
      const next = harness.connect({ workflows: ['report'], maxConcurrency: 2 });
      await turn();
      assert.deepEqual(workflowsAt(next), ['report', 'report']);
    },
    { workers: pools },
  );
});
