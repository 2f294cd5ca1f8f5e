import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RepairEntry } from '../../../../everstep/src/contract/repairs.js';
import { canaryVerdict, consequences, durationAtRateMs, rateText, replanText, startText, statusText } from './repair-text.js';

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

const FIRST = { groups: [], count: 10, maxFailurePercent: 20, thenContinue: true, total: 10, ended: 0, succeeded: 0, failed: 0 };

test('a plan describes what resume keeps, what restart runs again, and that delete can be undone', () => {
  const counts = { total: 3, pending: 3 };
  assert.match(
    consequences(repair({ counts })).join(' '),
    /3 new runs start.*7 recorded steps are kept.*at least 3 messages.*cannot be undone/,
  );
  assert.match(consequences(repair({ counts, action: 'restart' })).join(' '), /run again, including their side effects/);
  assert.match(consequences(repair({ counts, action: 'delete' })).join(' '), /Until then, you can undo the deletion/);
});

test('uses the singular for a single run', () => {
  const [first] = consequences(repair({ counts: { total: 1 } }));
  assert.equal(first, '1 new run starts at the step that failed.');
});

test('computes the duration of a repair from its rate', () => {
  assert.equal(durationAtRateMs(500, 2), 250_000);
  assert.equal(durationAtRateMs(1, 1000), 1);
  assert.deepEqual([rateText(5), rateText(0.1), rateText(1)], ['5 per second', '1 every 10 s', '1 per second']);
});

test('an automatic stop states its reason and how many entries were not processed', () => {
  const stopped = repair({
    state: 'stopped',
    stopReason: 'canary-failed',
    stopMessage: '3 of the first 10 failed again',
    counts: { total: 500, failed: 3, pending: 497 },
  });
  assert.equal(
    statusText(stopped),
    'Stopped automatically: 3 of the first 10 failed again. 497 dead letters were not processed and stay in the dead letter queue.',
  );
});

test('distinguishes an undone delete, a discarded plan and an aborted repair', () => {
  assert.equal(statusText(repair({ state: 'aborted', action: 'delete', stopReason: 'undone' })), 'Undone: nothing was deleted.');
  assert.match(statusText(repair({ state: 'aborted', startedAt: null })), /discarded; nothing was changed/);
  assert.equal(
    statusText(repair({ state: 'aborted', counts: { total: 3, succeeded: 2, pending: 1 } })),
    'Aborted: 2 succeeded. 1 dead letter was not processed and stays in the dead letter queue.',
  );
});

test('a canary is in progress, passed, failed or aborted', () => {
  const verdict = (given: Parameters<typeof repair>[0]) => canaryVerdict(repair(given))?.badge.text;
  assert.equal(verdict({}), undefined);
  assert.equal(verdict({ state: 'canary', canary: { ...FIRST, ended: 3, succeeded: 3 } }), 'In progress');
  assert.equal(verdict({ state: 'running', canary: { ...FIRST, ended: 10, succeeded: 9, failed: 1 } }), 'Passed');
  assert.equal(verdict({ state: 'stopped', stopReason: 'canary-failed', canary: { ...FIRST, ended: 3, failed: 3 } }), 'Failed');
  assert.equal(verdict({ state: 'aborted', canary: { ...FIRST, ended: 3, succeeded: 3 } }), 'Aborted');
});

test('the start button says exactly what it does', () => {
  const canary = { count: 10, thenContinue: true };
  assert.equal(startText('resume', 500, canary), 'Resume 10 first, then all 500');
  assert.equal(startText('restart', 500, { ...canary, thenContinue: false }), 'Restart 10 and wait');
  assert.equal(startText('resume', 10, canary), 'Resume 10 dead letters');
  assert.equal(startText('resume', 1, null), 'Resume 1 dead letter');
});

test('another plan names what it includes', () => {
  const of = (pending: number, failed: number, byIds = false) =>
    replanText({ action: 'resume', counts: { ...repair({}).counts, pending, failed } }, byIds);
  assert.equal(of(497, 3), 'Plan repair of the other 497 and the 3 that failed again');
  assert.equal(of(497, 3, true), 'Plan repair of the other 497');
  assert.equal(of(0, 3), 'Plan repair of the 3 that failed again');
  assert.equal(of(0, 3, true), null);
});
