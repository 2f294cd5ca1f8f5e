import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  canaryVerdict,
  decideRepair,
  type ItemMove,
  NO_COUNTS,
  newRepair,
  type Repair,
  type RepairEvent,
  tickRepair,
} from './repair.js';

const NOW = 1_800_000_000_000;
const FRESH = newRepair({ repairId: 'rep_1', instanceId: 'qi_1', action: 'resume', createdAt: NOW, createdBy: null });
const planned = (pending: number, more: Partial<Repair> = {}): Repair => ({
  ...FRESH,
  phase: 'planned',
  counts: { ...NO_COUNTS, pending },
  ...more,
});
const after = (repair: Repair, event: RepairEvent, now = NOW): Repair => {
  const outcome = decideRepair(repair, event, now);
  assert.equal(outcome.kind, 'decided', outcome.kind === 'refused' ? outcome.message : '');
  return outcome.kind === 'decided' ? outcome.repair : repair;
};
const start = (repair: Repair, ratePerSecond: number | null, canary: Repair['canary'] = null, undoMs = 0) =>
  after(repair, { kind: 'started', settings: { ratePerSecond, canary, undoMs } });
const moves = (count: number, from: ItemMove['from'], to: ItemMove['to'], canary = false): RepairEvent => ({
  kind: 'items-moved',
  moves: Array.from({ length: count }, () => ({ from, to, isCanary: canary })),
});
const CANARY = { count: 10, maxFailurePercent: 20, thenContinue: false, counts: NO_COUNTS };

/** Returns how many entries start at which ms, over this duration, with rounds at least every `everyMs`. */
function startsOver(repair: Repair, lengthMs: number, everyMs: number) {
  const starts: { at: number; count: number }[] = [];
  let now = NOW;
  let current = repair;
  while (now <= NOW + lengthMs) {
    const tick = tickRepair(current, now);
    current = tick.repair;
    if (tick.starts) {
      starts.push({ at: now - NOW, count: tick.starts.count });
      current = after(current, moves(tick.starts.count, 'pending', 'succeeded'), now);
    }
    now = Math.max(tick.wakeAt ?? Number.POSITIVE_INFINITY, now + everyMs);
  }
  return starts;
}
const sum = (starts: readonly { count: number }[]) => starts.reduce((all, { count }) => all + count, 0);

test('at two per second one entry starts every half second', () => {
  const starts = startsOver(start(planned(100), 2), 2_000, 1);
  assert.deepEqual(
    starts,
    [0, 500, 1000, 1500, 2000].map((at) => ({ at, count: 1 })),
  );
});

test('keeps a high rate over time, in rounds of fifty milliseconds', () => {
  const starts = startsOver(start(planned(10_000), 300), 10_000, 1);
  assert.ok(Math.abs(sum(starts) - 3_000) <= 15, String(sum(starts)));
  assert.ok(Math.max(...starts.map(({ count }) => count)) <= 16);
});

test('does not make up for a missed minute in a burst', () => {
  const running = start(planned(1_000), 10);
  const { starts, repair } = tickRepair(running, NOW + 60_000);
  assert.ok((starts?.count ?? 0) <= 3, String(starts?.count));
  assert.equal(tickRepair(repair, NOW + 60_001).starts, null);
});

test('a higher rate counts from the last start, so that nothing starts earlier than it allows', () => {
  const slow = tickRepair(start(planned(10), 0.1), NOW).repair;
  const paused = after(slow, { kind: 'paused' }, NOW + 1);
  const fast = after(paused, { kind: 'continued', ratePerSecond: 100 }, NOW + 2);
  assert.equal(tickRepair(fast, NOW + 9).starts, null);
  assert.equal(tickRepair(fast, NOW + 10).starts?.count, 1);
  const slower = after(paused, { kind: 'continued', ratePerSecond: 0.05 }, NOW + 2);
  assert.equal(tickRepair(slower, NOW + 9_999).starts, null);
  assert.equal(tickRepair(slower, NOW + 10_000).starts?.count, 1);
});

test('a canary stops as soon as it can no longer pass, and not before', () => {
  let repair = start(planned(100), 1_000, CANARY);
  repair = after(repair, moves(10, 'pending', 'started', true));
  repair = after(repair, moves(2, 'started', 'failed', true));
  assert.equal(tickRepair(repair, NOW).repair.phase, 'canary');
  repair = after(repair, moves(1, 'started', 'failed', true));
  const stopped = tickRepair(repair, NOW).repair;
  assert.equal(stopped.phase, 'stopped');
  assert.equal(stopped.stopReason, 'canary-failed');
  assert.match(stopped.stopMessage ?? '', /3 of the first 10 failed again, which is more than 20%/);
});

test('each group of a canary is judged separately: the others continue after one has failed, until all are decided', () => {
  const group = (fingerprint: string, of: Partial<typeof NO_COUNTS>) => ({ fingerprint, counts: { ...NO_COUNTS, ...of } });
  const of = (...groups: readonly ReturnType<typeof group>[]): Repair => {
    const repair = start(planned(50), null, CANARY);
    const sum = (state: keyof typeof NO_COUNTS) => groups.reduce((total, each) => total + each.counts[state], 0);
    const counts = { ...NO_COUNTS, pending: sum('pending'), started: sum('started'), failed: sum('failed') };
    return { ...repair, canary: { ...CANARY, counts, groups } };
  };
  const broken = group('broken', { failed: 2, pending: 1 });
  const { repair, starts } = tickRepair(of(broken, group('other', { pending: 3 })), NOW);
  assert.deepEqual([repair.phase, starts], ['canary', { of: 'canary', count: 3, excludedGroups: ['broken'] }]);
  assert.equal(tickRepair(of(broken, group('other', { started: 3 })), NOW).starts, null);
  const stopped = tickRepair(of(broken, group('other', { succeeded: 3 })), NOW).repair;
  assert.equal(stopped.phase, 'stopped');
  assert.match(stopped.stopMessage ?? '', /in 1 of 2 groups: "broken" \(2 of 3\)/);
  assert.equal(tickRepair(of(group('one', { succeeded: 3 }), group('gone', { gone: 3 })), NOW).repair.phase, 'canary-passed');
});

test('one failure alone does not fail a group of three entries or more; several in different groups fail the canary', () => {
  const verdict = (maxFailurePercent: number, ...groups: readonly (readonly [failed: number, succeeded: number])[]) => {
    const counted = groups.map(([failed, succeeded], at) => ({
      fingerprint: `${at}`,
      counts: { ...NO_COUNTS, failed, succeeded },
    }));
    const sum = (state: 'failed' | 'succeeded') => counted.reduce((total, { counts }) => total + counts[state], 0);
    const counts = { ...NO_COUNTS, failed: sum('failed'), succeeded: sum('succeeded') };
    return canaryVerdict({ ...CANARY, maxFailurePercent, counts, groups: counted });
  };
  assert.equal(verdict(20, [1, 2], [0, 3], [0, 4]), 'passed');
  assert.equal(verdict(20, [1, 3]), 'passed');
  assert.equal(verdict(20, [1, 1], [0, 8]), 'failed');
  assert.equal(verdict(20, [1, 0], [0, 9]), 'failed');
  assert.equal(verdict(20, [2, 2], [0, 6]), 'failed');
  assert.equal(verdict(20, [1, 2], [1, 2], [1, 3]), 'failed');
  assert.equal(verdict(0, [1, 2], [0, 7]), 'failed');
});

test('entries that are gone or canceled do not count in a canary', () => {
  const counts = { ...NO_COUNTS, failed: 2, succeeded: 6, gone: 1, canceled: 1 };
  assert.equal(canaryVerdict({ ...CANARY, counts }), 'failed');
  assert.equal(canaryVerdict({ ...CANARY, maxFailurePercent: 25, counts }), 'passed');
  assert.equal(canaryVerdict({ ...CANARY, counts: { ...NO_COUNTS, gone: 10 } }), 'untried');
});

test('a canary that passed waits for continue, or continues if configured', () => {
  for (const thenContinue of [false, true]) {
    let repair = start(planned(100), 1_000, { ...CANARY, thenContinue });
    repair = after(repair, moves(10, 'pending', 'succeeded', true));
    const { repair: passed, starts } = tickRepair(repair, NOW);
    assert.equal(passed.phase, thenContinue ? 'running' : 'canary-passed');
    assert.equal(starts?.of, thenContinue ? 'rest' : undefined);
    if (!thenContinue) assert.equal(after(passed, { kind: 'continued', ratePerSecond: undefined }).phase, 'running');
  }
});

test('a canary whose entries could not be tried never continues automatically', () => {
  const repair = after(start(planned(100), 1_000, { ...CANARY, thenContinue: true }), moves(10, 'pending', 'gone', true));
  assert.equal(tickRepair(repair, NOW).repair.phase, 'canary-passed');
});

test('a repair that was paused during the canary continues with the canary', () => {
  const paused = after(start(planned(100), 1_000, CANARY), { kind: 'paused' });
  assert.equal(tickRepair(paused, NOW + 5_000).starts, null);
  assert.equal(after(paused, { kind: 'continued', ratePerSecond: undefined }).phase, 'canary');
});

test('a delete starts after its undo window, and an abort within it undoes the delete', () => {
  const waiting = start(planned(3, { action: 'delete' }), null, null, 60_000);
  assert.equal(waiting.phase, 'undo-window');
  assert.deepEqual(tickRepair(waiting, NOW + 59_999), { repair: waiting, starts: null, wakeAt: NOW + 60_000 });
  assert.equal(tickRepair(waiting, NOW + 60_000).starts?.count, 3);
  const undone = after(waiting, { kind: 'aborted' });
  assert.equal(undone.stopReason, 'undone');
  assert.equal(tickRepair(undone, NOW + 60_000).starts, null);
  const paused = after(waiting, { kind: 'paused' });
  assert.equal(after(paused, { kind: 'aborted' }).stopReason, 'undone');
  // Entries may already be deleted, although their moves are recorded only afterwards.
  const deleting = tickRepair(waiting, NOW + 60_000).repair;
  for (const late of [deleting, after(deleting, { kind: 'paused' })]) {
    const { stopReason, stopMessage } = after(late, { kind: 'aborted' });
    assert.deepEqual([stopReason, stopMessage], ['aborted-by-hand', null]);
  }
});

test('a repair is done when no entry is pending or started', () => {
  const running = after(start(planned(1), 10), moves(1, 'pending', 'started'));
  assert.equal(tickRepair(running, NOW).repair.phase, 'running');
  const { repair } = tickRepair(after(running, moves(1, 'started', 'failed')), NOW + 5);
  assert.deepEqual([repair.phase, repair.endedAt], ['done', NOW + 5]);
});

test('rejects what the state does not allow, with a clear message', () => {
  const cases: readonly (readonly [Repair, RepairEvent, RegExp])[] = [
    [FRESH, { kind: 'started', settings: { ratePerSecond: 1, canary: null, undoMs: 0 } }, /still being planned/],
    [start(planned(1), 1), { kind: 'started', settings: { ratePerSecond: 1, canary: null, undoMs: 0 } }, /is running/],
    [planned(1), { kind: 'paused' }, /not started; pause requires/],
    [start(planned(1), 1), { kind: 'continued', ratePerSecond: 2 }, /continue requires a repair that is paused/],
    [{ ...planned(1), phase: 'done' }, { kind: 'aborted' }, /is done; abort requires a repair that is not over/],
    [{ ...planned(1), phase: 'stopped' }, { kind: 'continued', ratePerSecond: 1 }, /plan a new repair for the remaining entries/],
  ];
  for (const [repair, event, words] of cases) {
    const outcome = decideRepair(repair, event, NOW);
    assert.equal(outcome.kind, 'refused');
    if (outcome.kind === 'refused') assert.match(outcome.message, words);
  }
});
