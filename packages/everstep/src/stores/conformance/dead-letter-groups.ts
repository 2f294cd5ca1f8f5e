import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { GROUP_STATES, groupState, hourOf, NEW_FOR_MS } from '../../engine/dead-letters/dead-letter-groups.js';
import { NO_TRIAGE } from '../../engine/dead-letters/group-triage.js';
import type { DeadLetterGroupRecord } from '../../ports/stores/dead-letter-groups.js';
import type { CommitUnit } from '../../ports/stores/store.js';
import {
  audit,
  dlqIdOf,
  failedRun,
  find,
  group,
  HOUR_MS,
  list,
  mark,
  messages,
  NO_STOCK,
  stateOf,
  take,
  URL,
} from './groups/samples.js';
import { type OpenStore, withStore } from './harness.js';
import { apply, INSTANCE, OTHER_INSTANCE, sampleRun, seededNumbers, T0, unit } from './samples.js';

export function deadLetterGroupConformance(open: OpenStore): void {
  describe('groups of dead letters', () => {
    test(
      'start with their first entry, and count current entries and all entries ever',
      withStore(open, async (store) => {
        await apply(store, failedRun(1, T0));
        await apply(store, failedRun(2, T0 + 5, group('no stock', 'https://app.test/b')));
        await apply(store, failedRun(3, T0 + HOUR_MS));
        await apply(store, [take(1, null)]);
        const expected: DeadLetterGroupRecord = {
          instanceId: INSTANCE,
          fingerprint: NO_STOCK.fingerprint,
          kind: 'workflow',
          stepName: 'pay-#',
          responseStatus: 500,
          message: 'no stock',
          firstSeenAt: T0,
          lastSeenAt: T0 + HOUR_MS,
          entries: 2,
          total: 3,
          acknowledgedAt: null,
          acknowledgedBy: null,
          resolvedAt: null,
          regressedAt: null,
          triage: NO_TRIAGE,
          exampleDlqId: dlqIdOf(sampleRun(3)),
          latest: { stepName: 'pay 1', message: 'Error: no stock \u0000 \ud83d', source: { file: 'é.js', line: 1 } },
          workflows: [
            { workflowUrl: URL, entries: 1 },
            { workflowUrl: 'https://app.test/b', entries: 1 },
          ],
          hours: [
            { hour: hourOf(T0), count: 2 },
            { hour: hourOf(T0) + 1, count: 1 },
          ],
        };
        assert.deepEqual(await find(store), expected);
        assert.deepEqual(await list(store, {}, T0 + HOUR_MS), [expected]);
      }),
    );

    test(
      'belong to their instance only',
      withStore(open, async (store) => {
        await apply(store, failedRun(1, T0));
        const otherGroup = { instanceId: OTHER_INSTANCE, fingerprint: NO_STOCK.fingerprint };
        assert.equal(await store.deadLetterGroups.find({ ...otherGroup, now: T0 }), null);
        const query = { ...otherGroup, mark: { kind: 'resolve', at: T0, by: 'x' }, audit: audit() } as const;
        assert.equal(await store.deadLetterGroups.mark(query), 'not-found');
        assert.equal((await find(store))?.resolvedAt, null);
      }),
    );

    test(
      'are written with the units that change them: a rejected one changes none',
      withStore(open, async (store) => {
        await apply(store, failedRun(1, T0));
        const missingEntry = { kind: 'dead-letters-present', instanceId: INSTANCE, dlqIds: ['none'] } as const;
        const results = await store.commit([unit(failedRun(2, T0), [missingEntry]), unit(failedRun(3, T0 + 1))]);
        assert.deepEqual(
          results.map(({ kind }) => kind),
          ['dead-letters-missing', 'applied'],
        );
        await assert.rejects(store.commit([unit(failedRun(4, T0)), unit([take(4, null), take(4, null)])]));
        const record = await find(store);
        assert.deepEqual([record?.entries, record?.total], [2, 2]);
      }),
    );

    test(
      'are counted together over a batch',
      withStore(open, async (store) => {
        const units: CommitUnit[] = [];
        for (let n = 1; n <= 30; n++) units.push(unit(failedRun(n, T0 + n, group(`problem ${'abc'.charAt(n % 3)}`))));
        for (let n = 1; n <= 10; n++) units.push(unit([take(n, n % 2 === 0 ? T0 + 99 : null)]));
        await store.commit(units);
        const groups = await list(store, {}, T0 + HOUR_MS);
        assert.deepEqual(
          groups.map(({ message, entries, total }) => [message, entries, total]),
          [
            ['problem a', 7, 10],
            ['problem c', 7, 10],
            ['problem b', 6, 10],
          ],
        );
        for (const { entries, total, workflows, hours } of groups) {
          assert.deepEqual(workflows, [{ workflowUrl: URL, entries }]);
          assert.deepEqual(hours, [{ hour: hourOf(T0), count: total }]);
        }
      }),
    );

    test(
      'find their entries in the queue, and the entries name their group',
      withStore(open, async (store) => {
        const otherGroup = group('broken');
        await apply(store, failedRun(1, T0));
        await apply(store, failedRun(2, T0, otherGroup));
        await apply(store, failedRun(3, T0));
        await apply(store, failedRun(4, T0, null));
        const page = { instanceId: INSTANCE, order: 'oldest-first', after: null, horizon: null, limit: 10 } as const;
        const dlqIds = async (...fingerprints: string[]) =>
          (await store.listDeadLetterIds({ ...page, filter: { fingerprints } })).items;
        assert.deepEqual(
          await dlqIds(NO_STOCK.fingerprint),
          [1, 3].map((n) => dlqIdOf(sampleRun(n))),
        );
        assert.deepEqual(
          await dlqIds(NO_STOCK.fingerprint, otherGroup.fingerprint),
          [1, 2, 3].map((n) => dlqIdOf(sampleRun(n))),
        );
        assert.deepEqual(await dlqIds('0123456789abcdef'), []);
        assert.deepEqual(await dlqIds(), []);
        const entries = (await store.listDeadLetters({ ...page, filter: {} })).items;
        assert.deepEqual(
          entries.map(({ fingerprint }) => fingerprint),
          [NO_STOCK.fingerprint, otherGroup.fingerprint, NO_STOCK.fingerprint, null],
        );
        const [first] = entries;
        assert.deepEqual(await store.findDeadLetter({ instanceId: INSTANCE, dlqId: first?.dlqId ?? '' }), first);
      }),
    );

    describe('whose last entry', () => {
      for (const [how, recoveredAt, expected] of [
        ['was resumed or restarted are resolved', T0 + 50, T0 + 50],
        ['was deleted are not resolved', null, null],
      ] as const)
        test(
          how,
          withStore(open, async (store) => {
            await apply(store, failedRun(1, T0));
            await apply(store, failedRun(2, T0));
            await apply(store, [take(1, recoveredAt === null ? T0 + 40 : null)]);
            assert.equal((await find(store))?.resolvedAt, null);
            await apply(store, [take(2, recoveredAt)]);
            const record = await find(store);
            assert.deepEqual([record?.entries, record?.total, record?.exampleDlqId, record?.workflows], [0, 2, null, []]);
            assert.equal(record?.resolvedAt, expected);
            assert.deepEqual(await list(store), []);
            assert.deepEqual(await messages(store, { withEmpty: true }), ['no stock']);
          }),
        );

      test(
        'was removed by retention are not resolved',
        withStore(open, async (store) => {
          await apply(store, failedRun(1, T0));
          await apply(store, failedRun(2, T0 + 10, group('other')));
          const query = { instanceId: INSTANCE, state: 'deadLetter', endedBefore: T0 + 5, keepNewest: null, limit: 10 } as const;
          assert.equal(await store.removeEndedRuns(query), 1);
          const record = await find(store);
          assert.deepEqual([record?.entries, record?.resolvedAt, record?.workflows], [0, null, []]);
          assert.deepEqual(await messages(store), ['other']);
        }),
      );
    });

    describe('that were resolved', () => {
      test(
        'are regressed by a later entry until a user acknowledges them',
        withStore(open, async (store) => {
          await apply(store, failedRun(1, T0));
          assert.equal(await mark(store, 'resolve', T0 + 10), 'done');
          assert.equal(await stateOf(store, T0 + 20), 'known');
          await apply(store, failedRun(2, T0 + 20));
          const record = await find(store);
          assert.deepEqual([record?.resolvedAt, record?.regressedAt], [null, T0 + 20]);
          assert.equal(await stateOf(store, T0 + 20), 'regressed');
          assert.equal(await mark(store, 'acknowledge', T0 + 30), 'done');
          assert.equal(await stateOf(store, T0 + 30), 'known');
          await apply(store, failedRun(3, T0 + 40));
          assert.equal(await stateOf(store, T0 + 40), 'known');
        }),
      );

      test(
        'are regressed by an entry after their last one was resumed, until they are resolved again',
        withStore(open, async (store) => {
          await apply(store, failedRun(1, T0));
          await apply(store, [take(1, T0 + 10)]);
          assert.equal(await stateOf(store, T0 + 15), 'new');
          await apply(store, failedRun(2, T0 + 20));
          assert.equal(await stateOf(store, T0 + 20), 'regressed');
          await apply(store, [take(2, T0 + 30)]);
          assert.equal(await stateOf(store, T0 + 30), 'new');
          await apply(store, failedRun(3, T0 + 40));
          await mark(store, 'resolve', T0 + 50);
          assert.equal(await stateOf(store, T0 + 50), 'known');
        }),
      );

      test(
        'are not regressed by an earlier entry that is grouped only now',
        withStore(open, async (store) => {
          await apply(store, failedRun(1, T0 + 10));
          await apply(store, failedRun(2, T0, null));
          await mark(store, 'resolve', T0 + 20);
          await store.deadLetterGroups.group({
            entries: [{ instanceId: INSTANCE, dlqId: dlqIdOf(sampleRun(2)), fingerprint: null, group: NO_STOCK }],
          });
          const record = await find(store);
          assert.deepEqual([record?.resolvedAt, record?.regressedAt, record?.entries], [T0 + 20, null, 2]);
          assert.deepEqual([record?.firstSeenAt, record?.lastSeenAt], [T0, T0 + 10]);
        }),
      );
    });

    test(
      'are marked with an entry of the audit log, and unknown ones without an entry',
      withStore(open, async (store) => {
        await apply(store, failedRun(1, T0));
        const count = async () => (await store.accounts.listAudit({ accountIds: ['usr_1'], after: null, limit: 99 })).length;
        assert.equal(await mark(store, 'acknowledge', T0 + 7), 'done');
        assert.equal(await count(), 1);
        assert.equal(await mark(store, 'acknowledge', T0, group('none such')), 'not-found');
        assert.equal(await count(), 1);
        const record = await find(store);
        assert.deepEqual([record?.acknowledgedAt, record?.acknowledgedBy, record?.resolvedAt], [T0 + 7, 'somebody', null]);
      }),
    );

    test(
      'are acknowledged by the user who resolves them, unless another user did so before',
      withStore(open, async (store) => {
        await apply(store, failedRun(1, T0));
        await mark(store, 'resolve', T0 + 5);
        const first = await find(store);
        assert.deepEqual([first?.acknowledgedAt, first?.acknowledgedBy, first?.resolvedAt], [T0 + 5, 'somebody', T0 + 5]);
        await mark(store, 'resolve', T0 + 6);
        assert.deepEqual([(await find(store))?.acknowledgedAt, (await find(store))?.resolvedAt], [T0 + 5, T0 + 6]);
      }),
    );

    describe('are listed', () => {
      test(
        'regressed ones first, then new ones, then known ones, and by when they were last seen; in pages',
        withStore(open, async (store) => {
          const now = T0 + 3 * NEW_FOR_MS;
          const random = seededNumbers(7);
          for (let n = 1; n <= 40; n++) {
            const failureGroup = group(`problem ${'abcdefghij'.charAt(Math.floor(n / 10))}${'abcdefghij'.charAt(n % 10)}`);
            const at = now - random(2 * NEW_FOR_MS);
            await apply(store, failedRun(n, at, failureGroup));
            if (random(3) === 0) await mark(store, 'acknowledge', at + 1, failureGroup);
            if (random(3) === 0) await mark(store, 'resolve', at + 2, failureGroup);
            if (random(2) === 0) await apply(store, failedRun(100 + n, at + 3, failureGroup));
          }
          // Some of the groups that are no longer new have the rank of known groups; the others do not have it yet.
          await store.deadLetterGroups.tidy({ now, limit: 5 });
          const allGroups = await list(store, {}, now);
          const sortKey = (group: DeadLetterGroupRecord) => [
            GROUP_STATES.indexOf(groupState(group, now)),
            -group.lastSeenAt,
            group.fingerprint,
          ];
          assert.deepEqual(
            allGroups.map(({ fingerprint }) => fingerprint),
            allGroups
              .toSorted((a, b) => {
                const [[rankA = 0, timeA = 0], [rankB = 0, timeB = 0]] = [sortKey(a), sortKey(b)];
                return Number(rankA) - Number(rankB) || Number(timeA) - Number(timeB) || (a.fingerprint < b.fingerprint ? -1 : 1);
              })
              .map(({ fingerprint }) => fingerprint),
          );
          assert.equal(allGroups.length, 40);
          for (const states of [['regressed'], ['new'], ['known'], ['new', 'regressed'], []] as const) {
            const filteredGroups = await list(store, { states }, now);
            assert.deepEqual(
              filteredGroups,
              allGroups.filter((group) => states.some((state) => state === groupState(group, now))),
            );
            if (states.length > 0) assert.ok(filteredGroups.length > 0);
          }
          for (const limit of [1, 7, 39, 40]) {
            const pagedGroups: DeadLetterGroupRecord[] = [];
            let after: string | null = null;
            do {
              const page = { instanceId: INSTANCE, filter: { kind: 'workflow' }, now, after, limit } as const;
              const { items, next } = await store.deadLetterGroups.list(page);
              assert.equal(items.length, Math.min(limit, 40 - pagedGroups.length));
              pagedGroups.push(...items);
              after = next;
            } while (after !== null);
            assert.deepEqual(pagedGroups, allGroups);
          }
        }),
      );

      test(
        'by kind, by the URLs of current entries, and by when they were seen',
        withStore(open, async (store) => {
          await apply(store, failedRun(1, T0, group('a')));
          await apply(store, failedRun(2, T0 + 10, group('a', 'https://app.test/b')));
          await apply(store, failedRun(3, T0 + 20, group('b', 'https://app.test/c')));
          await apply(store, failedRun(4, T0 + 30, group('c', URL, 'message')));
          assert.deepEqual(await messages(store, { kind: 'message' }), ['c']);
          assert.deepEqual(await messages(store, { workflowUrls: [URL] }), ['a']);
          assert.deepEqual(await messages(store, { workflowUrls: [URL, 'https://app.test/c'] }), ['b', 'a']);
          assert.deepEqual(await messages(store, { workflowUrls: [] }), []);
          assert.deepEqual(await messages(store, { fromDate: T0 + 10 }), ['b', 'a']);
          assert.deepEqual(await messages(store, { fromDate: T0 + 11 }), ['b']);
          assert.deepEqual(await messages(store, { toDate: T0 + 19 }), ['a']);
          assert.deepEqual(await messages(store, { toDate: T0 + 20, fromDate: T0 + 21 }), []);
          await apply(store, [take(1, null)]);
          assert.deepEqual(await messages(store, { workflowUrls: [URL] }), []);
        }),
      );
    });
  });
}
