/** Workers of one app that serve different workflows: a delivery uses only the slots of workers that serve its workflow. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { NO_LIMITS } from '../ports/stores/instance-limits.js';
import { ONE_OWNER } from '../ports/stores/instance-owners.js';
import { workersOf } from '../ports/workers.js';
import { SlotQueue } from '../runtime/dispatch/slots/slot-queue.js';
import type { Delivery } from '../runtime/gates/delivery.js';
import { inARow, noMessages, ScriptedCaller, SETTINGS, settle, withRuntime } from '../runtime/runtime.fixture.js';
import { ConnectedWorkers, type SimulatedWorker } from './connected-workers.fixture.js';
import type { WorkerLink } from './worker-link.js';
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

const urlOf = (workflow: string): string => `worker://shop/${workflow}`;
const deliveryTo = (workflow: string, runKey: string): Delivery => {
  const [instanceId, origin] = ['qi_1', urlOf(workflow)];
  return { runKey, slot: 1, limits: { instanceId, flowControlKey: null, origin, workers: workersOf(instanceId, origin) } };
};

it('a slot that was held for a start is free when the start uses the connection that holds its run', async () => {
  const harness = new ConnectedWorkers();
  const { pools, clock } = harness;
  const small = harness.connect({ workflows: ['order', 'ship'], maxConcurrency: 1 });
  const large = harness.connect({ workflows: ['order'], maxConcurrency: 2 });
  const orders = workersOf('qi_1', urlOf('order'));
  const started: string[] = [];
  const writes = { isOpen: true, isOpenFor: () => true, reportFailure: () => false };
  const slots = new SlotQueue(
    { clock, owners: ONE_OWNER, workers: pools, limits: NO_LIMITS, writes },
    { startDelivery: ({ runKey }) => started.push(runKey), onSlotsLeft: () => {} },
  );
  pools.reserve({ key: 'other', workers: orders, runKey: '', isCounted: false });
  pools.recordReply(large.link, 'order1', true);
  slots.reserve(orders, 'qi_1', 1);
  assert.equal(pools.freeSlots(workersOf('qi_1', urlOf('ship'))), 0, 'the slot of the less loaded connection is held');
  slots.add(deliveryTo('ship', 'ship1'), 'continuing');
  await settle();
  assert.deepEqual(started, []);
  slots.reserve(orders, 'qi_1', -1);
  slots.add(deliveryTo('order', 'order1'), 'counted');
  await settle();
  assert.deepEqual(started, ['order1', 'ship1']);
  assert.equal(pools.pick({ instanceId: 'qi_1', app: 'shop', workflow: 'ship', runKey: '', deliveryKey: 'ship1/1' }), small.link);
});

/** Returns a function that returns pseudorandom integers below its argument. */
function randomIntegers(seed: number): (end: number) => number {
  let state = Math.imul(seed, 0x9e3779b1) >>> 0;
  return (end) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * end);
  };
}

const WORKFLOWS = ['order', 'report', 'ship', 'pack'];

/** Workers that serve random workflows, which may overlap. They connect, drain and leave at random. */
class RandomWorkers extends ConnectedWorkers {
  private readonly random: (end: number) => number;
  private readonly workers: SimulatedWorker[] = [];

  constructor(random: (end: number) => number) {
    super();
    this.random = random;
    for (let n = 0; n <= random(3); n++) this.connectOne();
  }
  connectOne(): void {
    const { random } = this;
    const served = WORKFLOWS.filter(() => random(2) === 0);
    const workflows = served.length > 0 ? served : WORKFLOWS.slice(random(WORKFLOWS.length));
    this.workers.push(this.connect({ workflows, maxConcurrency: 1 + random(3) }));
  }
  removeOne(): void {
    const [worker] = this.workers.splice(this.random(this.workers.length), 1);
    if (this.random(2) === 0) worker?.lose();
    else worker?.send({ kind: 'drain' });
  }
}

async function runRandomly(seed: number): Promise<void> {
  const random = randomIntegers(seed);
  const workers = new RandomWorkers(random);
  const { pools } = workers;
  const inFlight: { readonly link: WorkerLink; readonly finish: () => void }[] = [];
  const caller = new ScriptedCaller(async (call) => {
    const { request, deliveryKey, workflowUrl, instanceId } = call;
    const workflow = workflowUrl.slice(urlOf('').length);
    const link = pools.pick({ instanceId, app: 'shop', workflow, runKey: request.run.key, deliveryKey });
    assert.ok(link && link !== 'busy', 'the delivery has a slot');
    await new Promise<void>((resolve) => inFlight.push({ link, finish: resolve }));
    pools.recordReply(link, request.run.key, random(2) === 0);
    if (request.journal.length === 0) expected.set(workflowUrl, (expected.get(workflowUrl) ?? 0) + 1);
    return inARow(2)(call);
  });
  let runCount = 0;
  const startedOf = (url: string) => caller.calls.filter(({ workflowUrl }) => workflowUrl === url).length;
  /** Number of deliveries that are due, by URL. Each run has two. */
  const expected = new Map<string, number>();
  const keys = WORKFLOWS.map(() => (random(2) === 0 ? `key${random(2)}` : null));
  const check = (step: number) => {
    for (const { link } of inFlight) {
      const used = inFlight.filter((each) => each.link === link).length;
      assert.ok(used <= link.profile.maxConcurrency, `step ${step}: a worker has ${used} deliveries`);
    }
    for (const url of WORKFLOWS.map(urlOf)) {
      const free = pools.freeSlots(workersOf('qi_1', url));
      if (free > 0 && free < Number.POSITIVE_INFINITY)
        assert.equal(startedOf(url), expected.get(url) ?? 0, `step ${step}: ${url} waits, and ${free} slots are free`);
    }
  };
  await withRuntime(
    caller,
    async (bench) => {
      for (let step = 0; step < 200; step++) {
        const action = random(100);
        if (action < 50) {
          const index = random(WORKFLOWS.length);
          const [workflowUrl, key = null] = [urlOf(WORKFLOWS[index] ?? ''), keys[index]];
          const flowControl = key === null ? null : { key, rate: 1_000, periodMs: 3_600_000 };
          await bench.trigger({ workflowUrl, settings: { ...SETTINGS, flowControl } });
          expected.set(workflowUrl, (expected.get(workflowUrl) ?? 0) + 1);
          runCount++;
        } else if (action < 94)
          for (let ends = random(3); ends >= 0; ends--) inFlight.splice(random(inFlight.length), 1)[0]?.finish();
        else if (action < 97) workers.connectOne();
        else {
          // Every delivery that has started is sent.
          await settle();
          workers.removeOne();
        }
        // The first deliveries of many runs at the same time would be held back.
        bench.clock.move(100);
        if (random(3) > 0) continue;
        await settle();
        check(step);
      }
      workers.connect({ workflows: WORKFLOWS });
      for (let step = 0; caller.calls.length < 2 * runCount; step++) {
        assert.ok(step < 2 * runCount, 'every delivery starts');
        for (const { finish } of inFlight.splice(0)) finish();
        await settle();
        check(step);
      }
      for (const { finish } of inFlight.splice(0)) finish();
    },
    { workers: pools },
  );
}

for (let seed = 1; seed <= 8; seed++)
  it(`no worker has too many deliveries, and none waits while a worker has a free slot (seed ${seed})`, () => runRandomly(seed));
