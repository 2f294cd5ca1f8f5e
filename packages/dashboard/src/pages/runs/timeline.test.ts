import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { RunJournal } from '../../../../everstep/src/contract/runs.js';
import { type TimelineRow, timelineOf } from './timeline.js';

const run = (more: Partial<RunJournal>): RunJournal => ({
  workflowRunId: 'wfr_1',
  workflowUrl: 'http://w.test/order',
  workflowState: 'RUN_STARTED',
  workflowRunCreatedAt: 0,
  workflowCreatedAt: 0,
  callerIP: '::1',
  labels: [],
  maxRetries: 3,
  timeoutMs: 60_000,
  steps: [],
  tasks: [],
  attempts: [],
  ...more,
});
type Step = RunJournal['steps'][number];
const step = (stepId: number, more: Partial<Step> = {}): Step => ({
  stepId,
  stepName: `step-${stepId}`,
  stepType: 'Run',
  messageId: `msg_${stepId}`,
  group: stepId,
  concurrent: 1,
  createdAt: stepId * 10,
  completedAt: stepId * 10 + 5,
  ...more,
});
type FailedAttempt = RunJournal['attempts'][number];
const failed = (messageId: string, retried: number, time: number, more: Partial<FailedAttempt> = {}): FailedAttempt => ({
  messageId,
  retried,
  time,
  cause: 'step',
  error: 'no',
  ...more,
});
const shape = (row: TimelineRow | undefined) => row?.segments.map(({ kind, from, to }) => [kind, from, to]);

describe('the timeline of a run', () => {
  test('steps kept from an earlier run have no duration', () => {
    const [kept, edited, own] = timelineOf(
      run({ workflowCreatedAt: 25, steps: [step(1), step(2, { completedAt: 26, edited: true }), step(3)] }),
    );
    assert.deepEqual([kept?.isKept, kept?.segments, kept?.from, kept?.to], [true, [], 25, 25]);
    assert.deepEqual([edited?.isKept, edited?.isEdited, edited?.from, edited?.to], [true, true, 25, 25]);
    assert.deepEqual([own?.isKept, shape(own)], [false, [['work', 30, 35]]]);
  });

  test('steps are ordered by start time, and groups stay together', () => {
    const rows = timelineOf(
      run({
        steps: [
          step(1),
          step(3, { group: 2, concurrent: 2, createdAt: 20, completedAt: 22 }),
          step(4),
          step(2, { group: 2, concurrent: 2, completedAt: 60 }),
        ],
      }),
    );
    assert.deepEqual(
      rows.map(({ stepId, groupPosition }) => [stepId, groupPosition]),
      [
        [1, 'single'],
        [2, 'first'],
        [3, 'last'],
        [4, 'single'],
      ],
    );
  });

  test('time before the start of a step counts as queued', () => {
    const [row] = timelineOf(run({ steps: [step(1, { createdAt: 0, startedAt: 3_010, completedAt: 3_050 })] }));
    assert.deepEqual(shape(row), [
      ['queued', 0, 3_010],
      ['work', 3_010, 3_050],
    ]);
  });

  test('a failed attempt is followed by the backoff', () => {
    const [row] = timelineOf(
      run({
        steps: [step(1, { completedAt: 200 })],
        attempts: [failed('msg_1', 0, 30, { stepId: 1, retryAt: 100 })],
      }),
    );
    assert.deepEqual(shape(row), [
      ['failed', 10, 30],
      ['backoff', 30, 100],
      ['work', 100, 200],
    ]);
    assert.equal(row?.failedAttempts, 1);
  });

  test('a recorded start time separates queued time from a failed attempt', () => {
    const [row] = timelineOf(
      run({
        workflowState: 'RUN_FAILED',
        workflowRunCompletedAt: 30,
        tasks: [{ kind: 'step', stepId: 1, stepName: 'step-1', stepType: 'Run', messageId: 'msg_1', createdAt: 10 }],
        attempts: [failed('msg_1', 0, 30, { stepId: 1, startedAt: 25 })],
      }),
    );
    assert.deepEqual(shape(row), [
      ['queued', 10, 25],
      ['failed', 25, 30],
    ]);
    assert.equal(row?.state, 'failed');
  });

  test('open steps have no end, and retried steps have the state retrying', () => {
    const rows = timelineOf(
      run({
        tasks: [
          { kind: 'wait', stepId: 1, stepName: 'wait', stepType: 'Wait', messageId: 'msg_1', createdAt: 5 },
          { kind: 'step', stepId: 2, stepName: 'flaky', stepType: 'Run', messageId: 'msg_2', createdAt: 6 },
          { kind: 'advance', messageId: 'msg_3', createdAt: 7 },
        ],
        attempts: [failed('msg_2', 0, 8, { stepId: 2, retryAt: 900 })],
      }),
    );
    assert.deepEqual(
      rows.map(({ name, state }) => [name, state]),
      [
        ['wait', 'open'],
        ['flaky', 'retrying'],
      ],
    );
    assert.deepEqual(shape(rows[0]), [['wait', 5, null]]);
    assert.deepEqual(shape(rows[1])?.slice(0, 2), [
      ['failed', 6, 8],
      ['backoff', 8, 900],
    ]);
  });

  test('steps that were open when the run failed are canceled', () => {
    const rows = timelineOf(
      run({
        workflowState: 'RUN_FAILED',
        workflowRunCompletedAt: 40,
        tasks: [
          { kind: 'step', stepId: 1, stepName: 'a', stepType: 'Run', messageId: 'msg_1', createdAt: 10 },
          { kind: 'step', stepId: 2, stepName: 'b', stepType: 'Run', messageId: 'msg_2', createdAt: 10 },
        ],
        attempts: [failed('msg_1', 0, 40, { stepId: 1 })],
      }),
    );
    assert.deepEqual(
      rows.map(({ state, groupPosition }) => [state, groupPosition]),
      [
        ['failed', 'first'],
        ['canceled', 'last'],
      ],
    );
    assert.deepEqual(shape(rows[1]), [['queued', 10, 40]]);
  });

  test('a failure of the workflow code has its own row', () => {
    const rows = timelineOf(
      run({
        workflowState: 'RUN_FAILED',
        workflowRunCompletedAt: 30,
        steps: [step(1)],
        attempts: [failed('msg_9', 0, 30, { cause: 'workflow' })],
      }),
    );
    assert.deepEqual(
      rows.map(({ name, state }) => [name, state]),
      [
        ['step-1', 'done'],
        ['Workflow code', 'failed'],
      ],
    );
  });
});
