import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { LIMITS } from '../../../config/limits.js';
import { attentionFor, type GroupMark } from '../../../engine/dead-letters/group-triage.js';
import type { Store } from '../../../ports/stores/store.js';
import { type OpenStore, withStore } from '../harness.js';
import { apply, INSTANCE, T0 } from '../samples.js';
import { audit, failedRun, find, group, HOUR_MS, list, mark, NO_STOCK } from './samples.js';

const triage = (store: Store, mark: GroupMark, fingerprint = NO_STOCK.fingerprint) =>
  store.deadLetterGroups.mark({ instanceId: INSTANCE, fingerprint, mark, audit: audit() });
const note = (n: number): GroupMark => ({
  kind: 'add-note',
  at: T0 + n,
  by: 'ann',
  noteId: `nte_${n}`,
  text: `note ${n} \u0000 é`,
});

export function groupTriageConformance(open: OpenStore): void {
  describe('what users decide about a group of dead letters', () => {
    test(
      'is stored with the group, and read with it after a restart',
      withStore(open, async (store, underTest) => {
        await apply(store, failedRun(1, T0));
        const assign = { kind: 'assign', at: T0 + 1, by: 'ann', assignee: 'bob@w.test' } as const;
        const snooze = { kind: 'snooze', at: T0 + 2, by: 'ann', until: T0 + 100 } as const;
        for (const change of [assign, snooze, note(1), note(2)]) assert.equal(await triage(store, change), 'done');
        const expected = {
          assignment: { at: T0 + 1, by: 'ann', assignee: 'bob@w.test' },
          snooze: { at: T0 + 2, by: 'ann', until: T0 + 100 },
          notes: [1, 2].map((n) => ({ noteId: `nte_${n}`, at: T0 + n, by: 'ann', text: `note ${n} \u0000 é` })),
        };
        assert.deepEqual((await find(store))?.triage, expected);
        const reopened = await underTest.reopen();
        const [foundGroup] = await list(reopened);
        assert.deepEqual(foundGroup?.triage, expected);
        assert.equal(foundGroup && attentionFor(foundGroup, T0 + 50), null);
        await apply(reopened, failedRun(2, T0 + 60));
        assert.deepEqual((await find(reopened))?.triage, expected);
      }),
    );

    test(
      'decides which groups need attention, however many others there are',
      withStore(open, async (store) => {
        const groupNumber = (n: number) => group(`error ${String.fromCodePoint(97 + n)}`);
        const until = T0 + 48 * HOUR_MS;
        const snooze = (n: number, end = until) =>
          triage(store, { kind: 'snooze', at: T0 + 100 + n, by: 'ann', until: end }, groupNumber(n).fingerprint);
        for (let n = 0; n < 12; n++) await apply(store, failedRun(n, T0 + n, groupNumber(n)));
        await mark(store, 'resolve', T0 + 50, groupNumber(0));
        await apply(store, failedRun(20, T0 + 60, groupNumber(0)));
        for (const n of [8, 9, 10]) await snooze(n);
        await snooze(11, T0 + HOUR_MS);
        await triage(store, note(1), groupNumber(7).fingerprint);
        const messagesNeedingAttention = async (now: number, limit: number) =>
          (await store.deadLetterGroups.needingAttention({ instanceId: INSTANCE, kind: 'workflow', now, limit })).map(
            ({ message }) => message,
          );
        const totals = (now: number) => store.deadLetterGroups.totals({ instanceId: INSTANCE, kind: 'workflow', now });
        const commonTotals = { groups: 12, entries: 13, regressed: 1, 'snooze-ended': 0 };
        assert.deepEqual(await totals(T0 + 200), { ...commonTotals, new: 7, snoozed: 4 });
        assert.deepEqual(
          await messagesNeedingAttention(T0 + 200, 3),
          [groupNumber(0), groupNumber(7), groupNumber(6)].map(({ message }) => message),
        );
        assert.equal((await messagesNeedingAttention(T0 + 200, 99)).length, 8);
        assert.equal((await messagesNeedingAttention(T0 + 2 * HOUR_MS, 99)).length, 9);
        // A day later, the other groups are known.
        const later = T0 + 30 * HOUR_MS;
        assert.deepEqual(await totals(later), { ...commonTotals, new: 0, 'snooze-ended': 1, snoozed: 3 });
        assert.deepEqual(await messagesNeedingAttention(later, 99), [groupNumber(0).message, groupNumber(11).message]);
        assert.deepEqual(
          await messagesNeedingAttention(until, 3),
          [0, 11, 10].map((n) => groupNumber(n).message),
        );
        const { errorGroups } = await store.measure(until);
        assert.deepEqual(errorGroups, { new: 0, regressed: 1, 'snooze-ended': 4, snoozed: 0 });
      }),
    );

    test(
      'does not change the state of the group; acknowledging it ends its snooze',
      withStore(open, async (store) => {
        await apply(store, failedRun(1, T0));
        await mark(store, 'resolve', T0 + 1);
        await apply(store, failedRun(2, T0 + 2));
        await triage(store, { kind: 'snooze', at: T0 + 3, by: 'ann', until: T0 + 100 });
        const snoozedGroup = await find(store);
        assert.deepEqual([snoozedGroup?.regressedAt, snoozedGroup?.resolvedAt], [T0 + 2, null]);
        assert.equal(snoozedGroup && attentionFor(snoozedGroup, T0 + 4), null);
        await mark(store, 'resolve', T0 + 5);
        await apply(store, failedRun(3, T0 + 6));
        const regressedGroup = await find(store);
        assert.equal(regressedGroup?.triage.snooze, null);
        assert.equal(regressedGroup && attentionFor(regressedGroup, T0 + 6), 'regressed');
      }),
    );

    test(
      'keeps every note of users who write at the same time, up to the limit, with an audit entry for each change',
      withStore(open, async (store) => {
        await apply(store, failedRun(1, T0));
        const count = async () => (await store.accounts.listAudit({ accountIds: ['usr_1'], after: null, limit: 99 })).length;
        const outcomes = await Promise.all(Array.from({ length: LIMITS.maxGroupNotes + 3 }, (_, n) => triage(store, note(n))));
        assert.equal(outcomes.filter((outcome) => outcome === 'done').length, LIMITS.maxGroupNotes);
        assert.equal(outcomes.filter((outcome) => outcome === 'too-many-notes').length, 3);
        assert.equal((await find(store))?.triage.notes.length, LIMITS.maxGroupNotes);
        assert.equal(await count(), LIMITS.maxGroupNotes);
        const noteId = (await find(store))?.triage.notes[0]?.noteId ?? '';
        const deletion = { kind: 'delete-note', at: T0, by: 'ann', noteId } as const;
        assert.equal(await triage(store, deletion), 'done');
        assert.equal(await triage(store, deletion), 'no-such-note');
        assert.equal(await triage(store, note(1), '0123456789abcdef'), 'not-found');
        assert.equal(await count(), LIMITS.maxGroupNotes + 1);
      }),
    );
  });
}
