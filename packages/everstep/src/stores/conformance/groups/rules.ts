import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { FailureGroup } from '../../../engine/dead-letters/dead-letter-groups.js';
import type { Store } from '../../../ports/stores/store.js';
import { type OpenStore, withStore } from '../harness.js';
import { apply, INSTANCE, sampleRun, T0 } from '../samples.js';
import { dlqIdOf, failedRun, find, group, HOUR_MS, list, mark, take } from './samples.js';

/** A group of earlier rules. */
const OLD: FailureGroup = { ...group('column "…" does not exist'), fingerprint: '00000000000000ab', rules: 1 };
const EMAIL = group('column "email" does not exist');
const PHONE = group('column "phone" does not exist');

/** Moves the entries of these runs to a group. */
const move = (store: Store, to: FailureGroup, ...numbers: readonly number[]) =>
  store.deadLetterGroups.group({
    entries: numbers.map((n) => ({
      ...{ instanceId: INSTANCE, dlqId: dlqIdOf(sampleRun(n)), fingerprint: OLD.fingerprint },
      group: to,
    })),
  });

const outdatedIds = async (store: Store) => (await store.deadLetterGroups.ungrouped({ limit: 9 })).map(({ dlqId }) => dlqId);

export function groupRulesConformance(open: OpenStore): void {
  describe('groups of earlier rules', () => {
    test(
      'are replaced by the group of all their entries, with their marks, total and hours',
      withStore(open, async (store) => {
        for (let n = 1; n <= 4; n++) await apply(store, failedRun(n, T0 + n, OLD));
        await apply(store, [take(4, null)]);
        await mark(store, 'acknowledge', T0 + 10, OLD);
        await mark(store, 'resolve', T0 + 20, OLD);
        const before = await find(store, OLD);
        assert.deepEqual(
          await outdatedIds(store),
          [1, 2, 3].map((n) => dlqIdOf(sampleRun(n))),
        );
        await move(store, EMAIL, 1, 2);
        assert.deepEqual([(await find(store, OLD))?.entries, (await find(store, EMAIL))?.entries], [1, 2]);
        await move(store, EMAIL, 2, 3);
        assert.equal(await find(store, OLD), null);
        assert.deepEqual(await find(store, EMAIL), {
          ...before,
          ...{ fingerprint: EMAIL.fingerprint, message: EMAIL.message },
        });
        assert.deepEqual(await outdatedIds(store), []);
        const page = { instanceId: INSTANCE, order: 'oldest-first', after: null, horizon: null, limit: 10 } as const;
        const entries = await store.listDeadLetterIds({ ...page, filter: { fingerprints: [EMAIL.fingerprint] } });
        assert.equal(entries.items.length, 3);
        assert.deepEqual((await store.listDeadLetterIds({ ...page, filter: { fingerprints: [OLD.fingerprint] } })).items, []);
      }),
    );

    test(
      'leave their marks behind if their entries have different causes now',
      withStore(open, async (store) => {
        for (let n = 1; n <= 2; n++) await apply(store, failedRun(n, T0, OLD));
        await mark(store, 'acknowledge', T0 + 10, OLD);
        await move(store, EMAIL, 1);
        await move(store, PHONE, 2);
        const result = await list(store, { withEmpty: true });
        assert.deepEqual(
          result.map(({ fingerprint, total, acknowledgedAt }) => [fingerprint, total, acknowledgedAt]).sort(),
          [EMAIL, PHONE].map(({ fingerprint }) => [fingerprint, 1, null]).sort(),
        );
      }),
    );

    test(
      'that were resolved are regressed by an entry that came later, of the new rules too',
      withStore(open, async (store) => {
        await apply(store, failedRun(1, T0, OLD));
        await mark(store, 'resolve', T0 + 10, OLD);
        await apply(store, failedRun(2, T0 + HOUR_MS, EMAIL));
        await move(store, EMAIL, 1);
        const result = await find(store, EMAIL, T0 + HOUR_MS);
        assert.deepEqual(
          [result?.entries, result?.resolvedAt, result?.regressedAt, result?.acknowledgedAt],
          [2, null, T0 + HOUR_MS, T0 + 10],
        );
        const [first] = await list(store, { states: ['regressed'] }, T0 + HOUR_MS);
        assert.equal(first?.fingerprint, EMAIL.fingerprint);
      }),
    );

    test(
      'skip entries that were taken in the meantime',
      withStore(open, async (store, underTest) => {
        for (let n = 1; n <= 2; n++) await apply(store, failedRun(n, T0, OLD));
        await apply(store, [take(1, T0 + 5)]);
        await move(store, EMAIL, 1);
        assert.equal(await find(store, EMAIL), null);
        await move(store, EMAIL, 2);
        assert.deepEqual([(await find(store, EMAIL))?.entries, (await find(store, EMAIL))?.total], [1, 2]);
        const reopened = await underTest.reopen();
        assert.equal((await find(reopened, EMAIL))?.entries, 1);
        await apply(reopened, [take(2, T0 + 6)]);
        assert.equal((await find(reopened, EMAIL))?.resolvedAt, T0 + 6);
      }),
    );
  });
}
