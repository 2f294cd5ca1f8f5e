/** What a node makes of what it hears of runs that other nodes decide on, too. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { StepReply } from '@everstep/sdk/protocol';
import type { StepCall } from '../ports/step-caller.js';
import type { DueTask } from '../ports/store.js';
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
