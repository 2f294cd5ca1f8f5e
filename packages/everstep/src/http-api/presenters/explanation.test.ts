import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Redaction } from '../../engine/run.js';
import type { RunRecord } from '../../ports/store.js';
import type { ExplainedTask, WaitReason } from '../../runtime/workflow-service.js';
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
    became: null,
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

test('every reason is one plain sentence with its times, and has its fields', () => {
  const table: readonly (readonly [reason: WaitReason, words: string])[] = [
    [{ kind: 'not-before', at: T0 }, `It is not to begin before ${ISO}.`],
    [{ kind: 'sleeping', until: T0 }, `It sleeps until ${ISO}.`],
    [
      { kind: 'waiting-for-event', eventIds: ['a', 'b'], until: T0 },
      `It waits for the event "a" or "b", until ${ISO} at the latest.`,
    ],
    [
      { kind: 'waiting-for-run', workflowRunId: 'child', workflowCreatedAt: 7 },
      'It waits for the end of the run "child", which it invoked.',
    ],
    [
      { kind: 'retry', retry: 2, maxRetries: 3, at: T0, error: 'the endpoint answered 500' },
      `Retry 2 of 3, due at ${ISO}. The attempt before failed: the endpoint answered 500.`,
    ],
    [
      { kind: 'flow-control', key: 'k', place: 2, waiting: 9, because: 'rate', until: T0 },
      `It is number 2 of 9 that wait for the flow control key "k", which has started as many in this window as it may; the next may go at ${ISO}.`,
    ],
    [
      { kind: 'flow-control', key: 'k', place: 1, waiting: 1, because: 'paused', until: null },
      'It is number 1 of 1 that wait for the flow control key "k", which is paused until somebody resumes it.',
    ],
    [
      { kind: 'destination-held', hold, probeAt: T0 },
      `http://w.test is held back because it keeps failing, since ${ISO}: 10 failures in a row. One delivery is let through at ${ISO} to see.`,
    ],
    [
      { kind: 'destination-held', hold: { ...hold, by: 'hand', reason: 'deploying.' }, probeAt: null },
      `http://w.test was held back by hand, since ${ISO}: deploying.`,
    ],
    [{ kind: 'queued' }, 'It is due and waits for a delivery slot.'],
    [
      { kind: 'queued', because: 'fair-share' },
      'It is due and waits for a delivery slot: the account has its fair share of them in flight.',
    ],
    [{ kind: 'in-flight', url: 'http://c.test/' }, 'The request to http://c.test/ is under way.'],
  ];
  for (const [reason, words] of table) {
    const { tasks, summary } = presentExplanation({ run: runOf('active'), tasks: [step(reason)] });
    const [shown] = tasks[0]?.reasons ?? [];
    assert.equal(shown?.message, words);
    assert.equal(shown?.kind, reason.kind);
    assert.equal(summary, `The step "pay" is open. ${words}`);
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

test('the summary of many is their number by kind, and that of an end says so', () => {
  const many = [step({ kind: 'queued' }), step({ kind: 'queued' }), step({ kind: 'sleeping', until: T0 })];
  assert.equal(
    presentExplanation({ run: runOf('active'), tasks: many }).summary,
    '3 things are open: 2 wait for a delivery slot, 1 sleeps.',
  );
  assert.equal(presentExplanation({ run: runOf('canceled'), tasks: [] }).summary, 'The run was canceled; nothing is owed.');
  const callback: ExplainedTask = { what: 'failure-callback', reasons: [{ kind: 'queued' }] };
  const failed = presentExplanation({ run: runOf('failed'), tasks: [callback] });
  assert.deepEqual([failed.workflowState, failed.tasks[0]?.stepId], ['RUN_FAILED', undefined]);
  assert.match(failed.summary, /^The run has failed, and its failure callback is owed\. It is due/);
});

test('where a call goes is hidden when what it was made of is', () => {
  const redact: Redaction = { body: true, headers: [], fields: [] };
  const call = step({ kind: 'in-flight', url: 'http://c.test/secret' });
  const { tasks } = presentExplanation({ run: runOf('active', redact), tasks: [call] });
  assert.ok(!JSON.stringify(tasks).includes('secret'));
});
