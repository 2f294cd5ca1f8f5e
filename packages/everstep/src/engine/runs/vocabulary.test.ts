/** Steps that the server executes (waits, notifications, calls, invocations, webhooks), and failure callbacks. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { EventContent, PlannedStep, ProgressReply } from '@everstep/sdk/protocol';
import { LIMITS } from '../../config/limits.js';
import { at, decideOnReply, NO_RESPONSE, progress, startedRun, T0 } from '../engine.fixture.js';
import { decideCallback, retryCallback } from '../messages/callback.js';
import type { StoreWrite } from '../writes.js';
import { decide, type RunEvent } from './decide.js';
import type { Decision } from './decision.js';
import type { SentRequest } from './exchanges.js';
import { ADVANCE_SLOT, CALLBACK_SLOT, type DeliveryFailure, type Run, type Task } from './run.js';
import { recoverRun } from './start.js';

const data = (text: string): Extract<EventContent, { kind: 'data' }> => ({
  kind: 'data',
  body: { encoding: 'utf8', data: text },
});
const down: DeliveryFailure = { ...NO_RESPONSE, cause: 'network', message: 'connection refused', retry: { kind: 'backoff' } };

const reply = (run: Run, more: Partial<ProgressReply>): Decision => decideOnReply(run, ADVANCE_SLOT, progress(run, more));

const planned = (...steps: PlannedStep[]): Run => reply(startedRun(), { planned: steps }).run;

function taskAt<Kind extends Task['kind']>(run: Run, slot: number, kind: Kind): Extract<Task, { kind: Kind }> {
  const task = run.tasks.get(slot);
  assert.equal(task?.kind, kind);
  return task as Extract<Task, { kind: Kind }>;
}

/** Returns the results recorded by a decision, by step. */
const recorded = (decision: Decision): Record<number, unknown> =>
  Object.fromEntries(
    decision.writes.flatMap((write) =>
      write.kind === 'record-step' ? [[write.step.stepId, JSON.parse(write.step.out ?? 'null')]] : [],
    ),
  );
const kinds = (writes: readonly StoreWrite[]): string[] => writes.map(({ kind }) => kind);
const wait = (stepId: number, eventIds: readonly string[], timeoutMs = 5000): PlannedStep => ({
  stepId,
  name: `w${stepId}`,
  type: 'Wait',
  eventIds,
  timeoutMs,
});

describe('waits', () => {
  test('the first of the events is the result, and adds an advance', () => {
    const run = planned(wait(1, ['paid', 'refused']));
    assert.equal(run.tasks.get(1)?.dueAt, T0 + 5001);
    const decision = decide(run, { kind: 'notified', slot: 1, eventId: 'refused', content: data('no') }, at(10));
    assert.deepEqual(recorded(decision), { 1: { timeout: false, eventId: 'refused', content: data('no') } });
    assert.equal(decision.run.tasks.get(ADVANCE_SLOT)?.dueAt, T0 + 10);
    assert.equal(decision.run.tasks.has(1), false);
  });

  test('either a notification or a timeout wins, never both', () => {
    const run = planned(wait(1, ['paid']));
    const notified: RunEvent = { kind: 'notified', slot: 1, eventId: 'paid', content: data('') };
    const late = decide(run, { kind: 'due', slot: 1 }, at(5001));
    assert.deepEqual(recorded(late), { 1: { timeout: true } });
    assert.deepEqual(decide(late.run, notified, at(5001)).writes, []);
    const early = decide(run, notified, at(5001));
    assert.deepEqual(decide(early.run, { kind: 'due', slot: 1 }, at(5001)).writes, []);
  });

  test('a wait does not end before its deadline', () => {
    assert.deepEqual(decide(planned(wait(1, ['paid'])), { kind: 'due', slot: 1 }, at(5000)).writes, []);
  });

  test('an unrelated event has no effect on a wait', () => {
    const run = planned(wait(1, ['paid']));
    assert.deepEqual(decide(run, { kind: 'notified', slot: 1, eventId: 'sent', content: data('') }, at(1)).writes, []);
  });

  test('an early event is stored, and the wait for it takes it in the decision that plans it', () => {
    const event = { eventKey: 'e1', eventId: 'paid', content: data('early'), receivedAt: T0 };
    const kept = decide(startedRun(), { kind: 'event-received', event }, at(1));
    assert.deepEqual(kinds(kept.writes), ['keep-event']);
    const decision = reply(kept.run, { planned: [wait(1, ['paid'])] });
    assert.deepEqual(recorded(decision), { 1: { timeout: false, eventId: 'paid', content: data('early') } });
    assert.ok(kinds(decision.writes).includes('drop-event'));
    assert.deepEqual(decision.run.keptEvents, []);
    assert.equal(decision.run.tasks.get(ADVANCE_SLOT)?.dueAt, T0 + 1);
  });

  test('an event for the run ends every wait for it, and is not stored', () => {
    const event = { eventKey: 'e1', eventId: 'paid', content: data('x'), receivedAt: T0 };
    const decision = decide(
      planned(wait(1, ['paid']), wait(2, ['paid']), wait(3, ['sent'])),
      { kind: 'event-received', event },
      at(2),
    );
    assert.deepEqual(Object.keys(recorded(decision)), ['1', '2']);
    assert.deepEqual(decision.run.keptEvents, []);
  });

  test('a run stores a limited number of events', () => {
    const event = { eventKey: 'e', eventId: 'paid', content: data('x'), receivedAt: T0 };
    const full: Run = { ...startedRun(), keptEvents: Array.from({ length: LIMITS.maxKeptEvents }, () => event) };
    assert.deepEqual(decide(full, { kind: 'event-received', event }, at(1)).writes, []);
  });

  test('a run stores a limited number of bytes of events', () => {
    const big = { eventKey: 'e', eventId: 'paid', content: data('x'.repeat(LIMITS.maxEventBytes)), receivedAt: T0 };
    const max = LIMITS.maxKeptEventBytes / LIMITS.maxEventBytes;
    const full: Run = { ...startedRun(), keptEvents: Array.from({ length: max }, () => big) };
    const event = { ...big, content: data('x') };
    assert.deepEqual(decide(full, { kind: 'event-received', event }, at(1)).writes, []);
    const room: Run = { ...full, keptEvents: full.keptEvents.slice(1) };
    assert.equal(decide(room, { kind: 'event-received', event: big }, at(1)).run.keptEvents.length, max);
  });

  test('the headers and the query of a webhook call count as bytes of its event', () => {
    const request = { kind: 'request', method: 'POST', query: '?a', headers: { 'x-a': ['b'] } } as const;
    const stored = (bodyLength: number) => ({
      ...{ eventKey: 'e', eventId: 'paid', receivedAt: T0 },
      content: { ...request, body: { encoding: 'utf8', data: 'x'.repeat(bodyLength) } } as const,
    });
    const bytesWithoutBody = 6;
    const room: Run = { ...startedRun(), keptEvents: [stored(LIMITS.maxKeptEventBytes - 3 * bytesWithoutBody)] };
    const full = decide(room, { kind: 'event-received', event: stored(bytesWithoutBody) }, at(1)).run;
    assert.equal(full.keptEvents.length, 2);
    assert.deepEqual(decide(full, { kind: 'event-received', event: stored(0) }, at(1)).writes, []);
    const waiting = reply({ ...full, keptEvents: [...full.keptEvents, stored(0)] }, { planned: [wait(1, ['expected'])] }).run;
    const expected = { ...stored(1), eventKey: 'expected', eventId: 'expected' };
    const received = decide(waiting, { kind: 'event-received', event: expected }, at(2));
    assert.deepEqual([received.run.journalLength, received.run.keptEvents.length], [1, 3], 'it ends a wait above the limit');
  });

  test('a resume keeps waits with their deadline, and stored events', () => {
    const event = { eventKey: 'e1', eventId: 'sent', content: data('x'), receivedAt: T0 };
    const waiting = planned(wait(1, ['paid']), { stepId: 2, name: 'r2', type: 'Run' });
    const kept = decide(waiting, { kind: 'event-received', event }, at(2)).run;
    const failed = failStep(kept, 2);
    assert.equal(failed.run.status, 'failed');
    assert.equal(failed.run.tasks.get(1)?.dueAt, null);
    const resumed = recoverRun(failed.run, { kind: 'resume', dlqId: 'dlq_1', overrides: {}, workflowRunId: null }, at(100));
    assert.ok(resumed !== 'no-flow-control-key');
    assert.equal(resumed.run.tasks.get(1)?.dueAt, T0 + 5001);
    assert.deepEqual(resumed.run.keptEvents, [event]);
    assert.ok(kinds(resumed.unit.writes).includes('keep-event'));
  });
});

/** Fails a run step until the run fails. */
function failStep(run: Run, slot: number): Decision {
  let decision: Decision | null = null;
  for (let state = run; state.status === 'active'; state = decision.run) {
    const task = taskAt(state, slot, 'step');
    const attempt = { slot, messageId: task.messageId, retried: task.retried };
    decision = decide(state, { kind: 'attempt-failed', attempt, failure: down }, at(50));
  }
  assert.ok(decision);
  return decision;
}

describe('calls', () => {
  const call = (more: object = {}): PlannedStep => ({
    stepId: 1,
    name: 'c1',
    type: 'Call',
    call: { url: 'https://api.example/x', method: 'GET', headers: {}, ...more },
  });
  const response = { status: 503, headers: { 'x-a': ['1', '2'] }, body: { encoding: 'utf8', data: 'busy' } } as const;
  const refusal: DeliveryFailure = {
    ...NO_RESPONSE,
    cause: 'http',
    message: 'the endpoint returned 503',
    status: 503,
    retry: { kind: 'backoff' },
  };
  const answered = (run: Run, event: Partial<Extract<RunEvent, { kind: 'call-attempted' }>>): Decision => {
    const task = taskAt(run, 1, 'call');
    const attempt = { slot: 1, messageId: task.messageId, retried: task.retried };
    return decide(run, { kind: 'call-attempted', attempt, response: null, failure: null, ...event }, at(10));
  };

  test('a success is the result, with status, headers and body', () => {
    const decision = answered(planned(call()), { response: { ...response, status: 200 } });
    assert.deepEqual(recorded(decision), { 1: { ...response, status: 200, attempts: 1 } });
  });

  test('stores the request of a call that succeeds immediately, but not if failed attempts have stored it', () => {
    const sent: SentRequest = {
      ...{ startedAt: T0 + 4, durationMs: 5, method: 'POST', url: 'http://third/', bodyBytes: 2, responseBytes: 0 },
      headers: ['Authorization', 'Bearer x', 'X-A', '1'],
      body: Buffer.from('{}'),
    };
    const kept = (decision: Decision) =>
      decision.writes.flatMap((write) => (write.kind === 'record-step' ? [write.step.sent] : []));
    const success = { response: { ...response, status: 200, sent } };
    const headers = { authorization: ['[NOT KEPT]'], 'x-a': ['1'] };
    const request = { method: 'POST', url: 'http://third/', headers, bodyBytes: 2, body: { encoding: 'utf8', data: '{}' } };
    assert.deepEqual(kept(answered(planned(call()), success)), [{ startedAt: T0 + 4, durationMs: 5, request }]);
    const startTimes = ({ writes }: Decision) =>
      writes.flatMap((write) => (write.kind === 'record-step' ? [write.step.startedAt] : []));
    assert.deepEqual(startTimes(answered(planned(call()), success)), [T0 + 4]);
    const failed = answered(planned(call({ retries: 1 })), { response: { ...response, sent }, failure: refusal });
    assert.deepEqual(kept(answered(failed.run, success)), [undefined]);
    // The result does not contain the stored request.
    assert.deepEqual(recorded(answered(planned(call()), success)), { 1: { ...response, status: 200, attempts: 1 } });
  });

  test('retries an error as often as the call specifies, and then it is the result', () => {
    const first = answered(planned(call({ retries: 1, retryDelay: '700' })), { response: response, failure: refusal });
    assert.deepEqual(recorded(first), {});
    assert.equal(taskAt(first.run, 1, 'call').dueAt, T0 + 710);
    const second = answered(first.run, { response: response, failure: refusal });
    assert.deepEqual(recorded(second), { 1: { ...response, attempts: 2 } });
    assert.equal(second.outcome, null);
  });

  test('without a response the result has status 0 and the reason', () => {
    const decision = answered(planned(call()), { failure: down });
    assert.deepEqual(recorded(decision), {
      1: { status: 0, headers: {}, body: { encoding: 'utf8', data: '' }, attempts: 1, error: 'connection refused' },
    });
  });

  test('a response to a finished attempt has no effect', () => {
    const run = planned(call({ retries: 3 }));
    const next = answered(run, { response: response, failure: refusal }).run;
    const { messageId } = taskAt(run, 1, 'call');
    const stale: RunEvent = {
      kind: 'call-attempted',
      attempt: { slot: 1, messageId, retried: 0 },
      response: response,
      failure: null,
    };
    assert.deepEqual(decide(next, stale, at(20)).writes, []);
  });

  test('the limits of a call apply from the decision that plans it', () => {
    const flowControl = { key: 'api', parallelism: 2 };
    const decision = reply(startedRun(), { planned: [call({ flowControl })] });
    const brought = decision.writes.filter(({ kind }) => kind === 'put-flow-control' || kind === 'put-task');
    assert.deepEqual(kinds(brought), ['put-flow-control', 'put-task']);
  });

  test('an invalid retry delay fails the run immediately with a clear message', () => {
    const decision = reply(startedRun(), { planned: [call({ retries: 1, retryDelay: 'process.exit()' })] });
    assert.equal(decision.outcome?.status, 'failed');
    assert.match(decision.deadLetter?.error ?? '', /"c1" has an invalid retry delay/);
  });
});

describe('invocations', () => {
  const invoke: PlannedStep = { stepId: 1, name: 'i1', type: 'Invoke', invoke: { workflowUrl: 'http://app/child', headers: {} } };

  test('the step is due until its run is created, and then waits for its end', () => {
    const run = planned(invoke);
    const task = taskAt(run, 1, 'invoke');
    assert.equal(task.dueAt, T0 + 1);
    const { messageId } = task;
    const started = decide(run, { kind: 'invoke-started', slot: 1, messageId, createdAt: T0 + 3 }, at(3));
    assert.deepEqual(
      [
        taskAt(started.run, 1, 'invoke').dueAt,
        taskAt(started.run, 1, 'invoke').invoke,
        taskAt(started.run, 1, 'invoke').childCreatedAt,
      ],
      [null, null, T0 + 3],
    );
    const outcome = { workflowRunId: 'wfr_c', workflowCreatedAt: T0 + 3, state: 'failed', error: 'boom' } as const;
    assert.deepEqual(recorded(decide(started.run, { kind: 'invoke-ended', slot: 1, messageId, outcome }, at(9))), { 1: outcome });
  });

  test('a run waits for a limited number of invoked runs, and a plan with more fails it', () => {
    const some = (from: number, count: number): PlannedStep[] =>
      Array.from({ length: count }, (_, index) => ({ ...invoke, stepId: from + index }));
    const max = LIMITS.maxOpenInvocations;
    const { run, outcome } = reply(startedRun(), { planned: some(1, max) });
    assert.equal(outcome, null);
    const [advance] = startedRun().tasks.values();
    assert.ok(advance);
    const advanced = { ...run, tasks: new Map([...run.tasks, [ADVANCE_SLOT, advance]]) };
    const more = reply(advanced, { planned: some(max + 1, 1) });
    assert.match(more.deadLetter?.error ?? '', new RegExp(`waits for ${max + 1} invoked runs at once, but the limit is ${max}`));
  });

  test('the end of an invoked run wakes the invoking run, in the same unit', () => {
    const origin = {
      kind: 'invoke',
      runKey: 'P',
      workflowRunId: 'p',
      workflowCreatedAt: 1,
      stepId: 1,
      stepName: 'i1',
      depth: 1,
    } as const;
    const ended = reply(startedRun({}, { origin }), { end: { kind: 'finished' } });
    assert.ok(kinds(ended.writes).includes('wake-invoker'));
    assert.ok(!kinds(reply(startedRun(), { end: { kind: 'finished' } }).writes).includes('wake-invoker'));
    const canceled = decide(startedRun({}, { origin }), { kind: 'cancel' }, at(1));
    assert.ok(kinds(canceled.writes).includes('wake-invoker'));
  });

  test('invocations that are nested too deeply fail the run immediately, with the limit in the message', () => {
    const depth = LIMITS.maxInvokeDepth;
    const origin = {
      kind: 'invoke',
      runKey: 'P',
      workflowRunId: 'p',
      workflowCreatedAt: 1,
      stepId: 1,
      stepName: 'i',
      depth,
    } as const;
    const decision = reply(startedRun({}, { origin }), { planned: [invoke] });
    assert.equal(decision.outcome?.status, 'failed');
    assert.match(decision.deadLetter?.error ?? '', new RegExp(`the limit is ${depth}`));
  });
});

describe('webhooks and notifications', () => {
  test('a webhook is created immediately: its URL is under the public URL and contains the key of the run', () => {
    const decision = reply(startedRun(), { planned: [{ stepId: 1, name: 'hook', type: 'CreateWebhook' }] });
    const { eventId, webhookUrl } = recorded(decision)[1] as { eventId: string; webhookUrl: string };
    assert.equal(webhookUrl, `https://everstep.example/v2/webhooks/${eventId}`);
    assert.ok(eventId.endsWith(`.${decision.run.key}`));
    assert.equal(decision.outcome, null);
    assert.equal(decision.run.tasks.get(ADVANCE_SLOT)?.dueAt, T0 + 1);
  });

  test('a notification is recorded once after it was executed', () => {
    const run = planned({ stepId: 1, name: 'n1', type: 'Notify', eventId: 'paid', content: data('x') });
    const { messageId } = taskAt(run, 1, 'notify');
    const event: RunEvent = { kind: 'notify-done', slot: 1, messageId, outcome: { notified: [], kept: false } };
    const decision = decide(run, event, at(3));
    assert.deepEqual(recorded(decision), { 1: { notified: [], kept: false } });
    assert.deepEqual(decide(decision.run, event, at(4)).writes, []);
  });
});

describe('reporting a failure', () => {
  const failureCallback = { url: 'http://app/failed', headers: {} };
  const never: DeliveryFailure = { ...down, retry: { kind: 'never' } };
  const failAtOnce = (run: Run): Decision => {
    const task = run.tasks.get(ADVANCE_SLOT);
    assert.ok(task && 'retried' in task);
    const attempt = { slot: ADVANCE_SLOT, messageId: task.messageId, retried: task.retried };
    return decide(run, { kind: 'attempt-failed', attempt, failure: never }, at(5));
  };

  test('a failed run adds a callback message, in the same unit as its dead letter', () => {
    const decision = failAtOnce(startedRun({ failureCallback }));
    assert.equal(decision.deadLetter?.failureFunctionState, 'CALLBACK_INPROGRESS');
    assert.equal(taskAt(decision.run, CALLBACK_SLOT, 'callback').dueAt, T0 + 5);
  });

  test('a failure function also adds a message; without one, no message is added', () => {
    const known = reply(startedRun(), { planned: [wait(1, ['x'])], failureFunction: true });
    assert.ok(kinds(known.writes).includes('note-failure-function'));
    assert.equal(
      failAtOnce({ ...startedRun(), hasFailureFunction: true }).deadLetter?.failureFunctionState,
      'CALLBACK_INPROGRESS',
    );
    const silent = failAtOnce(startedRun());
    assert.equal(silent.deadLetter?.failureFunctionState, null);
    assert.equal(silent.run.tasks.has(CALLBACK_SLOT), false);
  });

  test('a canceled run reports nothing', () => {
    const decision = decide(startedRun({ failureCallback }), { kind: 'cancel' }, at(1));
    assert.equal(decision.run.tasks.has(CALLBACK_SLOT), false);
  });

  test('the callback is retried by the rules of the run, and ends in success or failure', () => {
    const { run } = failAtOnce(startedRun({ failureCallback }));
    const task = taskAt(run, CALLBACK_SLOT, 'callback');
    const taken = decideCallback(run, task, null, at(6));
    assert.deepEqual(kinds(taken.unit.writes), ['delete-task', 'set-failure-function-state']);
    assert.equal(taken.next, null);
    const again = decideCallback(run, task, down, at(6));
    assert.deepEqual([again.next?.retried, again.next?.dueAt], [1, T0 + 1006]);
    assert.ok(again.next);
    const last = decideCallback(run, again.next, down, at(7));
    assert.deepEqual(last.unit.writes.at(-1), {
      kind: 'set-failure-function-state',
      instanceId: 'qi_1',
      dlqId: task.dlqId,
      state: 'CALLBACK_FAIL',
    });
  });

  test('the units of the callback are guarded by its task, so that a response after a resume or a cancel has no effect', () => {
    const { run } = failAtOnce(startedRun({ failureCallback }));
    const task = taskAt(run, CALLBACK_SLOT, 'callback');
    const guard = { kind: 'task-open', runKey: run.key, slot: CALLBACK_SLOT, messageId: task.messageId };
    assert.deepEqual(decideCallback(run, task, null, at(6)).unit.guards, [guard]);
    assert.deepEqual(decideCallback(run, task, down, at(6)).unit.guards, [{ ...guard, retried: 0 }]);
    assert.notEqual(retryCallback(run, task.dlqId, at(8)).next.messageId, task.messageId);
  });

  test('a resume does not copy the callback', () => {
    const { run } = failAtOnce(startedRun({ failureCallback }));
    const resumed = recoverRun(run, { kind: 'resume', dlqId: 'dlq_1', overrides: {}, workflowRunId: null }, at(100));
    assert.ok(resumed !== 'no-flow-control-key');
    assert.deepEqual([...resumed.run.tasks.keys()], [ADVANCE_SLOT]);
  });
});
