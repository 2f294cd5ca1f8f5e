import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RepairEntry } from '../../../../everstep/src/contract/repairs.js';
import { canaryVerdict, consequences, durationAtRateMs, rateText, standing } from './repair-words.js';

const NOTHING = { total: 0, pending: 0, started: 0, succeeded: 0, failed: 0, canceled: 0, gone: 0 };
type Counts = Partial<RepairEntry['counts']>;

const repair = (given: Partial<Omit<RepairEntry, 'counts'>> & { readonly counts?: Counts }): RepairEntry => ({
  repairId: 'rep_1',
  action: 'resume',
  filter: {},
  overrides: {},
  state: 'planned',
  createdAt: 0,
  createdBy: null,
  startedAt: 1,
  endedAt: null,
  undoUntil: null,
  ratePerSecond: null,
  canary: null,
  plan: {
    workflows: [],
    groups: [],
    oldestAt: null,
    newestAt: null,
    more: false,
    stepsKept: 7,
    messagesAtLeast: 3,
    expectedDurationMs: 3000,
  },
  stopReason: null,
  stopMessage: null,
  ...given,
  counts: { ...NOTHING, ...given.counts },
});

const FIRST = { count: 10, maxFailurePercent: 20, thenContinue: true, total: 10, ended: 0, succeeded: 0, failed: 0 };

test('a plan says what a resume keeps, what a restart does again, and that a delete can be undone', () => {
  const counts = { total: 3, pending: 3 };
  assert.match(consequences(repair({ counts })).join(' '), /3 new runs are made.*7 recorded steps are kept.*At least 3 messages/);
  assert.match(consequences(repair({ counts, action: 'restart' })).join(' '), /done again, with all their effects/);
  assert.match(consequences(repair({ counts, action: 'delete' })).join(' '), /Until then one click undoes it/);
});

test('one is told of as one', () => {
  const [first] = consequences(repair({ counts: { total: 1 } }));
  assert.equal(first, '1 new run is made, which goes on at the step that failed.');
});

test('the time that a repair takes follows from its rate', () => {
  assert.equal(durationAtRateMs(500, 2), 250_000);
  assert.equal(durationAtRateMs(1, 1000), 1);
  assert.deepEqual([rateText(5), rateText(0.1), rateText(1)], ['5 a second', '1 every 10 s', '1 a second']);
});

test('what stopped by itself says why, and what was left alone', () => {
  const stopped = repair({
    state: 'stopped',
    stopReason: 'canary-failed',
    stopMessage: '3 of the first 10 failed again',
    counts: { total: 500, failed: 3, pending: 497 },
  });
  assert.equal(
    standing(stopped),
    'It stopped by itself: 3 of the first 10 failed again. 497 dead letters were not touched and stay in the queue.',
  );
});

test('an abort tells an undone delete from a plan that was put away and from what was cut short', () => {
  assert.equal(standing(repair({ state: 'aborted', action: 'delete', stopReason: 'undone' })), 'Undone: nothing was deleted.');
  assert.match(standing(repair({ state: 'aborted', startedAt: null })), /put away; nothing was done/);
  assert.equal(
    standing(repair({ state: 'aborted', counts: { total: 3, succeeded: 2, pending: 1 } })),
    'Aborted: 2 succeeded. 1 dead letter was not touched and stays in the queue.',
  );
});

test('the first few are watched, pass, fail, or are cut short', () => {
  const verdict = (given: Parameters<typeof repair>[0]) => canaryVerdict(repair(given))?.words.text;
  assert.equal(verdict({}), undefined);
  assert.equal(verdict({ state: 'canary', canary: { ...FIRST, ended: 3, succeeded: 3 } }), 'Being watched');
  assert.equal(verdict({ state: 'running', canary: { ...FIRST, ended: 10, succeeded: 9, failed: 1 } }), 'Passed');
  assert.equal(verdict({ state: 'stopped', stopReason: 'canary-failed', canary: { ...FIRST, ended: 3, failed: 3 } }), 'Failed');
  assert.equal(verdict({ state: 'aborted', canary: { ...FIRST, ended: 3, succeeded: 3 } }), 'Cut short');
});
