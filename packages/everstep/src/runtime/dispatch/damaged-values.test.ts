/** Runs whose stored data was changed by the disk. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DamagedValueError } from '../../ports/damaged-value.js';
import type { Store } from '../../ports/stores/store.js';
import { endOf, inARow, letterOf, ScriptedCaller, settle, withRuntime } from '../runtime.fixture.js';

test('a run whose journal is damaged becomes a dead letter immediately, and resumes when the data is restored', async () => {
  let isDamaged = true;
  const wrap = (store: Store): Store => ({
    ...store,
    loadJournal: (query) =>
      isDamaged
        ? Promise.reject(new DamagedValueError('step 1 of run k is damaged: its checksum does not match'))
        : store.loadJournal(query),
  });
  const caller = new ScriptedCaller(inARow(2));
  await withRuntime(
    caller,
    async (bench) => {
      const outcome = await bench.trigger();
      assert.ok(outcome.kind === 'started');
      await settle();
      assert.equal((await endOf(bench, outcome.run))?.status, 'failed');
      // The endpoint was called for the first step only.
      assert.equal(caller.calls.length, 1);
      const { dlqId, error } = await letterOf(bench);
      assert.match(error, /step 1 of run k is damaged: its checksum does not match/);
      isDamaged = false;
      await bench.runtime.deadLetters.recover({
        kind: 'resume',
        instanceId: 'qi_1',
        dlqIds: [dlqId],
        whenMissing: 'fail',
        overrides: {},
      });
      await settle();
      assert.deepEqual(
        caller.calls.map(({ request }) => request.journal.length),
        [0, 1],
      );
    },
    { wrap },
  );
});
