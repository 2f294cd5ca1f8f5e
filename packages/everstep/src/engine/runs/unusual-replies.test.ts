/** Pending tasks after rare or invalid responses: a run must never have a task that nothing delivers. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FailedReply, PlannedStep, StepReply, StepResult } from '@everstep/sdk/protocol';
import { at, decideOnReply, startedRun, T0 } from '../engine.fixture.js';
import type { Decision } from './decision.js';
import { ADVANCE_SLOT, type Run } from './run.js';
import { recoverRun } from './start.js';

const step = (stepId: number): PlannedStep & StepResult => ({ stepId, name: `s${stepId}`, type: 'Run' });
const nap = (stepId: number): PlannedStep => ({ stepId, name: `s${stepId}`, type: 'SleepFor', sleepMs: 1000 });

const answered = (run: Run, slot: number, reply: StepReply, ms: number): Decision => decideOnReply(run, slot, reply, at(ms));

const progress = (base: number, done: readonly StepResult[], planned: readonly PlannedStep[], advanced = true): StepReply => ({
  protocol: 1,
  kind: 'progress',
  base,
  done,
  advanced,
  planned,
});

const failed = (base: number, more: Partial<FailedReply> = {}): StepReply => ({
  protocol: 1,
  kind: 'failed',
  base,
  done: [],
  error: { name: 'Error', message: 'flaky' },
  retry: { kind: 'backoff' },
  ...more,
});

/** Returns a run whose code waits for the given steps. */
function waitingFor(...planned: readonly PlannedStep[]): Run {
  return answered(startedRun({ maxRetries: 2 }), ADVANCE_SLOT, progress(0, [], planned), 1).run;
}

test('retries a step if the code failed before it reached the step', () => {
  const { run, writes } = answered(waitingFor(step(1), step(2)), 2, failed(0), 10);
  const task = run.tasks.get(2);
  assert.ok(task?.kind === 'step');
  assert.deepEqual([task.retried, task.dueAt], [1, T0 + 1010]);
  assert.ok(writes.some((write) => write.kind === 'record-attempt' && write.attempt.cause === 'workflow'));
  assert.equal(run.tasks.has(ADVANCE_SLOT), false);
});

test('does not change an advance in flight when code fails after a step', () => {
  const before = answered(waitingFor(step(1), step(2)), 1, progress(0, [step(1)], [], false), 2).run;
  const waiting = before.tasks.get(ADVANCE_SLOT);
  assert.ok(waiting);
  const { run } = answered(before, 2, failed(1, { done: [step(2)] }), 3);
  assert.equal(run.journalLength, 2);
  assert.equal(run.tasks.get(ADVANCE_SLOT)?.messageId, waiting.messageId);
});

test('calls the code again if it failed on results in an order other than the recorded one', () => {
  const before = answered(waitingFor(step(1), step(2)), 1, progress(0, [step(1)], [], false), 2).run;
  const seen = answered(before, 2, progress(0, [step(2)], [], false), 3).run;
  const was = seen.tasks.get(ADVANCE_SLOT);
  const { run, writes } = answered(seen, ADVANCE_SLOT, failed(1, { done: [step(3)] }), 4);
  const advance = run.tasks.get(ADVANCE_SLOT);
  assert.ok(advance && advance.messageId !== undefined && advance !== was);
  assert.deepEqual([run.journalLength, advance.dueAt], [3, T0 + 4]);
  assert.ok(writes.some((write) => write.kind === 'put-task' && write.task === advance));
});

test('a reply that continues from an already recorded step violates the protocol', () => {
  const before = answered(waitingFor(step(1), nap(2)), 1, progress(0, [step(1)], [], false), 2).run;
  const again = answered(before, ADVANCE_SLOT, progress(1, [step(1)], []), 3);
  assert.match(again.deadLetter?.error ?? '', /continued from step 1, which was already recorded/);
});

test('a failure of a step that was not requested violates the protocol', () => {
  const decision = answered(waitingFor(step(1), step(2)), 1, failed(0, { step: { ...step(3) } }), 2);
  assert.match(decision.deadLetter?.error ?? '', /failure of step 3, which was not requested/);
});

test('resuming a run that failed in a step after entries that its code has not seen adds an advance', () => {
  const before = answered(waitingFor(step(1), step(2)), 1, progress(0, [step(1)], [], false), 2).run;
  const seen = answered(before, 2, progress(0, [step(2)], [], false), 3).run;
  const ended = answered(seen, ADVANCE_SLOT, failed(1, { step: step(3), retry: { kind: 'never' } }), 4);
  assert.ok(ended.deadLetter);
  const resumed = recoverRun(
    ended.run,
    { kind: 'resume', dlqId: ended.deadLetter.dlqId, overrides: {}, workflowRunId: null },
    at(9),
  );
  assert.ok(resumed !== 'no-flow-control-key' && resumed.run.tasks.has(ADVANCE_SLOT) && resumed.run.tasks.has(3));
});
