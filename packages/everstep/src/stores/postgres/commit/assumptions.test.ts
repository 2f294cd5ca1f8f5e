import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { CommitUnit, StoreGuard, StoreWrite } from '../../../ports/stores/store.js';
import {
  advanceTask,
  creation,
  INSTANCE,
  invokeTask,
  putTasks,
  sampleDeadLetter,
  sampleRun,
  sampleStep,
  T0,
  unit,
  waitTask,
} from '../../conformance/samples.js';
import { Assumptions, READING_AFTER_MISTAKE } from './assumptions.js';
import type { KnownRun } from './batch-state.js';

const run = sampleRun(1);
const runKey = run.key;
const known = (overrides: Partial<KnownRun> = {}): KnownRun => ({
  ...{ instanceId: INSTANCE, runKey, active: true, workflowRunId: run.workflowRunId, version: 7, queue: null },
  ...{ waits: false, begun: true, ...overrides },
});
const decision: StoreGuard = { kind: 'run-active', runKey, version: 7, next: 8 };
const step: StoreWrite = { kind: 'record-step', runKey, step: sampleStep(0) };
const decided = (...writes: readonly StoreWrite[]): CommitUnit => unit(writes, [decision]);

function knowing(...runs: readonly KnownRun[]): Assumptions {
  const assumptions = new Assumptions();
  assumptions.learn(runs);
  return assumptions;
}

describe('what a batch takes for granted', () => {
  test('is the run as it was committed last, of whose making nothing is left to be done', () => {
    const assumed = knowing(known({ waits: true, queue: 'q' })).of([decided(step)]);
    const expected = { run: known({ waits: true, queue: 'q', begun: false }), version: 8 };
    assert.deepEqual([...(assumed ?? [])], [[runKey, expected]]);
  });

  test('goes on to the version that the last unit makes, where each was decided upon the one before', () => {
    const upon = (version: number, next: number) => unit([step], [{ ...decision, version, next }]);
    assert.equal(
      knowing(known())
        .of([upon(7, 8), upon(8, 31)])
        ?.get(runKey)?.version,
      31,
    );
    assert.equal(knowing(known()).of([upon(7, 8), upon(7, 9)]), null);
  });

  test('is kept apart from what the batch makes of it', () => {
    const assumptions = knowing(known());
    const assumed = assumptions.of([decided(step)])?.get(runKey);
    assert.ok(assumed);
    assumed.run.version = 99;
    assert.equal(assumptions.of([decided(step)])?.get(runKey)?.run.version, 7);
  });

  test('is nothing for runs that it begins itself', () => {
    const free: StoreGuard = { kind: 'run-id-free', instanceId: INSTANCE, workflowRunId: run.workflowRunId };
    const begun = unit([creation(run), ...putTasks(runKey, [advanceTask(T0)])], [free]);
    assert.deepEqual(new Assumptions().of([begun, unit([step], [{ ...decision, version: 0 }])]), new Map());
  });

  const other = sampleRun(2).key;
  const inQueue = sampleRun(3, { settings: { message: { queue: 'q' } } as object });
  const waitsForRun = putTasks(runKey, [invokeTask(1, null, other)]);
  const asked: Readonly<Record<string, CommitUnit>> = {
    'a run that nothing is known of': unit([step], [{ ...decision, runKey: other }]),
    'a run at another version': unit([step], [{ ...decision, version: 6 }]),
    'a run of which no version is named': unit([step], [{ kind: 'run-active', runKey }]),
    'a run that is only asked for': unit([], [{ kind: 'run-active', runKey, version: 7 }]),
    'a run that no guard names': unit([step]),
    'a write to another run': decided({ ...step, runKey: other }),
    'a task of a run that has ended': unit([], [{ kind: 'task-open', runKey, slot: 1, messageId: 'm' }]),
    'a run that must not be removed': unit([], [{ kind: 'run-present', runKey }]),
    'a deduplication id': unit([], [{ kind: 'not-duplicate', instanceId: INSTANCE, deduplicationId: 'd', now: T0 }]),
    'an entry of the dead letter queue': decided({
      kind: 'set-failure-function-state',
      ...{ instanceId: INSTANCE, dlqId: 'dlq_1', state: null },
    }),
    'another run, for whose end it waits': decided(...waitsForRun),
    'who waits for its end': decided({ kind: 'wake-invoker', childRunKey: runKey, at: T0 }),
    'the input of another run': unit([creation(sampleRun(4), { copyOf: other })]),
    'a journal that is copied': decided({ kind: 'copy-journal', fromRunKey: other, toRunKey: runKey }),
    'the place of a message in its queue': unit([creation(inQueue)]),
    'a queue': unit([{ kind: 'register-queue', instanceId: INSTANCE, name: 'q', at: T0 }]),
  };
  for (const [what, asking] of Object.entries(asked)) {
    test(`is nothing where there is this to be read: ${what}`, () => {
      assert.equal(knowing(known()).of([asking]), null);
    });
  }

  test('goes for all that a decision writes of its run', () => {
    const entry = sampleDeadLetter(run);
    const writes: readonly StoreWrite[] = [
      step,
      ...putTasks(runKey, [waitTask(1, T0, ['e'])]),
      { kind: 'delete-task', runKey, slot: 1 },
      { kind: 'count-messages', instanceId: INSTANCE, messages: 1, at: T0 },
      { kind: 'park-tasks', runKey },
      { kind: 'end-run', runKey, outcome: { status: 'failed', error: 'e' }, completedAt: T0 },
      { kind: 'add-dead-letter', entry, group: null },
    ];
    assert.equal(knowing(known()).of([decided(...writes)])?.size, 1);
  });

  test('is forgotten when the run has ended', () => {
    const assumptions = knowing(known());
    assumptions.learn([known({ active: false })]);
    assert.equal(assumptions.of([decided(step)]), null);
  });

  test('is nothing for some batches after a mistake', () => {
    const assumptions = knowing(known());
    assumptions.mistaken();
    for (let n = 0; n < READING_AFTER_MISTAKE; n++) assert.equal(assumptions.of([decided(step)]), null);
    assert.equal(assumptions.of([decided(step)])?.size, 1);
  });

  test('is forgotten of runs that nothing is decided on while many others are', () => {
    const assumptions = new Assumptions(3);
    assumptions.learn([known()]);
    for (let n = 10; n < 20; n++) assumptions.learn([known({ runKey: sampleRun(n).key })]);
    assert.equal(assumptions.of([decided(step)]), null);
    assert.equal(assumptions.of([unit([], [{ ...decision, runKey: sampleRun(19).key }])])?.size, 1);
  });
});
