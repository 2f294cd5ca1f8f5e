/** Schedules on a store whose commits fail, or whose responses are lost. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Store } from '../../ports/stores/store.js';
import { withRuntime } from '../runtime.fixture.js';
import { caller, command, HOUR_MS, passTime, putSchedule, runsIn, scheduleIdOf } from './schedules.fixture.js';

for (const [what, refuse] of [
  ['a tick whose commit is lost starts its run later', true],
  ['a tick of which only the response was lost starts one run', false],
] as const) {
  test(what, async () => {
    let faults = 0;
    const wrap = (store: Store): Store => ({
      ...store,
      async commit(units) {
        const ticks = units.some(({ guards }) => guards.some(({ kind }) => kind === 'schedule-due'));
        // For the batch and for the single unit.
        const fault = ticks && faults > 0;
        if (fault) faults--;
        if (fault && refuse) throw new Error('the disk is full');
        const results = await store.commit(units);
        if (fault) throw new Error('the response was lost');
        return results;
      },
    });
    await withRuntime(
      caller(),
      async (bench) => {
        const { scheduleId } = await putSchedule(bench.runtime, command());
        faults = 3;
        await passTime(bench, HOUR_MS);
        for (let n = 0; n < 5; n++) await passTime(bench, 1000);
        const runs = await runsIn(bench.store);
        assert.deepEqual(runs.map(scheduleIdOf), [scheduleId]);
        assert.equal(runs[0]?.status, 'succeeded');
        await passTime(bench, HOUR_MS);
        assert.equal((await runsIn(bench.store)).length, 2);
      },
      { wrap },
    );
  });
}

test('simultaneous ticks with a lost response start one run each, which continues', async () => {
  let isLost = false;
  const wrap = (store: Store): Store => ({
    ...store,
    async commit(units) {
      const results = await store.commit(units);
      if (isLost && units.length > 1) throw new Error('the response was lost');
      return results;
    },
  });
  await withRuntime(
    caller(),
    async (bench) => {
      for (const scheduleId of ['a', 'b']) await putSchedule(bench.runtime, command({ scheduleId }));
      isLost = true;
      await passTime(bench, HOUR_MS);
      isLost = false;
      for (let n = 0; n < 3; n++) await passTime(bench, 1000);
      const runs = await runsIn(bench.store);
      assert.deepEqual(runs.map((run) => [scheduleIdOf(run), run.status]).sort(), [
        ['a', 'succeeded'],
        ['b', 'succeeded'],
      ]);
    },
    { wrap },
  );
});

test('a schedule ticks although the response to its commit was lost', async () => {
  let isLost = false;
  const wrap = (store: Store): Store => ({
    ...store,
    async commit(units) {
      const results = await store.commit(units);
      if (isLost) throw new Error('the response was lost');
      return results;
    },
  });
  await withRuntime(
    caller(),
    async (bench) => {
      isLost = true;
      await assert.rejects(putSchedule(bench.runtime, command()), /the response was lost/);
      isLost = false;
      await passTime(bench, 1000);
      await passTime(bench, HOUR_MS);
      assert.equal((await runsIn(bench.store)).length, 1);
    },
    { wrap },
  );
});

test('a tick that cannot be recorded does not block other ticks, and is retried once a second', async () => {
  let attempts = 0;
  const wrap = (store: Store): Store => ({
    ...store,
    async commit(units) {
      const isBad = units.some(({ guards }) =>
        guards.some((guard) => guard.kind === 'schedule-due' && guard.scheduleId === 'bad'),
      );
      if (isBad) {
        // In a batch, then as a single unit.
        if (units.length === 1) attempts++;
        throw new Error('it cannot be written');
      }
      return store.commit(units);
    },
  });
  await withRuntime(
    caller(),
    async (bench) => {
      await putSchedule(bench.runtime, command({ scheduleId: 'bad' }));
      for (let n = 0; n < 30; n++) await putSchedule(bench.runtime, command({ scheduleId: `good-${n}` }));
      await passTime(bench, HOUR_MS);
      assert.equal(new Set((await runsIn(bench.store)).map(scheduleIdOf)).size, 30);
      const before = attempts;
      assert.ok(before > 0);
      for (let ms = 0; ms < 999; ms += 111) await passTime(bench, 111);
      assert.equal(attempts, before);
      await passTime(bench, 1);
      assert.equal(attempts, before + 1);
    },
    { wrap },
  );
});
