import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LIMITS } from '../../config/limits.js';
import { NEW_FOR_MS } from './dead-letter-groups.js';
import {
  applyMark,
  attentionFor,
  type GroupMark,
  type GroupTriage,
  NO_TRIAGE,
  snoozeOf,
  type TriagedGroup,
} from './group-triage.js';

const T0 = 1_000_000;
const after = (...marks: readonly GroupMark[]): GroupTriage =>
  marks.reduce<GroupTriage>((triage, mark) => {
    const next = applyMark(triage, mark);
    assert.ok(typeof next !== 'string');
    return next;
  }, NO_TRIAGE);
const snooze = (at: number, until: number | null): GroupMark => ({ kind: 'snooze', at, by: 'ann', until });
const group = (more: Partial<TriagedGroup>): TriagedGroup => ({
  ...{ firstSeenAt: T0, acknowledgedAt: null, regressedAt: null, triage: NO_TRIAGE },
  ...more,
});

test('a snoozed group needs no attention until its snooze ends, and then until a user acts', () => {
  const triage = after(snooze(T0, T0 + 2 * NEW_FOR_MS));
  const snoozed = group({ triage });
  assert.equal(attentionFor(group({}), T0 + 1), 'new');
  assert.equal(attentionFor(snoozed, T0 + 1), null);
  // Without the snooze, the group would be known by now.
  assert.equal(attentionFor(snoozed, T0 + 2 * NEW_FOR_MS), 'snooze-ended');
  assert.equal(attentionFor(group({ acknowledgedAt: T0, triage }), T0 + 2 * NEW_FOR_MS), 'snooze-ended');
  for (const kind of ['acknowledge', 'resolve'] as const)
    assert.equal(after(snooze(T0, T0 + 9), { kind, at: T0 + 10, by: 'ann' }).snooze, null);
  assert.equal(after(snooze(T0, T0 + 9), snooze(T0 + 1, null)).snooze, null);
});

test('a group that regresses is no longer snoozed; one that has regressed can be snoozed', () => {
  const triage = after(snooze(T0 + 5, T0 + 100));
  assert.equal(attentionFor(group({ triage, regressedAt: T0 + 6 }), T0 + 7), 'regressed');
  assert.equal(snoozeOf(group({ triage, regressedAt: T0 + 6 })), null);
  assert.equal(attentionFor(group({ triage, regressedAt: T0 + 4 }), T0 + 7), null);
});

test('a group has a limited number of notes, and one assignee', () => {
  const note = (n: number): GroupMark => ({ kind: 'add-note', at: T0 + n, by: 'ann', noteId: `nte_${n}`, text: `note ${n}` });
  const notes = Array.from({ length: LIMITS.maxGroupNotes }, (_, n) => note(n));
  const full = after(...notes, { kind: 'assign', at: T0, by: 'ann', assignee: 'bob@w.test' });
  assert.equal(applyMark(full, note(99)), 'too-many-notes');
  const fewer = applyMark(full, { kind: 'delete-note', at: T0, by: 'bob', noteId: 'nte_3' });
  assert.ok(typeof fewer !== 'string');
  assert.equal(fewer.notes.length, LIMITS.maxGroupNotes - 1);
  assert.equal(applyMark(fewer, { kind: 'delete-note', at: T0, by: 'bob', noteId: 'nte_3' }), 'no-such-note');
  assert.deepEqual(full.assignment, { at: T0, by: 'ann', assignee: 'bob@w.test' });
  assert.equal(after({ kind: 'assign', at: T0, by: 'ann', assignee: null }).assignment, null);
});
