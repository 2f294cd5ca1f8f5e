import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { EMPTY_GROUP_RETENTION_MS, HOUR_COUNTS_RETENTION_MS } from '../../../engine/dead-letters/dead-letter-groups.js';
import { type OpenStore, withStore } from '../harness.js';
import { apply, creation, failure, INSTANCE, sampleAttempt, sampleDeadLetter, sampleRun, T0 } from '../samples.js';
import { dlqIdOf, failedRun, find, group, HOUR_MS, list, messages, NO_STOCK, take } from './samples.js';

export function groupUpkeepConformance(open: OpenStore): void {
  describe('groups of dead letters', () => {
    describe('of entries from before groups existed', () => {
      test(
        'are created from these entries, oldest first, once',
        withStore(open, async (store) => {
          const run = sampleRun(1);
          const attempt = { ...sampleAttempt(1), retryAt: null };
          await apply(store, [
            creation(run),
            { kind: 'record-attempt', runKey: run.key, attempt: sampleAttempt(0) },
            { kind: 'record-attempt', runKey: run.key, attempt },
            { kind: 'record-attempt', runKey: run.key, attempt: { ...attempt, slot: -1, name: null, message: 'callback' } },
            ...failure(run, sampleDeadLetter(run)),
          ]);
          await apply(store, failedRun(2, T0, null));
          await apply(store, failedRun(3, T0));
          const { deadLetterGroups } = store;
          const [first, second, ...otherEntries] = await deadLetterGroups.ungrouped({ limit: 10 });
          assert.deepEqual(first, {
            instanceId: INSTANCE,
            dlqId: dlqIdOf(run),
            fingerprint: null,
            kind: 'workflow',
            workflowUrl: run.workflowUrl,
            responseStatus: 500,
            error: 'the step failed',
            attempt: { name: attempt.name, cause: attempt.cause, message: attempt.message },
            failedBy: sampleDeadLetter(run).failedBy,
            responseBody: null,
          });
          assert.deepEqual([second?.dlqId, second?.attempt, otherEntries], [dlqIdOf(sampleRun(2)), null, []]);
          assert.equal((await deadLetterGroups.ungrouped({ limit: 1 })).length, 1);

          const entries = [1, 2, 3, 9].map((n) => ({
            instanceId: INSTANCE,
            dlqId: dlqIdOf(sampleRun(n)),
            fingerprint: null,
            group: group('old'),
          }));
          await deadLetterGroups.group({ entries });
          await deadLetterGroups.group({ entries });
          assert.deepEqual(await deadLetterGroups.ungrouped({ limit: 10 }), []);
          const oldGroup = await find(store, group('old'));
          assert.deepEqual([oldGroup?.entries, oldGroup?.total, oldGroup?.exampleDlqId], [2, 2, dlqIdOf(sampleRun(2))]);
          assert.equal((await find(store))?.entries, 1);
          await apply(store, [take(1, T0 + 5000), take(2, T0 + 6000)]);
          const emptyGroup = await find(store, group('old'));
          assert.deepEqual([emptyGroup?.entries, emptyGroup?.resolvedAt], [0, T0 + 6000]);
        }),
      );

      test(
        'are unchanged after a restart',
        withStore(open, async (store, underTest) => {
          await apply(store, failedRun(1, T0));
          await apply(store, failedRun(2, T0 + 1, null));
          const groupsBefore = await list(store);
          const reopened = await underTest.reopen();
          assert.deepEqual(await list(reopened), groupsBefore);
          assert.equal((await reopened.deadLetterGroups.ungrouped({ limit: 9 })).length, 1);
        }),
      );
    });

    test(
      'lose the counts of hours that are more than a week old, and are removed a month after their last entry when they are empty',
      withStore(open, async (store) => {
        const { deadLetterGroups } = store;
        await apply(store, failedRun(1, T0 + 1));
        await apply(store, failedRun(2, T0, group('gone')));
        await apply(store, [take(2, null)]);
        const tidy = async (now: number) => {
          while ((await deadLetterGroups.tidy({ now, limit: 1 })) > 0);
        };
        const week = T0 + HOUR_COUNTS_RETENTION_MS;
        await tidy(week);
        const hours = async () => (await find(store, NO_STOCK, T0))?.hours.length;
        assert.equal(await hours(), 1);
        await tidy(week + HOUR_MS);
        assert.equal(await hours(), 0);
        await tidy(T0 + EMPTY_GROUP_RETENTION_MS);
        assert.deepEqual(await messages(store, { withEmpty: true }), ['no stock', 'gone']);
        await tidy(T0 + EMPTY_GROUP_RETENTION_MS + 1);
        assert.deepEqual(await messages(store, { withEmpty: true }), ['no stock']);
        assert.equal((await find(store))?.entries, 1);
      }),
    );
  });
}
