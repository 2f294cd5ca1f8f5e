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
import type { BatchRun } from './known-run.js';
import { READS_AFTER_CONFLICT, RunVersions } from './run-versions.js';

const run = sampleRun(1);
const runKey = run.key;
const known = (overrides: Partial<BatchRun> = {}): BatchRun => ({
  ...{ instanceId: INSTANCE, runKey, isActive: true, workflowRunId: run.workflowRunId, version: 7, queue: null },
  ...{ mayHaveWaiters: false, isNew: true, ...overrides },
});
const decision: StoreGuard = { kind: 'run-active', runKey, version: 7, next: 8 };
const step: StoreWrite = { kind: 'record-step', runKey, step: sampleStep(0) };
const decided = (...writes: readonly StoreWrite[]): CommitUnit => unit(writes, [decision]);

function knowing(...runs: readonly BatchRun[]): RunVersions {
  const versions = new RunVersions();
  versions.remember(runs);
  return versions;
}

describe('expected versions of runs', () => {
  test('the expected run is as the last commit left it, and is not new', () => {
    const found = knowing(known({ mayHaveWaiters: true, queue: 'q' })).expectedRunsOf([decided(step)]);
    const expected = { run: known({ mayHaveWaiters: true, queue: 'q', isNew: false }), version: 8 };
    assert.deepEqual([...(found ?? [])], [[runKey, expected]]);
  });

  test('the version after the batch is that of the last unit, if each unit is based on the previous one', () => {
    const upon = (version: number, next: number) => unit([step], [{ ...decision, version, next }]);
    assert.equal(
      knowing(known())
        .expectedRunsOf([upon(7, 8), upon(8, 31)])
        ?.get(runKey)?.version,
      31,
    );
    assert.equal(knowing(known()).expectedRunsOf([upon(7, 8), upon(7, 9)]), null);
  });

  test('changes to an expected run do not change the remembered version', () => {
    const versions = knowing(known());
    const expected = versions.expectedRunsOf([decided(step)])?.get(runKey);
    assert.ok(expected);
    expected.run.version = 99;
    assert.equal(versions.expectedRunsOf([decided(step)])?.get(runKey)?.run.version, 7);
  });

  test('a batch expects no version of a run that it creates', () => {
    const free: StoreGuard = { kind: 'run-id-free', instanceId: INSTANCE, workflowRunId: run.workflowRunId };
    const created = unit([creation(run), ...putTasks(runKey, [advanceTask(T0)])], [free]);
    assert.deepEqual(new RunVersions().expectedRunsOf([created, unit([step], [{ ...decision, version: 0 }])]), new Map());
  });

  const other = sampleRun(2).key;
  const inQueue = sampleRun(3, { settings: { message: { queue: 'q' } } as object });
  const waitsForRun = putTasks(runKey, [invokeTask(1, null, other)]);
  const mustRead: Readonly<Record<string, CommitUnit>> = {
    'an unknown run': unit([step], [{ ...decision, runKey: other }]),
    'a run at another version': unit([step], [{ ...decision, version: 6 }]),
    'a guard without a version': unit([step], [{ kind: 'run-active', runKey }]),
    'a guard without a next version': unit([], [{ kind: 'run-active', runKey, version: 7 }]),
    'a run without a guard': unit([step]),
    'a write to another run': decided({ ...step, runKey: other }),
    'a task of an ended run': unit([], [{ kind: 'task-open', runKey, slot: 1, messageId: 'm' }]),
    'a run that must not be removed': unit([], [{ kind: 'run-present', runKey }]),
    'a deduplication id': unit([], [{ kind: 'not-duplicate', instanceId: INSTANCE, deduplicationId: 'd', now: T0 }]),
    'a dead letter': decided({
      kind: 'set-failure-function-state',
      ...{ instanceId: INSTANCE, dlqId: 'dlq_1', state: null },
    }),
    'an invoked run that a task waits for': decided(...waitsForRun),
    'the invoker of a run': decided({ kind: 'wake-invoker', childRunKey: runKey, at: T0 }),
    'the input of another run': unit([creation(sampleRun(4), { copyOf: other })]),
    'a copied journal': decided({ kind: 'copy-journal', fromRunKey: other, toRunKey: runKey }),
    'the position of a message in its queue': unit([creation(inQueue)]),
    'a queue': unit([{ kind: 'register-queue', instanceId: INSTANCE, name: 'q', at: T0 }]),
  };
  for (const [what, reading] of Object.entries(mustRead)) {
    test(`a batch must read ${what}`, () => {
      assert.equal(knowing(known()).expectedRunsOf([reading]), null);
    });
  }

  test('a decision can write everything about its run without reading', () => {
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
    assert.equal(knowing(known()).expectedRunsOf([decided(...writes)])?.size, 1);
  });

  test('an ended run is forgotten', () => {
    const versions = knowing(known());
    versions.remember([known({ isActive: false })]);
    assert.equal(versions.expectedRunsOf([decided(step)]), null);
  });

  test('the batches after a version conflict read', () => {
    const versions = knowing(known());
    versions.recordConflict();
    for (let n = 0; n < READS_AFTER_CONFLICT; n++) assert.equal(versions.expectedRunsOf([decided(step)]), null);
    assert.equal(versions.expectedRunsOf([decided(step)])?.size, 1);
  });

  test('runs without decisions are forgotten when there are decisions on many others', () => {
    const versions = new RunVersions(3);
    versions.remember([known()]);
    for (let n = 10; n < 20; n++) versions.remember([known({ runKey: sampleRun(n).key })]);
    assert.equal(versions.expectedRunsOf([decided(step)]), null);
    assert.equal(versions.expectedRunsOf([unit([], [{ ...decision, runKey: sampleRun(19).key }])])?.size, 1);
  });
});
