/** A journal has limits, whether the endpoint or the service adds the entries. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PlannedStep } from '@everstep/sdk/protocol';
import { LIMITS } from '../../config/limits.js';
import { decide, type RunEvent } from '../runs/decide.js';
import { ADVANCE_SLOT, type Run, type Task } from '../runs/run.js';
import { startRun } from '../runs/start.js';

const T0 = 1_800_000_000_000;
let counter = 0;
const at = (ms: number) => ({
  now: T0 + ms,
  random: { bytes: (count: number) => Uint8Array.from({ length: count }, () => counter++ & 0xff) },
  publicUrl: 'https://everstep.example',
});
const NO_ANSWER = { status: null, responseHeaders: {}, responseBody: new Uint8Array() };
const content = { kind: 'data', body: { encoding: 'utf8', data: 'x' } } as const;

/** Returns a run without retries that has planned this step, with a journal as full as `journal` specifies. */
function planned(step: PlannedStep, journal: Partial<Pick<Run, 'journalBytes' | 'journalLength' | 'keptEvents'>> = {}) {
  const { run } = startRun(
    {
      instanceId: 'qi_1',
      dialect: 'native',
      workflowUrl: 'http://app/flow',
      payload: { body: new Uint8Array(), contentType: null, forwardHeaders: {} },
      settings: {
        maxRetries: 3,
        retryDelay: null,
        deliveryTimeoutMs: 1000,
        labels: [],
        flowControl: null,
        failureCallback: null,
      },
      callerIp: '127.0.0.1',
      workflowRunId: null,
      notBefore: null,
      deduplicationId: null,
    },
    at(0),
  );
  const task = run.tasks.get(ADVANCE_SLOT);
  assert.ok(task?.kind === 'advance');
  const full = { ...run, ...journal };
  const frame = { protocol: 1, kind: 'progress', base: full.journalLength, done: [], advanced: true, planned: [step] } as const;
  const attempt = { slot: ADVANCE_SLOT, messageId: task.messageId, retried: 0 };
  return decide(full, { kind: 'replied', attempt, envelope: NO_ANSWER, reply: frame }, at(1));
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
      kind: 'call-answered',
      attempt: { slot: 1, messageId, retried: 0 },
      answer: { status: 200, headers: {}, body: { encoding: 'utf8', data: 'x' } },
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
      'nothing is due anymore',
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
