/** Replies with several results: steps that an endpoint executed in a row without waiting for the server. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { FailedReply, PlannedStep, StepReply, StepResult } from '@everstep/sdk/protocol';
import { LIMITS } from '../../../config/limits.js';
import { at, attemptOf, ENVELOPE, progress, startedRun, T0 } from '../../engine.fixture.js';
import { decide } from '../decide.js';
import type { Decision } from '../decision.js';
import { ADVANCE_SLOT, type RecordedStep, type Run } from '../run.js';
import { recoverRun } from '../start.js';

const runStep = (stepId: number): PlannedStep => ({ stepId, name: `s${stepId}`, type: 'Run' });
const done = (stepId: number, ranMs?: readonly [number, number]): StepResult => ({
  ...{ stepId, name: `s${stepId}`, type: 'Run', out: `${stepId}` },
  ...(ranMs ? { ranMs } : {}),
});
const SENT = { durationMs: 1, method: 'POST', url: 'http://app/flow', headers: [], bodyBytes: 0, body: null, responseBytes: 0 };

/** Decides at `ms` on a reply to a request that was sent 40 ms after the start. */
const decideOnReply = (run: Run, slot: number, reply: StepReply, ms = 100): Decision =>
  decide(
    run,
    { kind: 'replied', attempt: attemptOf(run, slot), reply, envelope: { ...ENVELOPE, sent: { ...SENT, startedAt: T0 + 40 } } },
    at(ms),
  );
const failed = (run: Run, more: Partial<FailedReply>): FailedReply => ({
  ...{ protocol: 1, kind: 'failed', base: run.journalLength, done: [] },
  ...{ error: { name: 'Error', message: 'no' }, retry: { kind: 'backoff' } },
  ...more,
});

const recorded = ({ writes }: Decision): readonly RecordedStep[] =>
  writes.flatMap((write) => (write.kind === 'record-step' ? [write.step] : []));
const ids = (decision: Decision): readonly (readonly number[])[] =>
  recorded(decision).map(({ index, stepId }) => [index, stepId]);
const messages = ({ writes }: Decision): number =>
  writes.reduce((sum, write) => sum + (write.kind === 'count-messages' ? write.messages : 0), 0);
const slots = ({ run }: Decision): readonly number[] => [...run.tasks.keys()].sort((a, b) => a - b);
/** Returns a run whose second step is open, after `failures` failed attempts. */
function atStep2(failures = 0): Run {
  let { run } = decideOnReply(
    startedRun({ maxRetries: 3 }),
    ADVANCE_SLOT,
    progress(startedRun(), { done: [done(1)], planned: [runStep(2)] }),
  );
  for (let i = 0; i < failures; i++)
    ({ run } = decideOnReply(run, 2, failed(run, { step: { stepId: 2, name: 's2', type: 'Run' } }), 200));
  return run;
}

describe('a reply with several results', () => {
  test('is recorded in order in one decision, and each step counts as a message', () => {
    const start = startedRun();
    const decision = decideOnReply(
      start,
      ADVANCE_SLOT,
      progress(start, { done: [done(1), done(2), done(3)], planned: [runStep(4)] }),
    );
    assert.deepEqual(ids(decision), [
      [0, 1],
      [1, 2],
      [2, 3],
    ]);
    assert.deepEqual([slots(decision), decision.run.nextStepId, decision.run.replayedLength], [[4], 5, 3]);
    // The start of the run counted the message of the first step.
    assert.equal(messages(decision), 3);
    const used = recorded(decision).map(({ messageId }) => messageId);
    assert.equal(used[0], attemptOf(start, ADVANCE_SLOT).messageId);
    assert.equal(new Set([...used, decision.run.tasks.get(4)?.messageId]).size, 4);
  });

  test('counts as many messages as one reply for each step', () => {
    const start = startedRun();
    const together = decideOnReply(
      start,
      ADVANCE_SLOT,
      progress(start, { done: [1, 2, 3].map((id) => done(id)), end: { kind: 'finished' } }),
    );
    let run = start;
    let single = 0;
    for (const stepId of [1, 2, 3]) {
      const more = stepId < 3 ? { planned: [runStep(stepId + 1)] } : { end: { kind: 'finished' } as const };
      const decision = decideOnReply(run, stepId === 1 ? ADVANCE_SLOT : stepId, progress(run, { done: [done(stepId)], ...more }));
      single += messages(decision);
      ({ run } = decision);
    }
    assert.equal(messages(together), single);
    assert.equal(together.outcome?.status, 'succeeded');
  });

  test('starts with the step that was requested', () => {
    const run = atStep2();
    const decision = decideOnReply(run, 2, progress(run, { done: [done(2), done(3)], planned: [runStep(4)] }));
    assert.deepEqual(ids(decision), [
      [1, 2],
      [2, 3],
    ]);
    assert.deepEqual([slots(decision), messages(decision)], [[4], 2]);
  });

  test('has the times of its steps, within the time of the request', () => {
    const start = startedRun();
    const timed = [done(1, [5, 20]), done(2, [20, 30]), done(3, [30, 900])];
    const decision = decideOnReply(start, ADVANCE_SLOT, progress(start, { done: timed, end: { kind: 'finished' } }));
    assert.deepEqual(
      recorded(decision).map(({ createdAt, startedAt, completedAt }) =>
        [createdAt, startedAt, completedAt].map((time) => (time ?? 0) - T0),
      ),
      [
        [0, 45, 60],
        [60, 60, 70],
        [70, 70, 100],
      ],
    );
  });

  test('has the time of its arrival if it contains no times', () => {
    const start = startedRun();
    const decision = decideOnReply(start, ADVANCE_SLOT, progress(start, { done: [done(1), done(2)], end: { kind: 'finished' } }));
    assert.deepEqual(
      recorded(decision).map(({ startedAt, completedAt }) => [startedAt, completedAt]),
      [
        [T0 + 40, T0 + 100],
        [undefined, T0 + 100],
      ],
    );
  });

  test('leads to another request if the code did not continue after it', () => {
    const start = startedRun();
    const decision = decideOnReply(start, ADVANCE_SLOT, progress(start, { done: [done(1), done(2)], advanced: false }));
    assert.deepEqual([slots(decision), decision.run.journalLength], [[ADVANCE_SLOT], 2]);
  });

  test('records only the first result if the endpoint did not know the whole journal', () => {
    const run = atStep2();
    for (const reply of [
      progress(run, { base: 0, done: [done(2), done(3)], planned: [runStep(4)] }),
      failed(run, { base: 0, done: [done(2), done(3)], step: { stepId: 4, name: 's4', type: 'Run' } }),
    ]) {
      const decision = decideOnReply(run, 2, reply);
      assert.deepEqual([ids(decision), slots(decision)], [[[1, 2]], [ADVANCE_SLOT]]);
    }
  });

  test('that violates the protocol records nothing and fails the run with the reason', () => {
    const run = atStep2();
    const full: Run = { ...run, journalLength: LIMITS.maxJournalSteps - 1, replayedLength: LIMITS.maxJournalSteps - 1 };
    const cases: readonly (readonly [Run, StepReply, RegExp])[] = [
      [run, progress(run, { done: [done(2), done(4)] }), /reports step 4, but the next new step is 3/],
      [run, progress(run, { done: [done(2), done(2)] }), /continued from step 2, which was already recorded/],
      [run, progress(run, { done: [done(2), done(1)] }), /continued from step 1, which was already recorded/],
      [run, progress(run, { done: [done(3), done(4)] }), /did not report the requested step 2 \("s2"\)/],
      [
        run,
        failed(run, { done: [done(2)], step: { stepId: 4, name: 's4', type: 'Run' } }),
        /failure of step 4 after other steps/,
      ],
      [full, progress(full, { done: [done(2), done(3)] }), /journal has more than \d+ steps/],
    ];
    for (const [before, reply, reason] of cases) {
      const decision = decideOnReply(before, 2, reply);
      assert.deepEqual([ids(decision), decision.outcome?.status], [[], 'failed']);
      assert.match(decision.deadLetter?.error ?? '', reason);
    }
  });
});

describe('a step that fails after others in one request', () => {
  const step = { stepId: 4, name: 's4', type: 'Run' } as const;

  test('keeps the results before it, and counts the failure for itself only', () => {
    const run = atStep2(2);
    const decision = decideOnReply(run, 2, failed(run, { done: [done(2), done(3)], step }), 300);
    assert.deepEqual(ids(decision), [
      [1, 2],
      [2, 3],
    ]);
    assert.deepEqual([slots(decision), messages(decision), decision.run.replayedLength], [[4], 2, 3]);
    const task = decision.run.tasks.get(4);
    assert.ok(task?.kind === 'step');
    assert.deepEqual([task.retried, task.dueAt], [1, T0 + 1_300]);
    const attempts = decision.writes.flatMap((write) => (write.kind === 'record-attempt' ? [write.attempt] : []));
    assert.deepEqual(
      attempts.map(({ slot, messageId, retried }) => [slot, messageId, retried]),
      [[4, task.messageId, 0]],
    );
  });

  test('fails the run permanently, and a resume keeps the results before it', () => {
    const start = startedRun();
    const { run, deadLetter } = decideOnReply(
      start,
      ADVANCE_SLOT,
      failed(start, { done: [1, 2, 3].map((id) => done(id)), step, retry: { kind: 'never' } }),
    );
    assert.match(deadLetter?.error ?? '', /^step "s4" \(4\) failed and is not retried/);
    assert.ok(deadLetter);
    const again = recoverRun(run, { kind: 'resume', dlqId: deadLetter.dlqId, overrides: {}, workflowRunId: null }, at(500));
    assert.ok(again !== 'no-flow-control-key');
    assert.deepEqual([again.run.journalLength, [...again.run.tasks.keys()]], [3, [4]]);
  });

  test('does not affect the results if the code between the steps fails', () => {
    const run = atStep2();
    const decision = decideOnReply(run, 2, failed(run, { done: [done(2), done(3)] }));
    assert.deepEqual([recorded(decision).length, slots(decision)], [2, [ADVANCE_SLOT]]);
    const task = decision.run.tasks.get(ADVANCE_SLOT);
    assert.ok(task?.kind === 'advance' && task.retried === 1);
  });
});
