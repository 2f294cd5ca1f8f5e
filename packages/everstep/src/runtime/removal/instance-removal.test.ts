import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LIMITS } from '../../config/limits.js';
import { alertSettingsName } from '../../ports/stores/alerts/alert-store.js';
import { sampleInstance } from '../../stores/conformance/accounts/account-samples.js';
import { type Bench, inARow, ScriptedCaller, settle, withRuntime } from '../runtime.fixture.js';

const INSTANCE = 'qi_1';

async function remove({ store, runtime, clock }: Bench): Promise<void> {
  await store.accounts.createInstance(sampleInstance(INSTANCE));
  assert.equal(await store.accounts.deleteInstance({ instanceId: INSTANCE, at: clock.now() }), true);
  await runtime.deletedInstances.refresh();
}

const runKeyOf = (outcome: Awaited<ReturnType<Bench['trigger']>>): string => {
  assert.ok('run' in outcome);
  return outcome.run.runKey;
};

test('a deletion aborts deliveries in flight, delivers nothing more, and removes the rows', async () => {
  const signals: AbortSignal[] = [];
  const caller = new ScriptedCaller((_call, signal) => {
    signals.push(signal);
    return new Promise(() => {});
  });
  await withRuntime(caller, async (bench) => {
    const { store, runtime } = bench;
    const runKey = runKeyOf(await bench.trigger());
    await settle();
    assert.equal(caller.calls.length, 1);
    await remove(bench);
    await settle();
    assert.equal(signals[0]?.aborted, true);
    const later = runKeyOf(await bench.trigger());
    await runtime.idle();
    assert.equal(caller.calls.length, 1);
    assert.equal(await store.loadRun({ runKey }), null);
    assert.equal((await store.accounts.listDeletedInstances())[0]?.emptiedAt, bench.clock.now());

    // Data that was admitted before and written after the deletion is found later.
    bench.clock.move(LIMITS.deletedInstanceRecheckMs);
    await runtime.idle();
    assert.equal(await store.loadRun({ runKey: later }), null);
    assert.equal(caller.calls.length, 1);
    for (let ms = 0; ms < LIMITS.deletedInstanceKeptMs; ms += LIMITS.deletedInstanceRecheckMs) {
      bench.clock.move(LIMITS.deletedInstanceRecheckMs);
      await runtime.idle();
    }
    assert.deepEqual(await store.accounts.listDeletedInstances(), []);
  });
});

test('does not deliver a run that becomes due later', async () => {
  const caller = new ScriptedCaller(inARow(3));
  await withRuntime(caller, async (bench) => {
    const runKey = runKeyOf(await bench.trigger({ notBefore: bench.clock.now() + 1_000 }));
    await bench.store.accounts.createInstance(sampleInstance(INSTANCE));
    await bench.store.accounts.deleteInstance({ instanceId: INSTANCE, at: bench.clock.now() });
    await bench.runtime.deletedInstances.refresh();
    await bench.runtime.idle();
    bench.clock.move(1_000);
    await bench.runtime.idle();
    assert.equal(caller.calls.length, 0);
    assert.equal(await bench.store.loadRun({ runKey }), null);
  });
});

test('the alert rules of a deleted instance end, also those of a request that was admitted before the deletion', async () => {
  await withRuntime(new ScriptedCaller(inARow(1)), async (bench) => {
    const { store, runtime, clock } = bench;
    const condition = { kind: 'run-failed', endAfterMs: 900_000 } as const;
    const putRule = async () => {
      const url = 'http://ops/hook';
      const destination = { instanceId: INSTANCE, name: 'hook', kind: 'webhook', url, rotateSecret: false } as const;
      assert.ok(typeof (await runtime.alerts.putDestination(destination)) !== 'string');
      const rule = { name: 'r', isEnabled: true, condition, destinations: ['hook'] };
      assert.ok(typeof (await runtime.alerts.putRule({ instanceId: INSTANCE, rule })) !== 'string');
    };
    const rulesInUse = () => runtime.alerts.settings({ instanceId: INSTANCE }).rules.length;
    await putRule();
    assert.equal(rulesInUse(), 1);
    await remove(bench);
    await runtime.idle();
    assert.equal(rulesInUse(), 0);

    await putRule();
    assert.equal(rulesInUse(), 0);
    clock.move(LIMITS.deletedInstanceRecheckMs);
    await runtime.idle();
    assert.equal(await store.accounts.findSecret({ name: alertSettingsName(INSTANCE) }), null);
  });
});
