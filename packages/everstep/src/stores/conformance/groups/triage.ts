import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { LIMITS } from '../../../config/limits.js';
import { attentionFor, type GroupMark } from '../../../engine/dead-letters/group-triage.js';
import type { Store } from '../../../ports/stores/store.js';
import { type OpenStore, withStore } from '../harness.js';
import { apply, INSTANCE, T0 } from '../samples.js';
import { audit, failed, find, list, mark, NO_STOCK } from './samples.js';

const triage = (store: Store, by: GroupMark, fingerprint = NO_STOCK.fingerprint) =>
  store.deadLetterGroups.mark({ instanceId: INSTANCE, fingerprint, mark: by, audit: audit() });
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
        await apply(store, failed(1, T0));
        const assign = { kind: 'assign', at: T0 + 1, by: 'ann', assignee: 'bob@w.test' } as const;
        const snooze = { kind: 'snooze', at: T0 + 2, by: 'ann', until: T0 + 100 } as const;
        for (const each of [assign, snooze, note(1), note(2)]) assert.equal(await triage(store, each), 'done');
        const expected = {
          assignment: { at: T0 + 1, by: 'ann', assignee: 'bob@w.test' },
          snooze: { at: T0 + 2, by: 'ann', until: T0 + 100 },
          notes: [1, 2].map((n) => ({ noteId: `nte_${n}`, at: T0 + n, by: 'ann', text: `note ${n} \u0000 é` })),
        };
        assert.deepEqual((await find(store))?.triage, expected);
        const reopened = await underTest.reopen();
        const [found] = await list(reopened);
        assert.deepEqual(found?.triage, expected);
        assert.equal(found && attentionFor(found, T0 + 50), null);
        await apply(reopened, failed(2, T0 + 60));
        assert.deepEqual((await find(reopened))?.triage, expected);
      }),
    );

    test(
      'does not change the state of the group; acknowledging it ends its snooze',
      withStore(open, async (store) => {
        await apply(store, failed(1, T0));
        await mark(store, 'resolve', T0 + 1);
        await apply(store, failed(2, T0 + 2));
        await triage(store, { kind: 'snooze', at: T0 + 3, by: 'ann', until: T0 + 100 });
        const snoozed = await find(store);
        assert.deepEqual([snoozed?.regressedAt, snoozed?.resolvedAt], [T0 + 2, null]);
        assert.equal(snoozed && attentionFor(snoozed, T0 + 4), null);
        await mark(store, 'resolve', T0 + 5);
        await apply(store, failed(3, T0 + 6));
        const regressed = await find(store);
        assert.equal(regressed?.triage.snooze, null);
        assert.equal(regressed && attentionFor(regressed, T0 + 6), 'regressed');
      }),
    );

    test(
      'keeps every note of users who write at the same time, up to the limit, with an audit entry for each change',
      withStore(open, async (store) => {
        await apply(store, failed(1, T0));
        const count = async () => (await store.accounts.listAudit({ accountIds: ['usr_1'], after: null, limit: 99 })).length;
        const outcomes = await Promise.all(Array.from({ length: LIMITS.maxGroupNotes + 3 }, (_, n) => triage(store, note(n))));
        assert.equal(outcomes.filter((outcome) => outcome === 'done').length, LIMITS.maxGroupNotes);
        assert.equal(outcomes.filter((outcome) => outcome === 'too-many-notes').length, 3);
        assert.equal((await find(store))?.triage.notes.length, LIMITS.maxGroupNotes);
        assert.equal(await count(), LIMITS.maxGroupNotes);
        const noteId = (await find(store))?.triage.notes[0]?.noteId ?? '';
        const remove = { kind: 'delete-note', at: T0, by: 'ann', noteId } as const;
        assert.equal(await triage(store, remove), 'done');
        assert.equal(await triage(store, remove), 'no-such-note');
        assert.equal(await triage(store, note(1), '0123456789abcdef'), 'not-found');
        assert.equal(await count(), LIMITS.maxGroupNotes + 1);
      }),
    );
  });
}
