/** Steps that an endpoint submits in separate requests: each counts once, whenever it arrives. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CallSpec, PlannedStep, StepResult } from '@everstep/sdk/protocol';
import { at, attemptOf, ENVELOPE, startedRun, T0 } from '../engine.fixture.js';
import { decide } from './decide.js';
import type { Decision } from './decision.js';
import { ADVANCE_SLOT, type DeliveryFailure, type Run } from './run.js';
import { recoverRun } from './start.js';
import { hasIntroducedItself, type Submission } from './submissions.js';

const done = (stepId: number, type: StepResult['type'] = 'Run'): StepResult => ({
  stepId,
  name: `s${stepId}`,
  type,
  out: `${stepId}`,
});
const planned = (stepId: number, asks?: StepResult['type']): PlannedStep => ({
  stepId,
  name: `s${stepId}`,
  type: 'Run',
  ...(asks ? { asks } : {}),
});
const nap = (stepId: number): PlannedStep => ({ stepId, name: `s${stepId}`, type: 'SleepFor', sleepMs: 1000 });
const CALL: CallSpec = { url: 'http://third/', method: 'GET', headers: {} };
const call = (stepId: number): PlannedStep => ({ stepId, name: `s${stepId}`, type: 'Call', call: CALL });
const wait = (stepId: number): PlannedStep => ({ stepId, name: `s${stepId}`, type: 'Wait', eventIds: ['e'], timeoutMs: 5000 });

const started = (introduced = true): Run => startedRun({ steps: { joined: true, introduced } }, { dialect: 'upstash' });

const submit = (run: Run, submission: Partial<Submission>, ms: number): Decision =>
  decide(run, { kind: 'submitted', submission: { done: [], planned: [], ...submission } }, at(ms));

/** Ends the delivery of that attempt with an empty response. */
const exchangeEnded = (run: Run, attempt: ReturnType<typeof attemptOf>, ms: number): Decision =>
  decide(run, { kind: 'exchange-ended', attempt, envelope: ENVELOPE }, at(ms));

const TIMEOUT: DeliveryFailure = {
  cause: 'timeout',
  message: 'no answer',
  status: null,
  responseHeaders: {},
  responseBody: new Uint8Array(),
  retry: { kind: 'backoff' },
};
const timedOut = (run: Run, attempt: ReturnType<typeof attemptOf>, ms: number): Decision =>
  decide(run, { kind: 'attempt-failed', attempt, failure: TIMEOUT }, at(ms));

const recorded = ({ writes }: Decision): readonly number[] =>
  writes.flatMap((write) => (write.kind === 'record-step' ? [write.step.stepId] : []));

/** Kinds of the open tasks, by slot. */
const open = (run: Run): Record<number, string> =>
  Object.fromEntries([...run.tasks.values()].map((task) => [task.slot, task.kind]));

test('a submitted step is recorded, and the code is called again as a separate message', () => {
  const run = started();
  const first = attemptOf(run, ADVANCE_SLOT);
  const decision = submit(run, { done: [done(1)] }, 10);
  assert.deepEqual(recorded(decision), [1]);
  assert.deepEqual(open(decision.run), { 0: 'advance' });
  const next = decision.run.tasks.get(ADVANCE_SLOT);
  assert.equal(next?.dueAt, T0 + 10);
  assert.notEqual(next?.messageId, first.messageId);
  // The delivery that executed it ends after it, and is not a response to the next one.
  assert.deepEqual(exchangeEnded(decision.run, first, 20).writes, []);
});

test('a submitted step starts when its delivery is sent, if this process sends it', () => {
  const startTimes = (deliveryStartedAt?: ReadonlyMap<number, number>) =>
    decide(
      started(),
      { kind: 'submitted', submission: { done: [done(1)], planned: [] }, deliveryStartedAt },
      at(10),
    ).writes.flatMap((write) => (write.kind === 'record-step' ? [write.step.startedAt] : []));
  assert.deepEqual(startTimes(new Map([[ADVANCE_SLOT, T0 + 7]])), [T0 + 7]);
  assert.deepEqual(startTimes(new Map([[3, T0 + 7]])), [undefined]);
  assert.deepEqual(startTimes(), [undefined]);
});

test('a repeated submission of the same steps has no effect', () => {
  const once = submit(started(), { done: [done(1)] }, 10).run;
  assert.deepEqual(submit(once, { done: [done(1)] }, 11).writes, []);
  const group = submit(once, { planned: [planned(2), nap(3)] }, 20).run;
  assert.deepEqual(submit(group, { planned: [planned(2), nap(3)] }, 21).writes, []);
  const half = submit(group, { done: [done(2)] }, 30).run;
  assert.deepEqual(submit(half, { done: [done(2)] }, 31).writes, []);
  const ended = submit(started(), { end: { kind: 'finished' } }, 10).run;
  assert.deepEqual(submit(ended, { end: { kind: 'finished' } }, 11).writes, []);
});

test('a submission counts although its delivery was given up, and cancels the next attempt', () => {
  const run = started();
  const first = attemptOf(run, ADVANCE_SLOT);
  const retrying = timedOut(run, first, 1000).run;
  assert.equal(attemptOf(retrying, ADVANCE_SLOT).retried, 1);
  const late = submit(retrying, { done: [done(1)] }, 1500);
  assert.deepEqual(recorded(late), [1]);
  const next = attemptOf(late.run, ADVANCE_SLOT);
  assert.equal(next.retried, 0);
  assert.equal(late.run.tasks.get(ADVANCE_SLOT)?.dueAt, T0 + 1500);
  // The second attempt was in flight. Its submission is known, and its end is irrelevant.
  assert.deepEqual(submit(late.run, { done: [done(1)] }, 1600).writes, []);
  assert.deepEqual(timedOut(late.run, { ...first, retried: 1 }, 1700).writes, []);
});

test('code that joins its steps continues when the last of them is recorded', () => {
  let { run } = submit(started(), { planned: [planned(1), planned(2), nap(3)] }, 10);
  assert.deepEqual(open(run), { 1: 'step', 2: 'step', 3: 'sleep' });
  run = submit(run, { done: [done(2)] }, 20).run;
  run = submit(run, { done: [done(1)] }, 30).run;
  assert.deepEqual(open(run), { 3: 'sleep' }, 'the endpoint is not called before that');
  const last = decide(run, { kind: 'due', slot: 3 }, at(1010));
  assert.deepEqual(open(last.run), { 0: 'advance' });
  assert.deepEqual(
    [1, 2, 3].map((stepId) => last.run.nextStepId > stepId),
    [true, true, true],
  );
});

test('steps planned together form one group, with their number', () => {
  const { run } = submit(started(), { planned: [planned(1), nap(2)] }, 10);
  const decision = submit(run, { done: [done(1)] }, 20);
  const step = decision.writes.find((write) => write.kind === 'record-step');
  assert.ok(step?.kind === 'record-step');
  assert.deepEqual([step.step.group, step.step.concurrent], [1, 2]);
});

test('an endpoint specifies a step that was planned by name when the step is requested, and the server executes it', () => {
  const { run } = submit(started(), { planned: [planned(1, 'Call'), planned(2, 'Wait')] }, 10);
  const requested = attemptOf(run, 1);
  const calling = submit(run, { planned: [call(1)] }, 20).run;
  assert.deepEqual(open(calling), { 1: 'call', 2: 'step' });
  const task = calling.tasks.get(1);
  assert.ok(task?.kind === 'call');
  assert.deepEqual([task.group, task.concurrent], [1, 2]);
  assert.deepEqual(exchangeEnded(calling, requested, 21).writes, [], 'the delivery that specified it is over');
  assert.deepEqual(submit(calling, { planned: [call(1)] }, 22).writes, [], 'specified twice');
  const waiting = submit(calling, { planned: [wait(2)] }, 30).run;
  assert.deepEqual(open(waiting), { 1: 'call', 2: 'wait' });
});

test('a specified wait takes an event that arrived earlier', () => {
  const event = {
    eventKey: 'evt_1',
    eventId: 'e',
    content: { kind: 'data', body: { encoding: 'utf8', data: 'x' } } as const,
    receivedAt: T0,
  };
  const kept = decide(started(), { kind: 'event-received', event }, at(5)).run;
  const { run } = submit(kept, { planned: [planned(1, 'Wait'), nap(2)] }, 10);
  const specified = submit(run, { planned: [wait(1)] }, 20);
  assert.deepEqual(recorded(specified), [1]);
  assert.deepEqual(open(specified.run), { 2: 'sleep' });
  assert.deepEqual(specified.run.keptEvents, []);
});

test('a delivery without a submission fails the run with a clear message', () => {
  const run = started();
  const decision = exchangeEnded(run, attemptOf(run, ADVANCE_SLOT), 10);
  assert.equal(decision.outcome?.status, 'failed');
  assert.match(decision.deadLetter?.error ?? '', /submitted neither a step nor the end/);
  const group = submit(started(), { planned: [planned(1), planned(2)] }, 10).run;
  assert.equal(exchangeEnded(group, attemptOf(group, 2), 20).outcome?.status, 'failed');
});

test('a submission that violates the protocol fails the run and has no other effect', () => {
  const run = started();
  const gap = submit(run, { done: [done(3)] }, 10);
  assert.equal(gap.outcome?.status, 'failed');
  assert.match(gap.deadLetter?.error ?? '', /step 3, but the next new step is 1/);
  assert.deepEqual(recorded(gap), []);
  const group = submit(started(), { planned: [planned(1), planned(2)] }, 10).run;
  const renamed = submit(group, { done: [{ stepId: 2, name: 'other', type: 'Run' }] }, 20);
  assert.match(renamed.deadLetter?.error ?? '', /"other", but planned it as "s2"/);
  const other = submit(group, { planned: [call(1)] }, 20);
  assert.equal(other.outcome?.status, 'failed', 'the endpoint was asked to execute the step');
});

test('accepts the end of the run with its result, during its delivery and after the delivery was given up', () => {
  const run = submit(started(), { done: [done(1)] }, 10).run;
  const ended = submit(run, { end: { kind: 'finished', result: '"done"' } }, 20);
  assert.deepEqual(ended.outcome, { status: 'succeeded', result: '"done"' });
  const retrying = timedOut(run, attemptOf(run, ADVANCE_SLOT), 1000).run;
  assert.equal(submit(retrying, { end: { kind: 'finished' } }, 1100).outcome?.status, 'succeeded');
});

test('rejects an end while the code waits for steps, and the run does not hang', () => {
  const run = submit(started(), { planned: [planned(1), nap(2)] }, 10).run;
  assert.deepEqual(submit(run, { end: { kind: 'finished' } }, 20).writes, []);
  assert.equal(exchangeEnded(run, attemptOf(run, 1), 30).outcome?.status, 'failed');
});

test('ignores submissions for a run that has ended', () => {
  const canceled = decide(started(), { kind: 'cancel' }, at(5)).run;
  assert.deepEqual(submit(canceled, { done: [done(1)] }, 10).writes, []);
  const failed = exchangeEnded(started(), attemptOf(started(), ADVANCE_SLOT), 10);
  assert.deepEqual(submit({ ...failed.run, status: 'failed' }, { done: [done(1)] }, 20).writes, []);
});

test('an endpoint that must introduce itself receives the request for its first step afterwards', () => {
  const run = started(false);
  const first = attemptOf(run, ADVANCE_SLOT);
  const introduced = submit(run, { introduction: true }, 10);
  assert.equal(introduced.run.replayedLength, 0);
  const next = attemptOf(introduced.run, ADVANCE_SLOT);
  assert.notEqual(next.messageId, first.messageId);
  assert.deepEqual(submit(introduced.run, { introduction: true }, 11).writes, [], 'twice');
  assert.deepEqual(exchangeEnded(introduced.run, first, 12).writes, [], 'the introduction is over');
  assert.deepEqual(recorded(submit(introduced.run, { done: [done(1)] }, 20)), [1]);
});

/** Returns the run as a store loads it. */
const reloaded = (run: Run): Run => ({ ...run, replayedLength: run.tasks.has(ADVANCE_SLOT) ? -1 : run.journalLength });

test('an introduction is stored, so that a later one has no effect, and failed attempts before it count', () => {
  const run = started(false);
  const failedOnce = timedOut(run, attemptOf(run, ADVANCE_SLOT), 5).run;
  const introduction = submit(failedOnce, { introduction: true }, 10);
  const steps = { joined: true, introduced: true };
  const settings = { ...run.settings, steps };
  assert.deepEqual(
    introduction.writes.filter(({ kind }) => kind === 'note-introduction'),
    [{ kind: 'note-introduction', runKey: run.key, settings }],
  );
  const introduced = reloaded(introduction.run);
  assert.deepEqual(introduced.settings.steps, steps);
  assert.equal(attemptOf(introduced, ADVANCE_SLOT).retried, 1);
  assert.equal(hasIntroducedItself(introduced), true);
  assert.deepEqual(submit(introduced, { introduction: true }, 20).writes, []);
  assert.deepEqual(exchangeEnded(introduced, attemptOf(failedOnce, ADVANCE_SLOT), 21).writes, [], 'the introduction is over');
  const failedTwice = timedOut(introduced, attemptOf(introduced, ADVANCE_SLOT), 2000);
  assert.equal(failedTwice.outcome?.status, 'failed', 'the run has one retry');
});

test('an endpoint that has planned steps without introducing itself is not asked to do so', () => {
  const run = reloaded(submit(started(false), { planned: [planned(1), planned(2)] }, 10).run);
  assert.deepEqual([run.journalLength, hasIntroducedItself(run)], [0, true]);
  assert.equal(hasIntroducedItself(started(false)), false);
  assert.equal(hasIntroducedItself(startedRun()), true, 'the native protocol needs no introduction');
});

test('an endpoint that responds without introducing itself is not a workflow', () => {
  const run = started(false);
  assert.equal(exchangeEnded(run, attemptOf(run, ADVANCE_SLOT), 10).outcome?.status, 'failed');
});

/** Returns a run with a group of which one step is recorded, one failed permanently, and the others are open. */
function failedInGroup() {
  let { run } = submit(started(), { planned: [planned(1), planned(2), planned(3, 'Call'), nap(4)] }, 10);
  run = submit(run, { done: [done(1)] }, 20).run;
  run = submit(run, { planned: [call(3)] }, 25).run;
  run = timedOut(run, attemptOf(run, 2), 30).run;
  const decision = timedOut(run, attemptOf(run, 2), 1040);
  assert.ok(decision.deadLetter);
  return { run: { ...decision.run, status: 'failed' as const }, dlqId: decision.deadLetter.dlqId };
}

test('a resumed run continues with the open steps of a group, and keeps its recorded ones', () => {
  const { run, dlqId } = failedInGroup();
  const made = recoverRun(run, { kind: 'resume', dlqId, overrides: {}, workflowRunId: null }, at(5000));
  assert.ok(made !== 'no-flow-control-key');
  let resumed = made.run;
  assert.deepEqual(open(resumed), { 2: 'step', 3: 'call', 4: 'sleep' });
  assert.deepEqual(resumed.settings.steps, { joined: true, introduced: true });
  assert.deepEqual(submit(resumed, { done: [done(1)] }, 5001).writes, [], 'a submission for the failed run');
  resumed = submit(resumed, { done: [done(2)] }, 5010).run;
  resumed = decide(resumed, { kind: 'due', slot: 4 }, at(6000)).run;
  assert.deepEqual(open(resumed), { 3: 'call' });
  const response = { status: 200, headers: {}, body: { encoding: 'utf8', data: '' } as const };
  const last = decide(
    resumed,
    { kind: 'call-attempted', attempt: attemptOf(resumed, 3), response: response, failure: null },
    at(6010),
  );
  assert.deepEqual(open(last.run), { 0: 'advance' });
});

test('a restarted run starts from the beginning, with an introduction if required', () => {
  const { run, dlqId } = failedInGroup();
  const unknown: Run = { ...run, settings: { ...run.settings, steps: { joined: true, introduced: false } } };
  const made = recoverRun(unknown, { kind: 'restart', dlqId, overrides: {}, workflowRunId: null }, at(5000));
  assert.ok(made !== 'no-flow-control-key');
  assert.deepEqual(open(made.run), { 0: 'advance' });
  assert.equal(made.run.settings.steps?.introduced, false);
  assert.deepEqual(recorded(submit(made.run, { done: [done(1)] }, 5010)), [1], 'steps of an endpoint that needs no introduction');
});

test('a single step that the server executes needs no separate delivery', () => {
  for (const step of [nap(1), call(1), wait(1)]) {
    const { run } = submit(started(), { planned: [step] }, 10);
    assert.equal(run.tasks.has(ADVANCE_SLOT), false);
    assert.equal(run.tasks.size, 1);
  }
});

test('a submission based on a state that a crash lost is applied to the remaining state', () => {
  const before = submit(started(), { done: [done(1)] }, 10).run;
  // The submission of step 2 was not durable, so the endpoint sends it again, and the delivery is repeated.
  const lost = submit(before, { done: [done(2)] }, 20).run;
  assert.equal(lost.journalLength, 2);
  const again = submit(before, { done: [done(2)] }, 30);
  assert.deepEqual(recorded(again), [2]);
  const redelivered = attemptOf(before, ADVANCE_SLOT);
  assert.deepEqual(submit(again.run, { done: [done(2)] }, 40).writes, []);
  assert.deepEqual(exchangeEnded(again.run, redelivered, 50).writes, []);
});
