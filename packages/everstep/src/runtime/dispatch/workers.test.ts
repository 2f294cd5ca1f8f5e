/** Deliveries to worker URLs: they wait for a worker and its free slot without using an attempt. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isWorkerUrl, poolName, type WorkerChange, type WorkerPresence } from '../../ports/workers.js';
import { type Bench, endOf, progress, ScriptedCaller, SETTINGS, settle, withRuntime } from '../runtime.fixture.js';

const ORDER = 'worker://shop/order';
const CONNECT_AT = 1_700_000_000_000;

/** Workers of the app `shop` that a test connects and disconnects. */
class FakeWorkers implements WorkerPresence {
  private readonly listeners: ((change: WorkerChange) => void)[] = [];
  private slots = 0;

  missingSince(_instanceId: string, url: string): number | null {
    return isWorkerUrl(url) && this.slots === 0 ? CONNECT_AT : null;
  }
  capacityOf(pool: string): number {
    return pool === poolName('qi_1', 'shop') ? this.slots : 0;
  }
  onChange(listener: (change: WorkerChange) => void): void {
    this.listeners.push(listener);
  }
  setSlots(slots: number): void {
    this.slots = slots;
    for (const listener of this.listeners) listener({ instanceId: 'qi_1', app: 'shop' });
  }
}

const finish = new ScriptedCaller(({ request }) => progress(request, { end: { kind: 'finished', result: '1' } }));
const reasonsOf = async ({ runtime }: Bench, workflowRunId: string) =>
  (await runtime.runs.explain({ instanceId: 'qi_1', workflowRunId }))?.tasks.flatMap(({ reasons }) => reasons);

test('a run waits until a worker is connected, and does not use up an attempt', async () => {
  const workers = new FakeWorkers();
  finish.calls.length = 0;
  await withRuntime(
    finish,
    async (bench) => {
      const { run } = await bench.trigger({ workflowUrl: ORDER });
      await settle();
      bench.clock.move(60_000);
      await settle();
      assert.deepEqual(await reasonsOf(bench, run.workflowRunId), [{ kind: 'no-worker', url: ORDER, since: CONNECT_AT }]);
      assert.deepEqual(await bench.runtime.destinations.list({ instanceId: 'qi_1' }), [
        { origin: ORDER, noWorkerSince: CONNECT_AT, hold: null, failures: 0, lastError: null, waiting: 1, probeAt: null },
      ]);
      assert.equal(finish.calls.length, 0);
      workers.setSlots(1);
      assert.equal((await endOf(bench, run))?.status, 'succeeded');
      assert.deepEqual(
        finish.calls.map(({ request }) => request.retried),
        [0],
      );
      assert.deepEqual(await bench.runtime.destinations.list({ instanceId: 'qi_1' }), []);
    },
    { workers },
  );
});

test('no more deliveries are in flight than the workers have slots; other destinations are not affected', async () => {
  const workers = new FakeWorkers();
  const caller = new ScriptedCaller(() => new Promise(() => {}));
  workers.setSlots(2);
  await withRuntime(
    caller,
    async (bench) => {
      const runs = [];
      for (let n = 0; n < 5; n++) runs.push(await bench.trigger({ workflowUrl: n % 2 === 0 ? ORDER : 'worker://shop/refund' }));
      await bench.trigger();
      await settle();
      const inFlight = () => caller.calls.filter(({ workflowUrl }) => isWorkerUrl(workflowUrl)).length;
      assert.equal(inFlight(), 2);
      assert.equal(caller.calls.length, 3);
      assert.deepEqual(await reasonsOf(bench, runs[4]?.run.workflowRunId ?? ''), [{ kind: 'queued', because: 'workers' }]);
      workers.setSlots(4);
      await settle();
      assert.equal(inFlight(), 4);
      workers.setSlots(0);
      await settle();
      assert.deepEqual(await reasonsOf(bench, runs[4]?.run.workflowRunId ?? ''), [
        { kind: 'no-worker', url: ORDER, since: CONNECT_AT },
      ]);
    },
    { workers },
  );
});

test('a run that waits for a worker takes no slot of its flow control key', async () => {
  const workers = new FakeWorkers();
  finish.calls.length = 0;
  const settings = { ...SETTINGS, flowControl: { key: 'k', parallelism: 1 } };
  await withRuntime(
    finish,
    async (bench) => {
      await bench.trigger({ workflowUrl: ORDER, settings });
      const { run } = await bench.trigger({ settings });
      assert.equal((await endOf(bench, run))?.status, 'succeeded');
      assert.equal(finish.calls.length, 1);
    },
    { workers },
  );
});

test('a run that waited for a slot releases the slot of its flow control key when the last worker leaves', async () => {
  const workers = new FakeWorkers();
  const caller = new ScriptedCaller(({ workflowUrl, request }) =>
    isWorkerUrl(workflowUrl) ? new Promise(() => {}) : progress(request, { end: { kind: 'finished', result: '1' } }),
  );
  const settings = { ...SETTINGS, flowControl: { key: 'k', parallelism: 1 } };
  workers.setSlots(1);
  await withRuntime(
    caller,
    async (bench) => {
      await bench.trigger({ workflowUrl: ORDER });
      await settle();
      const waiting = await bench.trigger({ workflowUrl: ORDER, settings });
      const { run } = await bench.trigger({ settings });
      await settle();
      assert.deepEqual(await reasonsOf(bench, waiting.run.workflowRunId), [{ kind: 'queued', because: 'workers' }]);
      workers.setSlots(0);
      assert.equal((await endOf(bench, run))?.status, 'succeeded');
      assert.equal(caller.calls.length, 2);
    },
    { workers },
  );
});

test('without support for workers, a run at a worker URL waits and can be canceled', async () => {
  finish.calls.length = 0;
  await withRuntime(finish, async (bench) => {
    const { run } = await bench.trigger({ workflowUrl: ORDER });
    await settle();
    const canceled = await bench.runtime.runs.cancel({ instanceId: 'qi_1', workflowRunId: run.workflowRunId });
    assert.equal(canceled.kind, 'canceled');
    assert.equal(finish.calls.length, 0);
  });
});
