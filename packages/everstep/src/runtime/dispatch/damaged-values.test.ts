/** Runs whose stored data was changed by the disk. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DamagedValueError } from '../../ports/damaged-value.js';
import type { Store } from '../../ports/stores/store.js';
import { commandFor } from '../messages/plain-messages.fixture.js';
import { endOf, inARow, letterOf, progress, ScriptedCaller, settle, withRuntime } from '../runtime.fixture.js';

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
        onMissing: 'fail',
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

/** Rejects reads of bodies after `damage` was called. */
function damageableBodies() {
  let isDamaged = false;
  return {
    damage: () => {
      isDamaged = true;
    },
    wrap: (store: Store): Store => ({
      ...store,
      loadPayload: async (query) => {
        if (isDamaged) throw new DamagedValueError(`the payload of run ${query.runKey} is damaged`);
        return store.loadPayload(query);
      },
    }),
  };
}

test('a run whose body is damaged while it sleeps becomes a dead letter when the sleep ends, also after a restart', async () => {
  const { damage, wrap } = damageableBodies();
  const caller = new ScriptedCaller(({ request }) =>
    progress(request, { planned: [{ stepId: 1, name: 'nap', type: 'SleepFor', sleepMs: 1_000 }] }),
  );
  await withRuntime(
    caller,
    async (bench) => {
      await bench.trigger();
      await settle();
      damage();
      await bench.restart();
      bench.clock.move(1_000);
      await settle();
      assert.match((await letterOf(bench)).error, /the payload of run .* is damaged/);
      assert.equal(caller.calls.length, 1);
    },
    { wrap },
  );
});

test('a message whose body is damaged before it is sent becomes a dead letter, also after a restart', async () => {
  const { damage, wrap } = damageableBodies();
  await withRuntime(
    new ScriptedCaller(inARow(1)),
    async (bench) => {
      await bench.runtime.messages.publish([{ ...commandFor('1'), notBefore: bench.clock.now() + 1_000 }]);
      damage();
      await bench.restart();
      bench.clock.move(1_000);
      await settle();
      assert.match((await letterOf(bench)).error, /the payload of run .* is damaged/);
    },
    { wrap },
  );
});
