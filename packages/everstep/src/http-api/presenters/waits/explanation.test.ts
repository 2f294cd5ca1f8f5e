import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Redaction } from '../../../engine/runs/run.js';
import type { RunRecord } from '../../../ports/stores/store.js';
import type { ExplainedTask, WaitReason } from '../../../runtime/services/workflow-service.js';
import { presentExplanation } from './explanation.js';

const T0 = Date.parse('2030-01-02T03:04:05.000Z');
const ISO = '2030-01-02T03:04:05.000Z';

function runOf(status: RunRecord['status'], redact?: Redaction): RunRecord {
  return {
    key: 'k',
    instanceId: 'qi_1',
    workflowRunId: 'r',
    createdAt: 1,
    dialect: 'native',
    workflowUrl: 'http://w.test/ok',
    callerIp: '127.0.0.1',
    origin: null,
    settings: {
      maxRetries: 3,
      retryDelay: null,
      deliveryTimeoutMs: 1_000,
      labels: [],
      flowControl: null,
      failureCallback: null,
      ...(redact ? { redact } : {}),
    },
    status,
    completedAt: null,
    result: null,
    error: null,
    dlqId: null,
    recoveredAs: null,
  };
}

const step = (...reasons: WaitReason[]): ExplainedTask => ({
  what: 'step',
  stepId: 1,
  stepName: 'pay',
  stepType: 'Call',
  reasons,
});
const hold = { origin: 'http://w.test', by: 'breaker', reason: '10 failures in a row', since: T0 } as const;

test('each reason is one sentence with its times and has its fields', () => {
  const table: readonly (readonly [reason: WaitReason, words: string])[] = [
    [{ kind: 'not-before', at: T0 }, `Scheduled to start at ${ISO}.`],
    [{ kind: 'sleeping', until: T0 }, `Sleeping until ${ISO}.`],
    [{ kind: 'waiting-for-event', eventIds: ['a', 'b'], until: T0 }, `Waiting for the event "a" or "b" until ${ISO}.`],
    [{ kind: 'waiting-for-run', workflowRunId: 'child', workflowCreatedAt: 7 }, 'Waiting for the invoked run "child" to end.'],
    [
      { kind: 'retry', retry: 2, maxRetries: 3, at: T0, error: 'the endpoint returned 500' },
      `Retry 2 of 3, due at ${ISO}. The previous attempt failed: the endpoint returned 500.`,
    ],
    [
      { kind: 'flow-control', key: 'k', place: 2, waiting: 9, because: 'rate', until: T0 },
      `Position 2 of 9 in the wait list of the flow control key "k": the key has reached its rate limit for this period; the next delivery can start at ${ISO}.`,
    ],
    [
      { kind: 'flow-control', key: 'k', place: 1, waiting: 1, because: 'paused', until: null },
      'Position 1 of 1 in the wait list of the flow control key "k": the key is paused until it is resumed.',
    ],
    [
      { kind: 'destination-held', hold, probeAt: T0 },
      `http://w.test has been held since ${ISO} because it fails repeatedly: 10 failures in a row. The next probe is sent at ${ISO}.`,
    ],
    [
      { kind: 'destination-held', hold: { ...hold, by: 'hand', reason: 'deploying.' }, probeAt: null },
      `http://w.test has been held manually since ${ISO}: deploying.`,
    ],
    [{ kind: 'queued' }, 'Due, waiting for a delivery slot.'],
    [
      { kind: 'queued', because: 'fair-share' },
      'Due, waiting for a delivery slot: the account has used its fair share of slots.',
    ],
    [{ kind: 'in-flight', url: 'http://c.test/' }, 'The request to http://c.test/ is in flight.'],
  ];
  for (const [reason, words] of table) {
    const { tasks, summary } = presentExplanation({ run: runOf('active'), tasks: [step(reason)] });
    const [shown] = tasks[0]?.reasons ?? [];
    assert.equal(shown?.message, words);
    assert.equal(shown?.kind, reason.kind);
    assert.equal(summary, `Pending: step "pay". ${words}`);
  }
  const held = presentExplanation({ run: runOf('active'), tasks: [step({ kind: 'destination-held', hold, probeAt: T0 })] });
  const { message: _message, ...fields } = held.tasks[0]?.reasons[0] ?? { message: '' };
  assert.deepEqual(fields, {
    kind: 'destination-held',
    origin: 'http://w.test',
    heldBy: 'breaker',
    heldSince: T0,
    reason: '10 failures in a row',
    nextProbeAt: T0,
  });
});

test('the summary counts several tasks by reason and describes runs that have ended', () => {
  const many = [step({ kind: 'queued' }), step({ kind: 'queued' }), step({ kind: 'sleeping', until: T0 })];
  assert.equal(
    presentExplanation({ run: runOf('active'), tasks: many }).summary,
    '3 tasks are pending: 2 wait for a delivery slot, 1 sleeps.',
  );
  assert.equal(presentExplanation({ run: runOf('canceled'), tasks: [] }).summary, 'The run was canceled; nothing is pending.');
  const callback: ExplainedTask = { what: 'failure-callback', reasons: [{ kind: 'queued' }] };
  const failed = presentExplanation({ run: runOf('failed'), tasks: [callback] });
  assert.deepEqual([failed.workflowState, failed.tasks[0]?.stepId], ['RUN_FAILED', undefined]);
  assert.match(failed.summary, /^The run failed. Pending: failure callback\. Due/);
});

test('hides the URL of a call if the run redacts the data that it depends on', () => {
  const redact: Redaction = { body: true, headers: [], fields: [] };
  const call = step({ kind: 'in-flight', url: 'http://c.test/secret' });
  const { tasks } = presentExplanation({ run: runOf('active', redact), tasks: [call] });
  assert.ok(!JSON.stringify(tasks).includes('secret'));
});
