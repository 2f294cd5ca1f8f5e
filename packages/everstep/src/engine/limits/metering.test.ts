/** Which deliveries count as messages, from the trigger to the failure callback. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CallSpec, PlannedStep, StepReply } from '@everstep/sdk/protocol';
import { at, attemptOf, command, decideOnReply, ENVELOPE, progress, startedRun, T0 } from '../engine.fixture.js';
import { retryCallback } from '../messages/callback.js';
import { decide, type RunEvent } from '../runs/decide.js';
import type { Decision } from '../runs/decision.js';
import { ADVANCE_SLOT, type Run } from '../runs/run.js';
import { recoverRun, startRun } from '../runs/start.js';
import type { StoreWrite } from '../writes.js';

const context = at(0);
const answered = (run: Run, slot: number, reply: StepReply): Decision => decideOnReply(run, slot, reply, context);
const CALL: CallSpec = { url: 'http://third/', method: 'GET', headers: {} };

/** Returns the number of messages counted by these writes: at most one write, of this instance and time. */
function counted(writes: readonly StoreWrite[]): number {
  const counts = writes.filter((write) => write.kind === 'count-messages');
  assert.ok(counts.length <= 1);
  const [count] = counts;
  if (!count) return 0;
  assert.deepEqual([count.instanceId, count.at], ['qi_1', T0]);
  return count.messages;
}

const failing = (run: Run, slot: number, retry: 'never' | 'backoff'): RunEvent => ({
  kind: 'attempt-failed',
  attempt: attemptOf(run, slot),
  failure: { cause: 'http', message: 'HTTP 500', ...ENVELOPE, status: 500, retry: { kind: retry } },
});

test('a trigger is one message: the first call to the endpoint', () => {
  assert.equal(counted(startRun(command(), context).unit.writes), 1);
});

test('each planned step and call is a message, and sleeps, waits and internal notifications are not', () => {
  const run = startedRun();
  const planned: PlannedStep[] = [
    { stepId: 1, name: 'a', type: 'Run' },
    { stepId: 2, name: 'b', type: 'Call', call: CALL },
    { stepId: 3, name: 'c', type: 'SleepFor', sleepMs: 1000 },
    { stepId: 4, name: 'd', type: 'Wait', eventIds: ['e'], timeoutMs: 1000 },
  ];
  const decision = answered(run, ADVANCE_SLOT, progress(run, { planned }));
  assert.deepEqual([...decision.run.tasks.values()].map(({ kind }) => kind).sort(), ['call', 'sleep', 'step', 'wait']);
  assert.equal(counted(decision.writes), 2);
});

test('steps that a reply executes at once cost no additional message', () => {
  const run = startedRun();
  const done = [{ stepId: 1, name: 'a', type: 'Run' as const, out: '1' }];
  const end = { kind: 'finished' as const, result: '1' };
  assert.equal(counted(answered(run, ADVANCE_SLOT, progress(run, { done, end })).writes), 0);
});

test('a retry is the same message', () => {
  const run = startedRun();
  const decision = decide(run, failing(run, ADVANCE_SLOT, 'backoff'), context);
  assert.equal(decision.run.tasks.size, 1);
  assert.equal(counted(decision.writes), 0);
});

test('a step that fails in the attempt that found it continues as the same message', () => {
  const run = startedRun();
  const error = { name: 'Error', message: 'not yet' };
  const reply: StepReply = {
    protocol: 1,
    kind: 'failed',
    base: 0,
    done: [],
    step: { stepId: 1, name: 'a', type: 'Run' },
    error,
    retry: { kind: 'backoff' },
  };
  const decision = answered(run, ADVANCE_SLOT, reply);
  assert.deepEqual(
    [...decision.run.tasks.values()].map(({ kind }) => kind),
    ['step'],
  );
  assert.equal(counted(decision.writes), 0);
});

test('the end of a sleep calls the endpoint, which is a message', () => {
  const run = startedRun();
  const planned: PlannedStep[] = [{ stepId: 1, name: 'nap', type: 'SleepFor', sleepMs: 0 }];
  const asleep = answered(run, ADVANCE_SLOT, progress(run, { planned })).run;
  assert.equal(counted(decide(asleep, { kind: 'due', slot: 1 }, context).writes), 1);
});

test('reporting a failure is a message, and reporting it again is another', () => {
  const run = startedRun({ failureCallback: { url: 'http://app/failed', headers: {} } });
  const decision = decide(run, failing(run, ADVANCE_SLOT, 'never'), context);
  assert.equal(counted(decision.writes), 1);
  assert.ok(decision.deadLetter);
  assert.equal(counted(retryCallback(decision.run, decision.deadLetter.dlqId, context).unit.writes), 1);
});

test('a failure without a callback is not a message', () => {
  const run = startedRun();
  assert.equal(counted(decide(run, failing(run, ADVANCE_SLOT, 'never'), context).writes), 0);
});

test('a restart is one message; a resume is one for each delivery that is open again', () => {
  const run = startedRun();
  const planned: PlannedStep[] = [
    { stepId: 1, name: 'a', type: 'Run' },
    { stepId: 2, name: 'b', type: 'Run' },
    { stepId: 3, name: 'nap', type: 'SleepFor', sleepMs: 60_000 },
  ];
  const open = answered(run, ADVANCE_SLOT, progress(run, { planned })).run;
  const { run: failed, deadLetter } = decide(open, failing(open, 1, 'never'), context);
  assert.ok(deadLetter);
  const recovered = (kind: 'resume' | 'restart'): number => {
    const started = recoverRun(failed, { kind, dlqId: deadLetter.dlqId, overrides: {}, workflowRunId: null }, context);
    assert.ok(started !== 'no-flow-control-key');
    return counted(started.unit.writes);
  };
  assert.deepEqual([recovered('restart'), recovered('resume')], [1, 2]);
});

test('a run counts for the day of its admission, however it is started, and its messages for the time of the decision', () => {
  const admittedAt = T0 - 1;
  const daysOf = (writes: readonly StoreWrite[]) => writes.filter((write) => write.kind === 'count-of-day').map(({ at }) => at);
  const triggered = startRun({ ...command(), admittedAt }, context);
  const overrides = {};
  const again = { kind: 'restart', dlqId: 'dlq_1', overrides, workflowRunId: null, admittedAt } as const;
  const recovered = recoverRun({ ...triggered.run, status: 'failed' }, again, context);
  assert.ok(recovered !== 'no-flow-control-key');
  for (const { unit } of [triggered, recovered]) {
    assert.deepEqual(daysOf(unit.writes), [admittedAt]);
    assert.equal(counted(unit.writes), 1);
  }
  assert.deepEqual(daysOf(startRun(command(), context).unit.writes), [T0]);
});
