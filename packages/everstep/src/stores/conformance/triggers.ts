import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { CommitUnit } from '../../ports/stores/store.js';
import { type OpenStore, withStore } from './harness.js';
import { apply, creation, INSTANCE, OTHER_INSTANCE, sampleRun, T0, unit } from './samples.js';

const WINDOW_MS = 1000;

/** Returns the unit of a trigger with a deduplication id at `now`. */
function trigger(n: number, deduplicationId: string, now: number, instanceId = INSTANCE): CommitUnit {
  const run = sampleRun(n, { instanceId });
  return unit(
    [creation(run), { kind: 'remember-deduplication', instanceId, deduplicationId, runKey: run.key, expiresAt: now + WINDOW_MS }],
    [{ kind: 'not-duplicate', instanceId, deduplicationId, now }],
  );
}

export function triggerConformance(open: OpenStore): void {
  describe('triggers', () => {
    test(
      'a deduplication id holds until it expires, in its own instance, and then for the next run',
      withStore(open, async (store) => {
        const reference = (n: number) => ({
          runKey: sampleRun(n).key,
          workflowRunId: sampleRun(n).workflowRunId,
          createdAt: sampleRun(n).createdAt,
        });
        const results = await store.commit([
          trigger(1, 'a', T0),
          trigger(2, 'a', T0),
          trigger(3, 'b', T0),
          trigger(4, 'a', T0, OTHER_INSTANCE),
          trigger(5, 'a', T0 + WINDOW_MS - 1),
          trigger(6, 'a', T0 + WINDOW_MS),
          trigger(7, 'a', T0 + WINDOW_MS + 1),
        ]);
        assert.deepEqual(results, [
          { kind: 'applied' },
          { kind: 'duplicate', run: reference(1) },
          { kind: 'applied' },
          { kind: 'applied' },
          { kind: 'duplicate', run: reference(1) },
          { kind: 'applied' },
          { kind: 'duplicate', run: reference(6) },
        ]);
      }),
    );

    test(
      'expired ids do not accumulate',
      withStore(open, async (store) => {
        for (let n = 0; n < 20; n++) await apply(store, trigger(n, `id ${n}`, T0).writes);
        const later = T0 + WINDOW_MS;
        for (let n = 20; n < 40; n++) {
          assert.deepEqual(await store.commit([trigger(n, `id ${n - 20}`, later)]), [{ kind: 'applied' }]);
        }
        const [repeated] = await store.commit([trigger(50, 'id 0', later)]);
        assert.equal(repeated?.kind, 'duplicate');
      }),
    );
  });
}
