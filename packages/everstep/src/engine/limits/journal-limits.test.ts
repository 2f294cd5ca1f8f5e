/** A journal has limits, whether the endpoint or the server adds the entries. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PlannedStep } from '@everstep/sdk/protocol';
import { LIMITS } from '../../config/limits.js';
import { at, decideOnReply, progress, startedRun, T0 } from '../engine.fixture.js';
import { decide, type RunEvent } from '../runs/decide.js';
import { ADVANCE_SLOT, type Run, type Task } from '../runs/run.js';

const content = { kind: 'data', body: { encoding: 'utf8', data: 'x' } } as const;

/** Returns a run without retries that has planned this step, with a journal as full as `journal` specifies. */
function planned(step: PlannedStep, journal: Partial<Pick<Run, 'journalBytes' | 'journalLength' | 'keptEvents'>> = {}) {
  const full = { ...startedRun({ maxRetries: 3, retryDelay: null }), ...journal };
  return decideOnReply(full, ADVANCE_SLOT, progress(full, { planned: [step] }));
}

const STEP = { stepId: 1, name: 's' } as const;
const CASES: readonly (readonly [PlannedStep, (task: Task) => RunEvent])[] = [
  [{ ...STEP, type: 'SleepFor', sleepMs: 5 }, () => ({ kind: 'due', slot: 1 })],
  [{ ...STEP, type: 'Wait', eventIds: ['e'], timeoutMs: 5 }, () => ({ kind: 'due', slot: 1 })],
  [{ ...STEP, type: 'Wait', eventIds: ['e'], timeoutMs: 50 }, () => ({ kind: 'notified', slot: 1, eventId: 'e', content })],
  [
    { ...STEP, type: 'Wait', eventIds: ['e'], timeoutMs: 50 },
    () => ({ kind: 'event-received', event: { eventKey: 'k', eventId: 'e', content, receivedAt: T0 } }),
  ],
  [
    { ...STEP, type: 'Call', call: { url: 'http://x/', method: 'GET', headers: {} } },
    ({ messageId }) => ({
      kind: 'call-attempted',
      attempt: { slot: 1, messageId, retried: 0 },
      response: { status: 200, headers: {}, body: { encoding: 'utf8', data: 'x' } },
      failure: null,
    }),
  ],
  [
    { ...STEP, type: 'Notify', eventId: 'e', content },
    ({ messageId }) => ({ kind: 'notify-done', slot: 1, messageId, outcome: { notified: [], kept: false } }),
  ],
  [
    { ...STEP, type: 'Invoke', invoke: { workflowUrl: 'http://x/', headers: {} } },
    ({ messageId }) => ({
      kind: 'invoke-ended',
      slot: 1,
      messageId,
      outcome: { workflowRunId: 'r', workflowCreatedAt: T0, state: 'succeeded', result: '1' },
    }),
  ],
];

for (const [step, eventOf] of CASES) {
  const end = (run: Run) => {
    const task = run.tasks.get(1);
    assert.ok(task);
    return eventOf(task);
  };
  const kind = end(planned(step).run).kind;

  test(`${step.type} by "${kind}": a result that exceeds the size of a journal fails the run permanently with a clear message`, () => {
    const { run } = planned(step, step.type === 'SleepFor' ? {} : { journalBytes: LIMITS.maxJournalBytes });
    const full = step.type === 'SleepFor' ? { ...run, journalBytes: LIMITS.maxJournalBytes + 1 } : run;
    const decision = decide(full, end(run), at(10));
    assert.equal(decision.outcome?.status, 'failed');
    assert.match(decision.deadLetter?.error ?? '', /its results exceed 268435456 bytes in total/);
    assert.ok(
      [...decision.run.tasks.values()].every(({ dueAt }) => dueAt === null),
      'no task is due anymore',
    );
  });

  test(`${step.type} by "${kind}": one step more than the limit fails the run`, () => {
    const { run } = planned(step, { journalLength: LIMITS.maxJournalSteps });
    const decision = decide(run, end(run), at(10));
    assert.match(decision.deadLetter?.error ?? '', /its journal has more than 100000 steps/);
    const last = planned(step, { journalLength: LIMITS.maxJournalSteps - 1 });
    assert.equal(decide(last.run, end(last.run), at(10)).outcome, null, 'the last allowed step');
  });
}

test('steps that are recorded when they are planned count as well', () => {
  const journalLength = LIMITS.maxJournalSteps;
  const early = { eventKey: 'k', eventId: 'e', content, receivedAt: T0 };
  const webhook = planned({ ...STEP, type: 'CreateWebhook' }, { journalLength });
  const kept = planned({ ...STEP, type: 'Wait', eventIds: ['e'], timeoutMs: 5 }, { journalLength, keptEvents: [early] });
  for (const { deadLetter } of [webhook, kept]) assert.match(deadLetter?.error ?? '', /its journal has more than 100000 steps/);
});
