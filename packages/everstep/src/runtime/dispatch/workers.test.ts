/** Deliveries to worker URLs: they wait for a worker and its free slot without using an attempt. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isWorkerUrl } from '../../ports/workers.js';
import { type Bench, endOf, progress, ScriptedCaller, SETTINGS, settle, withRuntime } from '../runtime.fixture.js';
import { CONNECT_AT, FakeWorkers, ORDER, REFUND } from './fake-workers.fixture.js';

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
      for (let n = 0; n < 5; n++) runs.push(await bench.trigger({ workflowUrl: n % 2 === 0 ? ORDER : REFUND }));
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

test('runs of a workflow whose workers are busy take no slots of workers that serve another workflow', async () => {
  const workers = new FakeWorkers();
  const caller = new ScriptedCaller(() => new Promise(() => {}));
  workers.setSlots(1, [ORDER], 'small');
  workers.setSlots(3, [REFUND], 'large');
  await withRuntime(
    caller,
    async (bench) => {
      const orders = [];
      for (let n = 0; n < 6; n++) orders.push(await bench.trigger({ workflowUrl: ORDER }));
      for (let n = 0; n < 4; n++) await bench.trigger({ workflowUrl: REFUND });
      await settle();
      const inFlight = (url: string) => caller.calls.filter(({ workflowUrl }) => workflowUrl === url).length;
      assert.deepEqual([inFlight(ORDER), inFlight(REFUND)], [1, 3]);
      assert.deepEqual(await reasonsOf(bench, orders[5]?.run.workflowRunId ?? ''), [{ kind: 'queued', because: 'workers' }]);
    },
    { workers },
  );
});

/**
 * Runs of `urls` on one worker, which finishes the requests of all of its slots together. Returns how many of the first 12 requests
 * per slot went to each URL.
 */
async function sharesOf(urls: readonly string[], rates: readonly (string | null)[], slots = 1): Promise<readonly number[]> {
  const workers = new FakeWorkers();
  const finishes: (() => void)[] = [];
  const caller = new ScriptedCaller(async ({ request }) => {
    await new Promise<void>((resolve) => finishes.push(resolve));
    return progress(request, { end: { kind: 'finished', result: '1' } });
  });
  workers.setSlots(slots, urls);
  const requestCount = 12 * slots;
  await withRuntime(
    caller,
    async (bench) => {
      for (let n = 0; n < requestCount; n++)
        for (const [index, workflowUrl] of urls.entries()) {
          const key = rates[index] ?? null;
          const flowControl = key === null ? null : { key, rate: 1_000, periodMs: 3_600_000 };
          await bench.trigger({ workflowUrl, settings: { ...SETTINGS, flowControl } });
        }
      for (let n = 0; n < 12; n++) {
        await settle();
        assert.equal(caller.inFlight, slots, 'no slot is idle or used twice');
        for (const finish of finishes.splice(0, slots)) finish();
      }
      for (const finishNext of finishes) finishNext();
    },
    { workers },
  );
  return urls.map((url) => caller.calls.slice(0, requestCount).filter(({ workflowUrl }) => workflowUrl === url).length);
}

test('starts of one workflow that a rate counts share the slots of a worker with the deliveries of other workflows', async () => {
  const [orders = 0, refunds = 0] = await sharesOf([ORDER, REFUND], ['k', null]);
  assert.ok(Math.abs(orders - refunds) <= 2, `${orders} orders, ${refunds} refunds`);
});

test('workflows whose starts a rate counts take turns for the slots of a worker', async () => {
  const shares = await sharesOf([ORDER, REFUND, 'worker://shop/pack'], ['a', 'b', 'c']);
  assert.deepEqual(shares.slice().sort(), [4, 4, 4]);
});

test('workflows whose starts a rate counts take turns when a worker finishes several requests together', async () => {
  const urls = [ORDER, REFUND, 'worker://shop/pack', 'worker://shop/ship'];
  const [unrated = 0, ...shares] = (await sharesOf(urls, ['a', 'b', 'c', null], 2)).toReversed();
  assert.ok(Math.abs(unrated - 12) <= 2, `${unrated} of 24 requests`);
  for (const share of shares) assert.ok(Math.abs(share - 4) <= 1, `${shares.join(', ')} requests`);
});

test('a start that a rate counts gets the slot that it left to a delivery that another worker took', async () => {
  const workers = new FakeWorkers();
  const finishes: (() => void)[] = [];
  const caller = new ScriptedCaller(async ({ request }) => {
    await new Promise<void>((resolve) => finishes.push(resolve));
    return progress(request, { end: { kind: 'finished', result: '1' } });
  });
  workers.setSlots(1, [REFUND], 'refunds');
  workers.setSlots(1, [ORDER, REFUND], 'both');
  await withRuntime(
    caller,
    async (bench) => {
      const settings = { ...SETTINGS, flowControl: { key: 'k', rate: 1_000, periodMs: 3_600_000 } };
      for (let n = 0; n < 2; n++) {
        await bench.trigger({ workflowUrl: ORDER, settings });
        await settle();
        await bench.trigger({ workflowUrl: REFUND });
        await settle();
      }
      assert.equal(caller.calls.length, 2);
      for (const finish of finishes.splice(0)) finish();
      await settle();
      assert.equal(caller.calls.length, 4);
    },
    { workers },
  );
});

test('a rate grants no more starts than slots are free, although several workflows can use each slot', async () => {
  const workers = new FakeWorkers();
  const finishes: (() => void)[] = [];
  const caller = new ScriptedCaller(async ({ request }) => {
    await new Promise<void>((resolve) => finishes.push(resolve));
    return progress(request, { end: { kind: 'finished', result: '1' } });
  });
  workers.setSlots(1);
  await withRuntime(
    caller,
    async (bench) => {
      await bench.trigger({ workflowUrl: ORDER });
      const settings = { ...SETTINGS, flowControl: { key: 'k', rate: 1_000, periodMs: 3_600_000 } };
      for (const workflowUrl of [ORDER, REFUND]) await bench.trigger({ workflowUrl, settings });
      for (let granted = 1; granted <= 2; granted++) {
        await settle();
        for (const finish of finishes.splice(0)) finish();
        await settle();
        assert.equal((await bench.store.findFlowControl({ instanceId: 'qi_1', key: 'k' }))?.window?.granted, granted);
      }
    },
    { workers },
  );
});

test('starts that a rate counts use their worker while the workers of other workflows are busy', async () => {
  const workers = new FakeWorkers();
  const finishes = new Map<string, () => void>();
  const caller = new ScriptedCaller(async ({ workflowUrl, request }) => {
    await new Promise<void>((resolve) => finishes.set(workflowUrl, resolve));
    return progress(request, { end: { kind: 'finished', result: '1' } });
  });
  workers.setSlots(1, [ORDER], 'orders');
  workers.setSlots(1, [REFUND], 'refunds');
  await withRuntime(
    caller,
    async (bench) => {
      const settings = { ...SETTINGS, flowControl: { key: 'k', rate: 1_000, periodMs: 3_600_000 } };
      for (let n = 0; n < 3; n++) await bench.trigger({ workflowUrl: REFUND });
      for (let n = 0; n < 5; n++) await bench.trigger({ workflowUrl: ORDER, settings });
      for (let n = 1; n <= 5; n++) {
        await settle();
        assert.equal(caller.calls.filter(({ workflowUrl }) => workflowUrl === ORDER).length, n);
        finishes.get(ORDER)?.();
      }
      await settle();
      assert.equal(caller.calls.filter(({ workflowUrl }) => workflowUrl === REFUND).length, 1);
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
