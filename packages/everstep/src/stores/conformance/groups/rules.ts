import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { FailureGroup } from '../../../engine/dead-letters/dead-letter-groups.js';
import type { Store } from '../../../ports/stores/store.js';
import { type OpenStore, withStore } from '../harness.js';
import { apply, INSTANCE, sampleRun, T0 } from '../samples.js';
import { dlqIdOf, failedRun, find, group, HOUR_MS, list, mark, take } from './samples.js';

/** A group of earlier rules. */
const OLD_GROUP: FailureGroup = { ...group('column "…" does not exist'), fingerprint: '00000000000000ab', rules: 1 };
const EMAIL_GROUP = group('column "email" does not exist');
const PHONE_GROUP = group('column "phone" does not exist');

/** Moves the entries of these runs to a group. */
const move = (store: Store, to: FailureGroup, ...numbers: readonly number[]) =>
  store.deadLetterGroups.group({
    entries: numbers.map((n) => ({
      ...{ instanceId: INSTANCE, dlqId: dlqIdOf(sampleRun(n)), fingerprint: OLD_GROUP.fingerprint },
      group: to,
    })),
  });

const outdatedIds = async (store: Store) => (await store.deadLetterGroups.ungrouped({ limit: 9 })).map(({ dlqId }) => dlqId);

export function groupRulesConformance(open: OpenStore): void {
  describe('groups of earlier rules', () => {
    test(
      'are replaced by the group of all their entries, with their marks, total and hours',
      withStore(open, async (store) => {
        for (let n = 1; n <= 4; n++) await apply(store, failedRun(n, T0 + n, OLD_GROUP));
        await apply(store, [take(4, null)]);
        await mark(store, 'acknowledge', T0 + 10, OLD_GROUP);
        await mark(store, 'resolve', T0 + 20, OLD_GROUP);
        const oldGroup = await find(store, OLD_GROUP);
        assert.deepEqual(
          await outdatedIds(store),
          [1, 2, 3].map((n) => dlqIdOf(sampleRun(n))),
        );
        await move(store, EMAIL_GROUP, 1, 2);
        assert.deepEqual([(await find(store, OLD_GROUP))?.entries, (await find(store, EMAIL_GROUP))?.entries], [1, 2]);
        await move(store, EMAIL_GROUP, 2, 3);
        assert.equal(await find(store, OLD_GROUP), null);
        assert.deepEqual(await find(store, EMAIL_GROUP), {
          ...oldGroup,
          ...{ fingerprint: EMAIL_GROUP.fingerprint, message: EMAIL_GROUP.message },
        });
        assert.deepEqual(await outdatedIds(store), []);
        const page = { instanceId: INSTANCE, order: 'oldest-first', after: null, horizon: null, limit: 10 } as const;
        const entries = await store.listDeadLetterIds({ ...page, filter: { fingerprints: [EMAIL_GROUP.fingerprint] } });
        assert.equal(entries.items.length, 3);
        assert.deepEqual(
          (await store.listDeadLetterIds({ ...page, filter: { fingerprints: [OLD_GROUP.fingerprint] } })).items,
          [],
        );
      }),
    );

    test(
      'lose their marks if their entries now have different causes',
      withStore(open, async (store) => {
        for (let n = 1; n <= 2; n++) await apply(store, failedRun(n, T0, OLD_GROUP));
        await mark(store, 'acknowledge', T0 + 10, OLD_GROUP);
        await move(store, EMAIL_GROUP, 1);
        await move(store, PHONE_GROUP, 2);
        const groups = await list(store, { withEmpty: true });
        assert.deepEqual(
          groups.map(({ fingerprint, total, acknowledgedAt }) => [fingerprint, total, acknowledgedAt]).sort(),
          [EMAIL_GROUP, PHONE_GROUP].map(({ fingerprint }) => [fingerprint, 1, null]).sort(),
        );
      }),
    );

    test(
      'that were resolved are regressed by a later entry, even if it was grouped by the new rules',
      withStore(open, async (store) => {
        await apply(store, failedRun(1, T0, OLD_GROUP));
        await mark(store, 'resolve', T0 + 10, OLD_GROUP);
        await apply(store, failedRun(2, T0 + HOUR_MS, EMAIL_GROUP));
        await move(store, EMAIL_GROUP, 1);
        const record = await find(store, EMAIL_GROUP, T0 + HOUR_MS);
        assert.deepEqual(
          [record?.entries, record?.resolvedAt, record?.regressedAt, record?.acknowledgedAt],
          [2, null, T0 + HOUR_MS, T0 + 10],
        );
        const [first] = await list(store, { states: ['regressed'] }, T0 + HOUR_MS);
        assert.equal(first?.fingerprint, EMAIL_GROUP.fingerprint);
      }),
    );

    test(
      'skip entries that were taken in the meantime',
      withStore(open, async (store, underTest) => {
        for (let n = 1; n <= 2; n++) await apply(store, failedRun(n, T0, OLD_GROUP));
        await apply(store, [take(1, T0 + 5)]);
        await move(store, EMAIL_GROUP, 1);
        assert.equal(await find(store, EMAIL_GROUP), null);
        await move(store, EMAIL_GROUP, 2);
        assert.deepEqual([(await find(store, EMAIL_GROUP))?.entries, (await find(store, EMAIL_GROUP))?.total], [1, 2]);
        const reopened = await underTest.reopen();
        assert.equal((await find(reopened, EMAIL_GROUP))?.entries, 1);
        await apply(reopened, [take(2, T0 + 6)]);
        assert.equal((await find(reopened, EMAIL_GROUP))?.resolvedAt, T0 + 6);
      }),
    );
  });
}
