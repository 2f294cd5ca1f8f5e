/** Slots that remain for others while accounts use delivery slots for hours. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LIMITS } from '../../../config/limits.js';
import { ownersOf } from '../../../fairness/owners.fixture.js';
import type { StepCall } from '../../../ports/step-caller.js';
import { NO_LIMITS } from '../../../ports/stores/instance-limits.js';
import type { Store } from '../../../ports/stores/store.js';
import { StoreRefusesWritesError } from '../../../ports/stores/store-unavailable.js';
import { type Bench, endOf, inARow, ScriptedCaller, SETTINGS, settle, withRuntime } from '../../runtime.fixture.js';

const HOUR_MS = 3_600_000;
const LONGEST = { ...SETTINGS, deliveryTimeoutMs: 12 * HOUR_MS };
const MINUTES = { ...SETTINGS, deliveryTimeoutMs: 15 * 60_000 };

const never = new Promise<never>(() => {});
/** Endpoints whose host starts with `stuck` never respond; all others end their runs immediately. */
function endpoints(): ScriptedCaller {
  const respond = inARow(1);
  return new ScriptedCaller((call: StepCall) => (call.workflowUrl.startsWith('http://stuck') ? never : respond(call)));
}

const stuckOf = (caller: ScriptedCaller, instanceId: string): number =>
  caller.calls.filter((call) => call.instanceId === instanceId && call.workflowUrl.startsWith('http://stuck')).length;

async function flood(bench: Bench, instanceId: string, count: number, settings = LONGEST, host = 'stuck'): Promise<void> {
  const triggers = Array.from({ length: count }, (_, index) =>
    bench.trigger({ instanceId, workflowUrl: `http://${host}${index % 4}.${instanceId}/flow`, settings }),
  );
  await Promise.all(triggers);
  // First deliveries of a burst are held back for a while.
  for (let i = 0; i < 3; i++) {
    await settle();
    bench.clock.move(1_000);
  }
  await settle();
}

async function explained(bench: Bench, instanceId: string, workflowRunId: string) {
  const explanation = await bench.runtime.runs.explain({ instanceId, workflowRunId });
  return explanation?.tasks[0]?.reasons[0];
}

for (const hogs of [['hog1'], ['hog1', 'pig1', 'rat1']]) {
  test(`a run is delivered although ${hogs.length} accounts have taken as many slots as they could`, async () => {
    const caller = endpoints();
    await withRuntime(
      caller,
      async (bench) => {
        for (const hog of hogs) {
          await flood(bench, hog, 300, LONGEST);
          await flood(bench, hog, 300, MINUTES);
          assert.ok(stuckOf(caller, hog) <= 256, `${hog} has ${stuckOf(caller, hog)}`);
        }
        assert.ok(stuckOf(caller, 'hog1') >= 250, 'it has all the slots that it can get');
        const outcome = await bench.trigger({ instanceId: 'quiet1', workflowUrl: 'http://quiet/flow' });
        assert.ok(outcome.kind === 'started');
        await settle();
        const run = await bench.runtime.runs.awaitEnd({ instanceId: 'quiet1', run: outcome.run, timeoutMs: 0 });
        assert.equal(run?.status, 'succeeded');
      },
      { owners: ownersOf(...hogs, 'quiet1') },
    );
  });
}

test('explain reports that a delivery waits because its account has used its share', async () => {
  await withRuntime(
    endpoints(),
    async (bench) => {
      await flood(bench, 'hog1', 300, MINUTES);
      await bench.trigger({ instanceId: 'hog1', workflowUrl: 'http://stuck.hog1/flow', workflowRunId: 'late' });
      await settle();
      assert.deepEqual(await explained(bench, 'hog1', 'late'), { kind: 'queued', because: 'fair-share' });
    },
    { owners: ownersOf('hog1', 'quiet1') },
  );
});

test('while the store rejects writes, explain and the global parallelism show the same limits', async () => {
  let isRejecting = false;
  const wrap = (store: Store): Store => ({
    ...store,
    commit: (units) => (isRejecting ? Promise.reject(new StoreRefusesWritesError('disk full')) : store.commit(units)),
  });
  await withRuntime(
    endpoints(),
    async (bench) => {
      await flood(bench, 'hog1', 300, MINUTES);
      await bench.trigger({ instanceId: 'hog1', workflowUrl: 'http://stuck.hog1/flow', workflowRunId: 'late' });
      await settle();
      const limits = bench.runtime.flowControl.globalParallelism({ instanceId: 'hog1' });
      isRejecting = true;
      await assert.rejects(bench.trigger({ instanceId: 'hog1', workflowRunId: 'rejected' }), StoreRefusesWritesError);
      assert.deepEqual(bench.runtime.flowControl.globalParallelism({ instanceId: 'hog1' }), limits);
      assert.deepEqual(await explained(bench, 'hog1', 'late'), { kind: 'queued', because: 'fair-share' });
      isRejecting = false;
    },
    { owners: ownersOf('hog1', 'quiet1'), wrap },
  );
});

test('long deliveries take at most the slots for long deliveries, even when they are read from the store', async () => {
  const caller = endpoints();
  await withRuntime(caller, async (bench) => {
    const notBefore = bench.clock.now() + HOUR_MS;
    const many = Array.from({ length: 300 }, (_, index) =>
      bench.trigger({ workflowUrl: `http://stuck${index % 3}/flow`, settings: LONGEST, notBefore }),
    );
    await Promise.all(many);
    bench.clock.move(HOUR_MS);
    for (let i = 0; i < 10; i++) await settle();
    assert.equal(caller.calls.length, LIMITS.maxLongDeliveriesInFlight);
    await bench.trigger({ workflowUrl: 'http://stuck0/flow', settings: LONGEST, workflowRunId: 'late' });
    await settle();
    assert.deepEqual(await explained(bench, 'qi_1', 'late'), { kind: 'queued', because: 'long-deliveries' });
    const outcome = await bench.trigger({ workflowUrl: 'http://app/flow' });
    assert.ok(outcome.kind === 'started');
    assert.equal((await endOf(bench, outcome.run))?.status, 'succeeded');
  });
});

test('a delivery takes no longer than the installation permits, whatever timeout its run has', async () => {
  const caller = endpoints();
  await withRuntime(
    caller,
    async (bench) => {
      for (const settings of [LONGEST, SETTINGS]) await bench.trigger({ settings });
      await settle();
      assert.deepEqual(
        caller.calls.map(({ timeoutMs }) => timeoutMs),
        [HOUR_MS, SETTINGS.deliveryTimeoutMs],
      );
    },
    { limits: { ...NO_LIMITS, maxTimeoutMs: () => HOUR_MS } },
  );
});
