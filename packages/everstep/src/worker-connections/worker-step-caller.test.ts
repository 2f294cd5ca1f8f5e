import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { FailureNotice, StepReply, StepRequest } from '@everstep/sdk/protocol';
import type { Message, MessageOutcome } from '../ports/message-sender.js';
import type { ReplayCheck, StepCall, StepOutcome } from '../ports/step-caller.js';
import { sampleStep } from '../stores/conformance/samples.js';
import { ConnectedWorkers, type SimulatedWorker, settle } from './connected-workers.fixture.js';
import { WorkerStepCaller } from './worker-step-caller.js';

const URL = 'worker://shop/order';
const REQUEST: StepRequest = {
  protocol: 1,
  run: { key: 'k', id: 'r', createdAt: 1, workflowUrl: URL, labels: [] },
  ...{ messageId: 'm', retried: 0, maxRetries: 3, target: null, known: 1 },
  journal: { from: 0, length: 0, entries: [] },
};
const DONE: StepReply = {
  protocol: 1,
  kind: 'progress',
  base: 0,
  done: [],
  advanced: true,
  planned: [],
  end: { kind: 'finished' },
};

class Harness extends ConnectedWorkers {
  readonly caller = new WorkerStepCaller({
    pools: this.pools,
    otherTransports: {
      stepCaller: { call: () => assert.fail('not a worker URL'), close: async () => {} },
      messageSender: { send: () => assert.fail('not a worker URL') },
    },
    now: () => this.clock.now(),
    slices: {
      run: (_instanceId, work) => {
        this.slices++;
        return work();
      },
    },
  });
  slices = 0;

  /** Starts a call, and notes its outcome when it is known. */
  call(more: Partial<StepCall> = {}, request: Partial<StepRequest> = {}) {
    const control = new AbortController();
    const call: StepCall = {
      ...{ instanceId: 'qi_1', dialect: 'native', workflowUrl: URL, recordedSteps: [], openSteps: [], hasIntroducedItself: true },
      ...{ forwardHeaders: {}, timeoutMs: 60_000, hidesData: false, request: { ...REQUEST, ...request } },
      ...more,
    };
    const called = { outcome: null as StepOutcome | null, error: null as Error | null, sent: 0, abort: () => control.abort() };
    const onSent = () => {
      called.sent++;
    };
    this.caller.call(call, control.signal, onSent).then(
      (result) => {
        called.outcome = result;
      },
      (error) => {
        called.error = error;
      },
    );
    return called;
  }
}

/** Returns the failure of a call in short form. */
const failureOf = (response: StepOutcome | MessageOutcome | null) =>
  response?.kind === 'failure' ? [response.failure.cause, response.failure.retry.kind] : [response?.kind];

it('resolves a call with the reply of the worker, and calls onSent once, when the request is sent', async () => {
  const harness = new Harness();
  const worker = harness.connect();
  const called = harness.call();
  assert.equal(called.sent, 0);
  await worker.turn();
  assert.equal(called.sent, 1);
  await harness.pass(40);
  worker.respond(1, DONE);
  await settle();
  const { outcome } = called;
  assert.ok(outcome?.kind === 'reply');
  assert.deepEqual([outcome.reply.kind, outcome.status, outcome.sent?.durationMs, called.sent], ['progress', 200, 40, 1]);
});

it('encodes a long journal in slices, and the worker receives the same request', async () => {
  const harness = new Harness();
  const worker = harness.connect();
  const outs = ['x', 'y', 'z'].map((character) => JSON.stringify(character.repeat(200_000)));
  const entries = outs.map((out, index) => ({ stepId: index + 1, name: 's', type: 'Run', out }) as const);
  const journal = { from: 0, length: 3, entries };
  const recordedSteps = outs.map((out, index) => sampleStep(index, { out }));
  const called = harness.call({ recordedSteps }, { journal, known: 4 });
  harness.call();
  await worker.turn();
  assert.ok(harness.slices > 1, `${harness.slices} slices`);
  assert.equal(called.sent, 1);
  const long = worker.frames.find((frame) => frame.kind === 'step' && frame.request.journal.length === 3);
  const request = { ...REQUEST, journal, known: 4 };
  assert.deepEqual(long, { kind: 'step', workflow: 'order', id: long && 'id' in long ? long.id : null, request });
  assert.equal(worker.receivedIds.length, 2);
});

it('fails a call permanently and does not send it if its journal is longer than a worker can receive', async () => {
  const harness = new Harness();
  const worker = harness.connect();
  // Each result has 10 MiB and half as many characters.
  const out = JSON.stringify('ü'.repeat(5 * 1024 * 1024 - 1));
  const entries = Array.from({ length: 10 }, (_, index) => ({ stepId: index + 1, name: 's', type: 'Run', out }) as const);
  const recordedSteps = entries.map((_, index) => sampleStep(index, { out }));
  const called = harness.call({ recordedSteps }, { journal: { from: 0, length: 10, entries }, known: 11 });
  await worker.turn();
  const { outcome } = called;
  assert.ok(outcome?.kind === 'failure');
  assert.deepEqual([outcome.failure.retry.kind, called.sent, worker.frames], ['never', 0, []]);
  assert.match(
    outcome.failure.message,
    /^the request with the results of the run has 10\d{7} bytes, but the limit .* 100663296 /,
  );
});

it('does not attempt a call while no worker serves the workflow', async () => {
  const harness = new Harness();
  harness.connect({ workflows: ['refund'] });
  const called = harness.call();
  await settle();
  assert.deepEqual([called.error?.name, called.sent], ['NotAttemptedError', 0]);
});

it('repeats a call over another connection if the first is lost before the start', async () => {
  const harness = new Harness();
  const [a, b] = [harness.connect(), harness.connect()];
  const called = harness.call();
  await a.turn();
  const [first, second] = a.receivedIds.length > 0 ? [a, b] : [b, a];
  first.lose();
  await first.turn();
  assert.deepEqual([first.receivedIds, second.receivedIds, called.sent], [[1], [1], 2]);
  second.respond(1, DONE);
  await settle();
  assert.equal(called.outcome?.kind, 'reply');
});

it('fails the attempt if the connection is lost after the start', async () => {
  const harness = new Harness();
  const [a, b] = [harness.connect(), harness.connect()];
  const called = harness.call();
  await a.turn();
  const first: SimulatedWorker = a.receivedIds.length > 0 ? a : b;
  first.send({ kind: 'received', through: 1 });
  first.lose();
  await settle();
  assert.deepEqual(failureOf(called.outcome), ['network', 'backoff']);
});

it('counts the third loss before the start as a failed attempt', async () => {
  const harness = new Harness();
  const workers = [harness.connect(), harness.connect(), harness.connect(), harness.connect()];
  const called = harness.call();
  for (let losses = 1; losses <= 3; losses++) {
    await settle();
    assert.equal(called.outcome, null);
    await workers[0]?.turn();
    workers.find(({ link, receivedIds }) => receivedIds.length > 0 && link.isOpen)?.lose();
  }
  await settle();
  assert.deepEqual([failureOf(called.outcome), called.sent], [['network', 'backoff'], 3]);
});

it('also counts the third loss if each loss leaves no worker, and the next attempt starts a new count', async () => {
  const harness = new Harness();
  const outcomes: (string | undefined)[] = [];
  for (let repetition = 1; repetition <= 6; repetition++) {
    const worker = harness.connect();
    const called = harness.call({}, { retried: repetition <= 3 ? 0 : 1 });
    await worker.turn();
    worker.lose();
    await settle();
    outcomes.push(called.error?.name ?? called.outcome?.kind);
  }
  assert.deepEqual(outcomes, [
    ...['NotAttemptedError', 'NotAttemptedError', 'failure'],
    ...['NotAttemptedError', 'NotAttemptedError', 'failure'],
  ]);
});

it('fails the attempt after its timeout, which starts when the request is sent', async () => {
  const harness = new Harness();
  const worker = harness.connect({ maxConcurrency: 1 });
  harness.call();
  const called = harness.call({ timeoutMs: 100 }, { messageId: 'm2' });
  await worker.turn();
  await harness.pass(1_000);
  assert.deepEqual([called.outcome, called.sent], [null, 0]);
  worker.respond(1, DONE);
  await worker.turn();
  assert.equal(called.sent, 1);
  await harness.pass(100);
  assert.deepEqual([failureOf(called.outcome), worker.count('cancel')], [['timeout', 'backoff'], 1]);
  assert.equal(worker.link.lastError, 'timeout');
});

it('never has more requests at a worker than it accepts', async () => {
  const harness = new Harness();
  const [a, b] = [harness.connect({ maxConcurrency: 2 }), harness.connect({ maxConcurrency: 1 })];
  const calls = Array.from({ length: 12 }, (_, i) => harness.call({}, { messageId: `m${i}` }));
  let max = 0;
  for (let round = 0; round < 20; round++) {
    await a.turn();
    max = Math.max(max, a.link.inFlight, b.link.inFlight * 2);
    for (const worker of [a, b]) {
      const answers = worker.receivedIds.map((id) => ({ kind: 'answer', id, reply: DONE }) as const);
      worker.send(...answers);
      // All slots are free before anything else runs.
    }
  }
  assert.ok(calls.every(({ outcome }) => outcome?.kind === 'reply'));
  assert.equal(max, 2);
});

it('does nothing while all workers are busy', async () => {
  const harness = new Harness();
  const worker = harness.connect({ maxConcurrency: 1 });
  harness.call();
  let picks = 0;
  const { pick } = harness.pools;
  harness.pools.pick = (target) => {
    picks++;
    return pick.call(harness.pools, target);
  };
  const calls = Array.from({ length: 20 }, (_, i) => harness.call({}, { messageId: `m${i}` }));
  await worker.turn();
  const before = picks;
  await settle();
  assert.equal(picks, before);
  worker.respond(1, DONE);
  await worker.turn();
  assert.equal(picks, before + 1);
  for (const { abort } of calls) abort();
  await settle();
  assert.ok(calls.every(({ outcome }) => outcome?.kind === 'failure'));
});

it('passes on an abort, before and after the request is sent', async () => {
  const harness = new Harness();
  const worker = harness.connect();
  const early = harness.call();
  early.abort();
  const late = harness.call({}, { messageId: 'm2' });
  await worker.turn();
  late.abort();
  await worker.turn();
  assert.deepEqual([early.sent, late.sent, worker.receivedIds, worker.count('cancel')], [0, 1, [2], 1]);
  assert.deepEqual(
    [failureOf(early.outcome), failureOf(late.outcome)],
    [
      ['network', 'backoff'],
      ['network', 'backoff'],
    ],
  );
});

it('rejects an invalid reply permanently, and does not quote it for a run that redacts data', async () => {
  for (const hidesData of [false, true]) {
    const harness = new Harness();
    const worker = harness.connect();
    const called = harness.call({ hidesData });
    await worker.turn();
    worker.link.receive('[{"kind":"answer","id":1,"reply":{"protocol":1,"kind":"secret"}}]');
    await settle();
    assert.deepEqual(failureOf(called.outcome), ['not-protocol', 'never']);
    const message = called.outcome?.kind === 'failure' ? called.outcome.failure.message : '';
    assert.equal(message.includes('secret'), !hidesData, message);
    assert.equal(worker.link.lastError, 'invalid reply');
  }
});

it('reports a reply that the worker did not send because it was too long', async () => {
  const harness = new Harness();
  const worker = harness.connect();
  const called = harness.call();
  await worker.turn();
  worker.send({ kind: 'too-long', id: 1, bytes: 99_000_000 });
  await settle();
  assert.ok(called.outcome?.kind === 'failure');
  assert.match(called.outcome.failure.message, /99000000 bytes, more than \d+ bytes \(maxReplyBytes\)/);
});

const NOTICE: FailureNotice = {
  ...{ status: 500, header: {}, body: '', error: 'gone', retried: 0, maxRetries: 0, sourceMessageId: 'm', url: URL },
  ...{ method: 'POST', sourceHeader: {}, sourceBody: '', workflowRunId: 'r', workflowCreatedAt: 1, dlqId: 'd', createdAt: 2 },
};
const MESSAGE: Message = {
  ...{ instanceId: 'qi_1', dialect: 'native', method: 'POST', url: URL, headers: {}, timeoutMs: 60_000, maxResponseBytes: 1_000 },
  ...{ signed: { kind: 'failure-function', isOwn: true }, headerMode: 'forwarded' },
  body: new TextEncoder().encode(JSON.stringify(NOTICE)),
};

it('delivers failure notices, and responds like an endpoint', async () => {
  const never = new AbortController().signal;
  for (const [notice, status] of [
    [{ kind: 'handled' }, 200],
    [{ kind: 'failed', message: 'no', retry: { kind: 'never' } }, 489],
    [{ kind: 'failed', message: 'no', retry: { kind: 'after', delayMs: 1_500 } }, 429],
    [{ kind: 'failed', message: 'no', retry: { kind: 'backoff' } }, 500],
  ] as const) {
    const harness = new Harness();
    const worker = harness.connect();
    const sending = harness.caller.send(MESSAGE, never);
    await worker.turn();
    worker.send({ kind: 'noticed', id: 1, outcome: notice });
    const outcome = await sending;
    assert.equal(outcome.kind === 'response' && outcome.status, status);
  }
  const refused = await new Harness().caller.send({ ...MESSAGE, signed: null }, never);
  assert.deepEqual(failureOf(refused), ['refused', 'never']);
});

it('returns no verdict for a replay check without a reply of a worker', async () => {
  const check: Omit<ReplayCheck, 'request' | 'timeoutMs'> = {
    ...{ instanceId: 'qi_1', dialect: 'native', workflowUrl: URL, forwardHeaders: {}, hidesData: false },
  };
  const request = { protocol: 1, check: true, run: REQUEST.run, known: 1, journal: REQUEST.journal } as never;
  const harness = new Harness();
  const never = new AbortController().signal;
  const without = await harness.caller.check({ ...check, request, timeoutMs: 100 }, never);
  assert.equal(without.outcome, 'cannot-tell');
  const worker = harness.connect();
  const checking = harness.caller.check({ ...check, request, timeoutMs: 100 }, never);
  await worker.turn();
  await harness.pass(100);
  assert.equal((await checking).outcome, 'cannot-tell');
});
