/**
 * A late submission replaces the task in a slot while its retry waits. The new task has its own limits, and the ones of the old
 * task no longer apply.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NotAttemptedError } from '../../ports/not-attempted.js';
import type { StepCall, StepCaller, StepOutcome } from '../../ports/step-caller.js';
import type { InstanceLimits } from '../../ports/stores/instance-limits.js';
import { NO_LIMITS } from '../../ports/stores/instance-limits.js';
import type { Store } from '../../ports/stores/store.js';
import { respondWith } from '../messages/plain-messages.fixture.js';
import { type Bench, ScriptedSender, SETTINGS, settle, withRuntime } from '../runtime.fixture.js';

const RETRY_MS = 1_000;
const SILENT: StepOutcome = { kind: 'silent', status: 200, responseHeaders: {}, responseBody: new Uint8Array() };
const TIMED_OUT: StepOutcome = {
  kind: 'failure',
  failure: {
    ...{ cause: 'timeout', message: 'late', retry: { kind: 'backoff' } },
    ...{ status: null, responseHeaders: {}, responseBody: new Uint8Array() },
  },
};

interface HeldCall {
  readonly call: StepCall;
  readonly respond: (outcome: StepOutcome) => void;
  readonly fail: (error: Error) => void;
}

/** An endpoint that responds when the test says so. */
class HeldCaller implements StepCaller {
  readonly calls: HeldCall[] = [];
  call(call: StepCall, signal: AbortSignal, onSent?: () => void): Promise<StepOutcome> {
    onSent?.();
    return new Promise((resolve, reject) => {
      this.calls.push({ call, respond: resolve, fail: reject });
      signal.addEventListener('abort', () => resolve(SILENT));
    });
  }
  async close(): Promise<void> {}
}

/** Starts a run whose steps `x` and `y` are in flight, with the flow control key `run`. */
async function startSteps(bench: Bench, caller: HeldCaller) {
  const outcome = await bench.trigger({
    dialect: 'upstash',
    settings: {
      ...SETTINGS,
      maxRetries: 3,
      retryDelay: String(RETRY_MS),
      flowControl: { key: 'run', parallelism: 10 },
      steps: { joined: true, introduced: true },
    },
  });
  assert.equal(outcome.kind, 'started');
  const { workflowRunId, runKey } = outcome.run;
  await settle();
  const submitAll = (submission: Parameters<Bench['runtime']['runs']['submit']>[0]['submission']) =>
    bench.runtime.runs.submit({ instanceId: 'qi_1', workflowRunId, submission });
  const submit = (planned: Parameters<typeof submitAll>[0]['planned']) => submitAll({ done: [], planned });
  const finishOther = () => submitAll({ done: [{ stepId: 2, name: 's2', type: 'Run', out: '1' }], planned: [] });
  const group = [1, 2].map((stepId) => ({ stepId, name: `s${stepId}`, type: 'Run', asks: 'Call' }) as const);
  assert.equal(await submit(group), 'taken');
  caller.calls[0]?.respond(SILENT);
  await settle();
  const attempt = caller.calls.find(({ call }) => call.request.target === 1);
  assert.ok(attempt);
  const specify = () =>
    submit([
      {
        ...{ stepId: 1, name: 's1', type: 'Call' },
        call: { url: 'http://third/', method: 'GET', headers: {}, flowControl: { key: 'call', parallelism: 1 } },
      },
    ]);
  return { runKey, attempt, specify, finishOther };
}

const change = (bench: Bench, key: string, kind: 'pause' | 'resume') =>
  bench.runtime.flowControl.change({ instanceId: 'qi_1', key, change: { kind } });

/** Runs the test with the messages that calls send. */
async function withCalls(
  work: (bench: Bench, caller: HeldCaller, sender: ScriptedSender) => Promise<void>,
  limits: InstanceLimits = NO_LIMITS,
  wrap = (store: Store): Store => store,
): Promise<void> {
  const caller = new HeldCaller();
  const sender = new ScriptedSender(() => respondWith(200));
  const workAndRespond = async (bench: Bench): Promise<void> => {
    try {
      await work(bench, caller, sender);
    } finally {
      for (const { respond } of caller.calls) respond(SILENT);
    }
  };
  await withRuntime(caller, workAndRespond, { sender, limits, wrap });
}

test('a call does not wait at the flow control key of the step that it replaces', () =>
  withCalls(async (bench, caller, sender) => {
    const { attempt, specify } = await startSteps(bench, caller);
    await change(bench, 'run', 'pause');
    attempt.respond(TIMED_OUT);
    await settle();
    bench.clock.move(RETRY_MS);
    await settle();
    assert.equal((await bench.runtime.flowControl.find({ instanceId: 'qi_1', key: 'run' }))?.waiting, 1);
    assert.equal(await specify(), 'taken');
    await settle();
    assert.deepEqual(
      sender.sent.map(({ url }) => url),
      ['http://third/'],
    );
    assert.equal((await bench.runtime.flowControl.find({ instanceId: 'qi_1', key: 'run' }))?.waiting, 0);
  }));

test('a call is not sent with the slot for which the step that it replaces waited', () => {
  let maxParallelism = 10;
  const limits = { ...NO_LIMITS, maxParallelism: () => maxParallelism };
  return withCalls(async (bench, caller, sender) => {
    const { attempt, specify } = await startSteps(bench, caller);
    maxParallelism = 1;
    attempt.respond(TIMED_OUT);
    await settle();
    bench.clock.move(RETRY_MS);
    await settle();
    assert.equal(caller.calls.length, 3, 'the retry waits for a slot');
    assert.equal(await specify(), 'taken');
    await settle();
    await change(bench, 'call', 'pause');
    // The response frees the slot.
    caller.calls.find(({ call }) => call.request.target === 2)?.respond(TIMED_OUT);
    await settle();
    assert.deepEqual([caller.calls.length, sender.sent.length], [3, 0]);
    assert.equal((await bench.runtime.flowControl.find({ instanceId: 'qi_1', key: 'call' }))?.waiting, 1);
    assert.equal((await bench.runtime.flowControl.find({ instanceId: 'qi_1', key: 'run' }))?.inFlight, 0);
    await change(bench, 'call', 'resume');
    await settle();
    assert.equal(sender.sent.length, 1);
  }, limits);
});

test('a call is sent although its step could not be attempted', () =>
  withCalls(async (bench, caller, sender) => {
    const { attempt, specify } = await startSteps(bench, caller);
    assert.equal(await specify(), 'taken');
    await change(bench, 'run', 'pause');
    attempt.fail(new NotAttemptedError('this process has no free file descriptor'));
    await settle();
    bench.clock.move(RETRY_MS);
    await settle();
    assert.equal(sender.sent.length, 1);
  }));

test('a call is sent although the run cannot be read when its step ends', () => {
  let [losesBatch, isDamaged] = [false, false];
  const wrap = (store: Store): Store => ({
    ...store,
    commit: (units) => (losesBatch ? Promise.reject(new Error('the response was lost')) : store.commit(units)),
    loadRun: (query) => (isDamaged ? Promise.reject(new Error('the row is damaged')) : store.loadRun(query)),
  });
  return withCalls(
    async (bench, caller, sender) => {
      const { attempt, specify, finishOther } = await startSteps(bench, caller);
      assert.equal(await specify(), 'taken');
      await change(bench, 'run', 'pause');
      losesBatch = true;
      await assert.rejects(finishOther(), /the response was lost/);
      [losesBatch, isDamaged] = [false, true];
      attempt.respond(TIMED_OUT);
      await settle();
      assert.equal(sender.sent.length, 0);
      isDamaged = false;
      bench.clock.move(RETRY_MS);
      await settle();
      assert.equal(sender.sent.length, 1);
    },
    NO_LIMITS,
    wrap,
  );
});
