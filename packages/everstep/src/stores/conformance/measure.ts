import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { failedRun } from './groups/samples.js';
import { type OpenStore, withStore } from './harness.js';
import { apply, creation, sampleRun, T0 } from './samples.js';

export function measureConformance(open: OpenStore): void {
  describe('the measure of the store', () => {
    test(
      'counts active runs and dead letters of all instances, and the bytes of the database',
      withStore(open, async (store) => {
        await apply(store, [creation(sampleRun(1))]);
        await apply(store, [creation({ ...sampleRun(2), instanceId: 'qi_other' })]);
        await apply(store, failedRun(3, T0));
        const { activeRuns, deadLetters, errorGroups, bytes } = await store.measure(T0 + 5);
        assert.deepEqual([activeRuns, deadLetters], [2, 1]);
        assert.deepEqual(errorGroups, { new: 1, regressed: 0, 'snooze-ended': 0, snoozed: 0 });
        assert.ok(bytes > 0);
      }),
    );
  });
}
