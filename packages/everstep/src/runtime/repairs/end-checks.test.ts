/** Checks whether the runs of a repair have ended, when the store cannot be read. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Store } from '../../ports/stores/store.js';
import { ScriptedCaller, settle, withRuntime } from '../runtime.fixture.js';
import { currentRepair, Endpoints, FAST_START, failRuns, plan, start } from './repairs.fixture.js';

const A = 'http://app/a';

test('a check for ended runs that fails is repeated after a second', async () => {
  const endpoints = new Endpoints();
  let finishRun: (() => void) | null = null;
  const caller = new ScriptedCaller(async (call) => {
    if (!endpoints.isBroken(A)) {
      await new Promise<void>((resolve) => {
        finishRun = resolve;
      });
    }
    return endpoints.respond(call);
  });
  let isDamaged = false;
  let failedChecks = 0;
  const wrap = (store: Store): Store => ({
    ...store,
    repairs: {
      ...store.repairs,
      async endedItems(query) {
        if (!isDamaged) return store.repairs.endedItems(query);
        failedChecks++;
        throw new Error('the disk is full');
      },
    },
  });
  await withRuntime(
    caller,
    async (bench) => {
      const pass = async (ms: number): Promise<void> => {
        for (let passedMs = 0; passedMs < ms; passedMs += 50) {
          await settle();
          bench.clock.move(50);
        }
        await settle();
      };
      await failRuns(bench, { [A]: 1 });
      endpoints.isBroken = () => false;
      const planned = await plan(bench, 'resume');
      await start(bench, planned, FAST_START);
      await pass(2_000);
      isDamaged = true;
      finishRun?.();
      await pass(200);
      assert.equal(failedChecks, 1);
      isDamaged = false;
      await pass(1_000);
      const { phase, counts } = await currentRepair(bench, planned);
      assert.deepEqual([phase, counts.succeeded], ['done', 1]);
    },
    { wrap },
  );
});
