import assert from 'node:assert/strict';
import { test } from 'node:test';
import { at, command, T0 } from '../engine.fixture.js';
import { runKeyOfMessage } from '../ids.js';
import { decide, type RunEvent } from '../runs/decide.js';
import { ADVANCE_SLOT, type DeliveryFailure, type MessageSettings, type Run } from '../runs/run.js';
import { recoverRun, startRun } from '../runs/start.js';

const down: DeliveryFailure = {
  cause: 'http',
  message: 'the endpoint returned 500',
  status: 500,
  responseHeaders: {},
  responseBody: new Uint8Array(),
  retry: { kind: 'backoff' },
};

function startedRun(message: Partial<MessageSettings> = {}, notBefore: number | null = null) {
  const payload = { body: new Uint8Array([1]), contentType: null, forwardHeaders: {} };
  const settings = { labels: ['l'], message: { method: 'POST', ...message } };
  return startRun(command(settings, { dialect: 'upstash', workflowUrl: 'http://app/', payload, notBefore }), at(0));
}

function answered(run: Run, more: Partial<Extract<RunEvent, { kind: 'message-attempted' }>> = {}): RunEvent {
  const task = run.tasks.get(ADVANCE_SLOT);
  assert.ok(task?.kind === 'message');
  const attempt = { slot: ADVANCE_SLOT, messageId: task.messageId, retried: task.retried };
  return { kind: 'message-attempted', attempt, failure: null, notice: null, ...more };
}

test('a message is a run with one task, whose id contains its key; it counts once, and registers its queue', () => {
  const { run, unit } = startedRun({ queue: 'q', notBefore: 5 }, T0 + 9);
  assert.equal(runKeyOfMessage(run.workflowRunId), run.key);
  assert.deepEqual(
    [...run.tasks.values()].map(({ kind, messageId, dueAt }) => [kind, messageId, dueAt]),
    [['message', run.workflowRunId, T0 + 9]],
  );
  assert.equal(run.settings.message?.notBefore, T0 + 9, 'stores its earliest time');
  assert.deepEqual(
    unit.writes.map(({ kind }) => kind),
    ['create-run', 'put-task', 'count-messages', 'count-insights', 'count-of-day', 'register-queue'],
  );
});

test('a response is applied once; its callback is created in the same unit', () => {
  const callback = { url: 'http://app/called', headers: { 'x-a': 'b' }, delayMs: 50, timeoutMs: 7 };
  const { run } = startedRun({ callback, queue: 'q' });
  const event = answered(run, { notice: new Uint8Array([9]) });
  const decision = decide(run, event, at(1));
  assert.equal(decision.outcome?.status, 'succeeded');
  const [made, ...others] = decision.newRuns ?? [];
  assert.ok(made && others.length === 0);
  assert.deepEqual(
    [made.run.workflowUrl, made.payload.body, made.payload.forwardHeaders],
    [callback.url, new Uint8Array([9]), callback.headers],
  );
  assert.deepEqual(made.run.settings.message, { method: 'POST', callbackOf: run.workflowRunId, notBefore: T0 + 51 });
  assert.deepEqual([made.run.settings.deliveryTimeoutMs, made.run.settings.labels], [7, []]);
  assert.deepEqual(
    decision.writes.map(({ kind }) => kind),
    ['create-run', 'put-task', 'count-messages', 'count-insights', 'delete-tasks', 'end-run', 'count-insights'],
  );
  assert.deepEqual(decide(decision.run, event, at(2)).writes, []);
});

test('a response to a finished attempt has no effect', () => {
  const { run } = startedRun();
  const event = answered(run, { failure: down });
  const retried = decide(run, event, at(1));
  assert.equal(retried.run.tasks.get(ADVANCE_SLOT)?.dueAt, T0 + 1001);
  assert.deepEqual(decide(retried.run, event, at(2)).writes, []);
});

test('a failed message is restarted with its settings except its time; it cannot be resumed', () => {
  const { run } = startedRun({ queue: 'q', urlGroup: 'g', scheduleId: 's' }, T0 + 5);
  const first = decide(run, answered(run, { failure: down }), at(6)).run;
  const failed = decide(first, answered(first, { failure: down }), at(7));
  assert.match(failed.deadLetter?.error ?? '', /^the message failed after 2 attempts/);
  const request = { kind: 'resume', dlqId: 'dlq_1', overrides: {}, workflowRunId: 'mine' } as const;
  const again = recoverRun(failed.run, request, at(100));
  assert.ok(again !== 'no-flow-control-key');
  assert.equal(again.run.workflowRunId, `msg_${again.run.key}`);
  assert.equal(again.run.origin?.kind, 'restart');
  assert.deepEqual(again.run.settings.message, { method: 'POST', queue: 'q', urlGroup: 'g', scheduleId: 's' });
  const task = again.run.tasks.get(ADVANCE_SLOT);
  assert.deepEqual([task?.kind, task?.messageId, task?.dueAt], ['message', again.run.workflowRunId, T0 + 100]);
});
