import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { PlannedStep, ProgressReply, StepResult } from '@everstep/sdk/protocol';
import { LIMITS } from '../../config/limits.js';
import { at, attemptOf, ENVELOPE, SETTINGS as FEW, progress, startedRun as startWith, T0 } from '../engine.fixture.js';
import { decide, type RunEvent } from './decide.js';
import type { Decision } from './decision.js';
import { ADVANCE_SLOT, type DeliveryFailure, type Run, type RunSettings } from './run.js';
import { recoverRun } from './start.js';

const SETTINGS: RunSettings = { ...FEW, maxRetries: 2, retryDelay: '1000 * (retried + 1)', labels: ['a'] };

const startedRun = (settings: Partial<RunSettings> = {}, notBefore: number | null = null): Run =>
  startWith({ ...SETTINGS, ...settings }, { notBefore });

const runStep = (stepId: number): PlannedStep => ({ stepId, name: `s${stepId}`, type: 'Run' });
const done = (stepId: number, out?: string): StepResult => ({
  stepId,
  name: `s${stepId}`,
  type: 'Run',
  ...(out === undefined ? {} : { out }),
});

const SENT = { durationMs: 1, method: 'POST', url: 'http://app/flow', headers: [], bodyBytes: 0, body: null, responseBytes: 0 };

function decideOnReply(run: Run, slot: number, reply: Partial<ProgressReply>, ms = 1, sentAt?: number): Decision {
  const envelope = sentAt === undefined ? ENVELOPE : { ...ENVELOPE, sent: { ...SENT, startedAt: sentAt } };
  return decide(run, { kind: 'replied', attempt: attemptOf(run, slot), envelope, reply: progress(run, reply) }, at(ms));
}

function failed(run: Run, slot: number, failure: Partial<DeliveryFailure>, ms = 1): Decision {
  const full: DeliveryFailure = {
    cause: 'http',
    message: 'HTTP 500',
    ...ENVELOPE,
    status: 500,
    retry: { kind: 'backoff' },
    ...failure,
  };
  return decide(run, { kind: 'attempt-failed', attempt: attemptOf(run, slot), failure: full }, at(ms));
}

const recorded = (decision: Decision): number[] =>
  decision.writes.flatMap((write) => (write.kind === 'record-step' ? [write.step.stepId] : []));
/** Returns when each recorded step started. */
const startTimes = (decision: Decision) =>
  decision.writes.flatMap((write) => (write.kind === 'record-step' ? [write.step.startedAt] : []));
const slots = (run: Run): number[] => [...run.tasks.keys()].sort((a, b) => a - b);

describe('a sequential run', () => {
  test('records a step and plans the next one after one request', () => {
    const decision = decideOnReply(startedRun(), ADVANCE_SLOT, { done: [done(1, '{"i":0}')], planned: [runStep(2)] });
    assert.deepEqual(recorded(decision), [1]);
    assert.deepEqual(slots(decision.run), [2]);
    assert.equal(decision.run.journalLength, 1);
    assert.equal(decision.run.nextStepId, 3);
    assert.equal(decision.run.replayedLength, 1);
  });

  test('a step starts when the endpoint is called, not while the run waits', () => {
    const run = startedRun({}, T0 + 60_000);
    assert.deepEqual(startTimes(decideOnReply(run, ADVANCE_SLOT, { done: [done(1)] }, 60_050, T0 + 60_010)), [T0 + 60_010]);
    assert.deepEqual(startTimes(decideOnReply(run, ADVANCE_SLOT, { done: [done(1)] }, 60_050)), [undefined]);
    // The clock of another node may differ.
    assert.deepEqual(startTimes(decideOnReply(run, ADVANCE_SLOT, { done: [done(1)] }, 60_050, T0 + 90_000)), [T0 + 60_050]);
    assert.deepEqual(startTimes(decideOnReply(run, ADVANCE_SLOT, { done: [done(1)] }, 60_050, T0 - 5)), [T0]);
  });

  test('records the last step and the end in one decision', () => {
    const first = decideOnReply(startedRun(), ADVANCE_SLOT, { done: [done(1)], planned: [runStep(2)] }).run;
    const decision = decideOnReply(first, 2, { done: [done(2)], end: { kind: 'finished', result: '{"ok":true}' } });
    assert.deepEqual(decision.outcome, { status: 'succeeded', result: '{"ok":true}' });
    assert.deepEqual(slots(decision.run), []);
    assert.equal(decision.deadLetter, null);
  });

  test('a workflow that returns without any step succeeds', () => {
    assert.equal(decideOnReply(startedRun(), ADVANCE_SLOT, { end: { kind: 'finished' } }).outcome?.status, 'succeeded');
  });

  test('a workflow that cancels itself is canceled, and not in the DLQ', () => {
    const decision = decideOnReply(startedRun(), ADVANCE_SLOT, { end: { kind: 'canceled' } });
    assert.equal(decision.outcome?.status, 'canceled');
    assert.equal(decision.deadLetter, null);
  });

  test('fails the run instead of hanging if a reply neither ends it nor waits for anything', () => {
    const decision = decideOnReply(startedRun(), ADVANCE_SLOT, {});
    assert.equal(decision.outcome?.status, 'failed');
    assert.match(decision.deadLetter?.error ?? '', /neither finished nor waiting/);
  });

  test('a run with a not-before time is due at that time', () => {
    assert.equal(startedRun({}, T0 + 5000).tasks.get(ADVANCE_SLOT)?.dueAt, T0 + 5000);
  });
});

describe('sleeps', () => {
  const asleep = () =>
    decideOnReply(startedRun(), ADVANCE_SLOT, { planned: [{ stepId: 1, name: 'nap', type: 'SleepFor', sleepMs: 500 }] }).run;

  test('a sleep is due after its duration and not before', () => {
    const run = asleep();
    assert.equal(run.tasks.get(1)?.dueAt, T0 + 501);
    assert.deepEqual(decide(run, { kind: 'due', slot: 1 }, at(500)).writes, []);
    const woken = decide(run, { kind: 'due', slot: 1 }, at(501));
    assert.deepEqual(recorded(woken), [1]);
    assert.deepEqual(slots(woken.run), [ADVANCE_SLOT], 'its code is called again');
  });

  test('a time in the past is due immediately', () => {
    const run = decideOnReply(
      startedRun(),
      ADVANCE_SLOT,
      { planned: [{ stepId: 1, name: 'x', type: 'SleepUntil', wakeAt: 5 }] },
      7,
    ).run;
    assert.equal(run.tasks.get(1)?.dueAt, T0 + 7);
  });
});

describe('parallel steps', () => {
  const fan = (count: number): Run =>
    decideOnReply(startedRun(), ADVANCE_SLOT, { planned: Array.from({ length: count }, (_, i) => runStep(i + 1)) }).run;

  test('each step gets its own task in one group', () => {
    const run = fan(3);
    assert.deepEqual(slots(run), [1, 2, 3]);
    for (const task of run.tasks.values()) assert.ok(task.kind === 'step' && task.group === 1 && task.concurrent === 3);
  });

  test('a finished step delays the advance while others are in flight, and makes it due immediately otherwise', () => {
    const first = decideOnReply(fan(2), 1, { done: [done(1)], advanced: false }, 10).run;
    assert.equal(first.tasks.get(ADVANCE_SLOT)?.dueAt, T0 + 10 + LIMITS.advanceCoalesceMs);
    const second = decideOnReply(first, 2, { base: 0, done: [done(2)], advanced: false }, 12).run;
    assert.equal(second.tasks.get(ADVANCE_SLOT)?.dueAt, T0 + 12);
    assert.equal(second.journalLength, 2);
  });

  test('ignores what the code did after its own result if another entry was recorded first', () => {
    const first = decideOnReply(fan(2), 1, { done: [done(1)], advanced: false }).run;
    const decision = decideOnReply(first, 2, {
      base: 0,
      done: [done(2)],
      advanced: true,
      planned: [runStep(3)],
      end: { kind: 'finished' },
    });
    assert.equal(decision.outcome, null);
    assert.deepEqual(slots(decision.run), [ADVANCE_SLOT]);
    assert.equal(decision.run.nextStepId, 3);
  });

  test('steps planned on an earlier prefix stay planned', () => {
    const first = decideOnReply(fan(3), 1, { done: [done(1)], advanced: false }).run;
    const moved = decideOnReply(first, 2, { done: [done(2)], advanced: false, planned: [runStep(4)] }).run;
    const again = decideOnReply(moved, ADVANCE_SLOT, { base: 1, planned: [runStep(4)] });
    assert.deepEqual(slots(again.run), [ADVANCE_SLOT, 3, 4]);
    assert.equal(again.outcome, null);
  });

  test('the code can end while steps are in flight (a race)', () => {
    const first = decideOnReply(fan(2), 1, { done: [done(1)], advanced: false }).run;
    const decision = decideOnReply(first, ADVANCE_SLOT, { end: { kind: 'finished' } });
    assert.equal(decision.outcome?.status, 'succeeded');
    assert.deepEqual(slots(decision.run), []);
  });

  test('ignores a step that is reported again', () => {
    const first = decideOnReply(fan(2), 1, { done: [done(1, '1')], advanced: false }).run;
    const again = decideOnReply(first, 2, { done: [done(1, '9'), done(2)], advanced: false });
    assert.deepEqual(recorded(again), [2]);
  });
});

describe('failures', () => {
  test('repeats an attempt after its delay until the retries are used up, then adds a dead letter', () => {
    const first = failed(startedRun(), ADVANCE_SLOT, {}).run;
    assert.equal(first.tasks.get(ADVANCE_SLOT)?.dueAt, T0 + 1 + 1000);
    const second = failed(first, ADVANCE_SLOT, {}).run;
    assert.equal(second.tasks.get(ADVANCE_SLOT)?.dueAt, T0 + 1 + 2000);
    const last = failed(second, ADVANCE_SLOT, { message: 'HTTP 503' });
    assert.equal(last.outcome?.status, 'failed');
    assert.match(last.deadLetter?.error ?? '', /failed after 3 attempts: HTTP 503/);
    assert.deepEqual(
      last.writes.map((write) => write.kind),
      ['record-attempt', 'put-task', 'park-tasks', 'end-run', 'add-dead-letter', 'count-insights'],
      'the end and the entry are one unit',
    );
  });

  test('Retry-After replaces the delay', () => {
    const run = failed(startedRun(), ADVANCE_SLOT, { retry: { kind: 'after', delayMs: 7000 } }).run;
    assert.equal(run.tasks.get(ADVANCE_SLOT)?.dueAt, T0 + 1 + 7000);
  });

  test('fails immediately if a retry cannot help', () => {
    assert.equal(failed(startedRun(), ADVANCE_SLOT, { retry: { kind: 'never' } }).outcome?.status, 'failed');
  });

  test('a step that fails when it is found has its own retries and its own name', () => {
    const run = startedRun();
    const task = run.tasks.get(ADVANCE_SLOT);
    assert.ok(task?.kind === 'advance');
    const decision = decide(
      run,
      {
        kind: 'replied',
        attempt: { slot: ADVANCE_SLOT, messageId: task.messageId, retried: 0 },
        envelope: { ...ENVELOPE, status: 500 },
        reply: {
          protocol: 1,
          kind: 'failed',
          base: 0,
          done: [],
          step: { stepId: 1, name: 's1', type: 'Run' },
          error: { name: 'Error', message: 'no' },
          retry: { kind: 'backoff' },
        },
      },
      at(1),
    );
    const own = decision.run.tasks.get(1);
    assert.ok(own?.kind === 'step' && own.name === 's1' && own.retried === 1);
    assert.deepEqual(slots(decision.run), [1]);
  });

  test('keeps a step when the code after it fails', () => {
    const one = decideOnReply(startedRun(), ADVANCE_SLOT, { done: [done(1)], planned: [runStep(2)] }).run;
    const task = one.tasks.get(2);
    assert.ok(task?.kind === 'step');
    const decision = decide(
      one,
      {
        kind: 'replied',
        attempt: { slot: 2, messageId: task.messageId, retried: 0 },
        envelope: { ...ENVELOPE, status: 500 },
        reply: {
          protocol: 1,
          kind: 'failed',
          base: 1,
          done: [done(2)],
          error: { name: 'TypeError', message: 'x is undefined' },
          retry: { kind: 'backoff' },
        },
      },
      at(1),
    );
    assert.deepEqual(recorded(decision), [2]);
    const advance = decision.run.tasks.get(ADVANCE_SLOT);
    assert.ok(advance?.kind === 'advance' && advance.retried === 1);
  });

  test('a response to any attempt except the current one has no effect', () => {
    const run = startedRun();
    const retried = failed(run, ADVANCE_SLOT, {}).run;
    const task = run.tasks.get(ADVANCE_SLOT);
    assert.ok(task?.kind === 'advance');
    const late: RunEvent = {
      kind: 'replied',
      attempt: { slot: ADVANCE_SLOT, messageId: task.messageId, retried: 0 },
      envelope: ENVELOPE,
      reply: { protocol: 1, kind: 'progress', base: 0, done: [], advanced: true, planned: [], end: { kind: 'finished' } },
    };
    assert.deepEqual(decide(retried, late, at(2)).writes, []);
  });

  for (const [what, reply] of [
    ['leaves a gap', { planned: [runStep(2)] }],
    ['reports an unknown step', { done: [done(7)] }],
  ] as const) {
    test(`a reply that ${what} violates the protocol and has no effect`, () => {
      const decision = decideOnReply(startedRun(), ADVANCE_SLOT, reply);
      assert.equal(decision.outcome?.status, 'failed');
      assert.match(decision.deadLetter?.error ?? '', /violated the step protocol/);
      assert.deepEqual(recorded(decision), []);
    });
  }

  test('a reply without the requested step violates the protocol', () => {
    const one = decideOnReply(startedRun(), ADVANCE_SLOT, { done: [done(1)], planned: [runStep(2)] }).run;
    assert.equal(decideOnReply(one, 2, {}).outcome?.status, 'failed');
  });
});

describe('cancel', () => {
  test('ends an active run, parks its open tasks and adds no dead letter', () => {
    const decision = decide(startedRun(), { kind: 'cancel' }, at(1));
    assert.equal(decision.outcome?.status, 'canceled');
    assert.equal(decision.deadLetter, null);
    assert.deepEqual(decide(decision.run, { kind: 'cancel' }, at(2)).writes, []);
  });
});

describe('resume and restart', () => {
  function deadRun(): Run {
    const planned: PlannedStep[] = [runStep(2), { stepId: 3, name: 'nap', type: 'SleepFor', sleepMs: 60_000 }];
    const run = decideOnReply(startedRun(), ADVANCE_SLOT, { done: [done(1, '"kept"')], planned }).run;
    return failed(run, 2, { retry: { kind: 'never' } }).run;
  }
  const request = { dlqId: 'dlq_1', overrides: {}, workflowRunId: null };

  test('a resume keeps recorded steps and the time of a pending sleep; the failed step starts over', () => {
    const result = recoverRun(deadRun(), { ...request, kind: 'resume' }, at(10));
    assert.ok(result !== 'no-flow-control-key');
    const { run, unit } = result;
    assert.equal(run.journalLength, 1);
    assert.equal(run.nextStepId, 4);
    const step = run.tasks.get(2);
    assert.ok(step?.kind === 'step' && step.retried === 0 && step.dueAt === T0 + 10);
    assert.equal(run.tasks.get(3)?.dueAt, T0 + 60_001);
    assert.ok(unit.writes.some((write) => write.kind === 'copy-journal'));
    assert.deepEqual(unit.guards, [{ kind: 'dead-letters-present', instanceId: 'qi_1', dlqIds: ['dlq_1'] }]);
  });

  test('a restart keeps only the configuration', () => {
    const result = recoverRun(deadRun(), { ...request, kind: 'restart' }, at(10));
    assert.ok(result !== 'no-flow-control-key');
    assert.equal(result.run.journalLength, 0);
    assert.deepEqual(slots(result.run), [ADVANCE_SLOT]);
    assert.deepEqual(result.run.settings, SETTINGS);
    assert.ok(!result.unit.writes.some((write) => write.kind === 'copy-journal'));
  });

  test('overrides replace the settings; limits without a key require a key', () => {
    const overrides = { maxRetries: 9, labels: ['b'], delayMs: 500, flowControlLimits: { parallelism: 2 } };
    const dead = deadRun();
    assert.equal(recoverRun(dead, { ...request, kind: 'resume', overrides }, at(0)), 'no-flow-control-key');
    const result = recoverRun(dead, { ...request, kind: 'resume', overrides: { ...overrides, flowControlKey: 'k' } }, at(0));
    assert.ok(result !== 'no-flow-control-key');
    assert.deepEqual(result.run.settings.flowControl, { key: 'k', parallelism: 2 });
    assert.equal(result.run.settings.maxRetries, 9);
    assert.equal(result.run.tasks.get(2)?.dueAt, T0 + 500);
  });

  test('resuming a run that failed without open tasks calls its code', () => {
    const stuck = decideOnReply(startedRun(), ADVANCE_SLOT, {}).run;
    const result = recoverRun(stuck, { ...request, kind: 'resume' }, at(5));
    assert.ok(result !== 'no-flow-control-key');
    assert.deepEqual(slots(result.run), [ADVANCE_SLOT]);
  });
});

describe('a fork that has kept some of a group of parallel steps', () => {
  const forked: Run = { ...startedRun(), nextStepId: 3, ahead: [4, 5], journalLength: 4 };

  test('plans the other steps at their positions, and new ones after all of them', () => {
    const { run } = decideOnReply(forked, ADVANCE_SLOT, { planned: [runStep(3), runStep(6)] });
    assert.deepEqual([slots(run), run.nextStepId, run.ahead], [[3, 6], 7, undefined]);
  });

  test('records the only missing step as the next one', () => {
    const decision = decideOnReply(forked, ADVANCE_SLOT, { done: [done(3)], planned: [runStep(6)] });
    assert.deepEqual([recorded(decision), slots(decision.run), decision.run.nextStepId], [[3], [6], 7]);
  });

  test('is resumed unchanged if its code failed before those steps were requested', () => {
    const { run, deadLetter } = failed(forked, ADVANCE_SLOT, { retry: { kind: 'never' } });
    assert.ok(deadLetter);
    const again = recoverRun(run, { kind: 'resume', dlqId: deadLetter.dlqId, overrides: {}, workflowRunId: null }, at(2));
    assert.ok(again !== 'no-flow-control-key');
    assert.deepEqual([again.run.nextStepId, again.run.ahead], [3, [4, 5]]);
  });

  test('rejects a plan for a recorded position', () => {
    assert.match(
      decideOnReply(forked, ADVANCE_SLOT, { planned: [runStep(3), runStep(4)] }).deadLetter?.error ?? '',
      /violated the step protocol/,
    );
  });
});
