/** What a node makes of what it hears of runs that other nodes decide on, too. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { StepReply } from '@everstep/sdk/protocol';
import type { StepCall } from '../ports/step-caller.js';
import type { DueTask, Store } from '../ports/store.js';
import { aloneInCluster, endOf, progress, ScriptedCaller, settle, withRuntime } from './runtime.fixture.js';

const SLEEP_MS = 5_000;

/** Sleeps once, and ends. */
const sleeper = ({ request }: StepCall): StepReply =>
  request.journal.length === 0
    ? progress(request, { planned: [{ stepId: 1, name: 'nap', type: 'SleepFor', sleepMs: SLEEP_MS }] })
    : progress(request, { end: { kind: 'finished', result: '"awake"' } });

test('a run goes on that is owed a delivery while an older one of it finds that there is nothing to deliver', async () => {
  const claims: DueTask[] = [];
  const caller = new ScriptedCaller(sleeper);
  const cluster = aloneInCluster(() => claims.splice(0));
  await withRuntime(
    caller,
    async (bench) => {
      const { run } = await bench.trigger();
      await settle();
      assert.equal(caller.calls.length, 1);
      const task = {
        runKey: run.runKey,
        instanceId: 'qi_1',
        workflowUrl: 'http://app/flow',
        flowControlKey: null,
        runVersion: 1,
      };
      // The delivery before, of which it was told late; and the sleep, whose end asks for another one.
      claims.push({ ...task, slot: 0, kind: 'advance', dueAt: bench.clock.now() });
      claims.push({ ...task, slot: 1, kind: 'sleep', dueAt: bench.clock.now() + SLEEP_MS });
      bench.clock.move(SLEEP_MS);
      await settle();
      assert.equal(caller.calls.length, 2);
      assert.equal((await endOf(bench, run))?.result, '"awake"');
    },
    { cluster },
  );
});

test('a run goes on that was let go because another node went on with it, while what it owes at once was being written', async () => {
  const claims: DueTask[] = [];
  let held: Promise<void> | null = null;
  /** Its commits are answered when a test says so. */
  const slow = (store: Store): Store =>
    new Proxy(store, {
      get(target, property, receiver) {
        if (property !== 'commit') return Reflect.get(target, property, receiver);
        return async (...units: Parameters<Store['commit']>) => {
          const results = await target.commit(...units);
          await held;
          return results;
        };
      },
    });
  const caller = new ScriptedCaller(({ request }) =>
    request.journal.length === 0
      ? progress(request, { planned: [{ stepId: 1, name: 'blink', type: 'SleepFor', sleepMs: 0 }] })
      : progress(request, { end: { kind: 'finished', result: '"awake"' } }),
  );
  await withRuntime(
    caller,
    async (bench) => {
      const { run } = await bench.trigger();
      let answer = (): void => {};
      held = new Promise((resolve) => {
        answer = resolve;
      });
      await settle();
      // The plan is written by now. Of another task of the run this node hears how far the run is, which is further.
      const { runKey } = run;
      const place = { instanceId: 'qi_1', workflowUrl: 'http://app/flow', flowControlKey: null, kind: 'sleep' as const };
      claims.push({ ...place, runKey, slot: 9, dueAt: bench.clock.now(), runVersion: Number.MAX_SAFE_INTEGER });
      bench.clock.move(1_000);
      await settle();
      answer();
      held = null;
      await settle();
      assert.equal(caller.calls.length, 2);
      assert.equal((await endOf(bench, run))?.result, '"awake"');
    },
    { wrap: slow, cluster: aloneInCluster(() => claims.splice(0)) },
  );
});
