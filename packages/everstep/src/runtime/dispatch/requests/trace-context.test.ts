/** While traces are not exported, the trace context of a trigger is passed on to everything that the run sends. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RunTrace } from '../../../engine/runs/run.js';
import {
  type Bench,
  endOf,
  letterOf,
  progress,
  ScriptedCaller,
  ScriptedSender,
  SETTINGS,
  settle,
  withRuntime,
} from '../../runtime.fixture.js';

const TRACE: RunTrace = { traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01', tracestate: 'a=1' };
const OK = { kind: 'response', status: 200, headers: {}, body: new Uint8Array() } as const;

/** Returns a workflow that calls a URL, invokes another workflow, and then fails. */
const caller = () =>
  new ScriptedCaller(({ request, workflowUrl }) => {
    if (workflowUrl.endsWith('/child')) return progress(request, { end: { kind: 'finished', result: '1' } });
    if (request.journal.length < 2 && request.known > 1) return progress(request, {});
    if (request.journal.length === 2)
      return {
        ...{ protocol: 1, kind: 'failed', base: 2, done: [] },
        ...{ error: { name: 'Error', message: 'no' }, retry: { kind: 'never' } },
      };
    return progress(request, {
      planned: [
        { stepId: 1, name: 'c', type: 'Call', call: { url: 'http://other/', method: 'GET', headers: {} } },
        { stepId: 2, name: 'i', type: 'Invoke', invoke: { workflowUrl: 'http://app/child', headers: {} } },
      ],
    });
  });

async function sentBy(bench: Bench, trace: RunTrace | undefined): Promise<void> {
  const failureCallback = { url: 'http://app/failed', headers: {} };
  const { run } = await bench.trigger({ settings: { ...SETTINGS, failureCallback, ...(trace ? { trace } : {}) } });
  assert.equal((await endOf(bench, run))?.status, 'failed');
  assert.ok(await letterOf(bench));
  await settle();
}

test('steps, calls, invoked runs and failure callbacks get the trace context of the trigger', async () => {
  const [steps, sender] = [caller(), new ScriptedSender(() => OK)];
  await withRuntime(steps, (bench) => sentBy(bench, TRACE), { sender });
  assert.ok(steps.calls.some(({ workflowUrl }) => workflowUrl.endsWith('/child')));
  for (const { request, span } of steps.calls) assert.deepEqual([request.trace, span], [TRACE, undefined]);
  assert.deepEqual(
    sender.sent.map(({ url, trace }) => [url, trace]),
    [
      ['http://other/', { context: TRACE }],
      ['http://app/failed', { context: TRACE }],
    ],
  );
});

test('without a trace context of their own, runs send none', async () => {
  for (const trace of [undefined, { ...TRACE, isLinked: true } as const]) {
    const [steps, sender] = [caller(), new ScriptedSender(() => OK)];
    await withRuntime(steps, (bench) => sentBy(bench, trace), { sender });
    for (const { request } of steps.calls) assert.equal('trace' in request, false);
    for (const message of sender.sent) assert.equal(message.trace, undefined);
  }
});

test('the callback of a message belongs to the trace of the message', async () => {
  const sender = new ScriptedSender(() => OK);
  const callback = { url: 'http://app/callback', headers: {} };
  await withRuntime(
    new ScriptedCaller(() => {
      throw new Error('no steps');
    }),
    async (bench) => {
      await bench.trigger({ settings: { ...SETTINGS, trace: TRACE, message: { method: 'PUT', callback } } });
      await settle();
    },
    { sender },
  );
  assert.deepEqual(
    sender.sent.map(({ url, trace }) => [url, trace]),
    [
      ['http://app/flow', { context: TRACE }],
      ['http://app/callback', { context: TRACE }],
    ],
  );
});
