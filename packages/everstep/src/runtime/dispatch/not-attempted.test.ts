/** Deliveries that this process could not attempt. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NotAttemptedError } from '../../ports/not-attempted.js';
import type { StepCall } from '../../ports/step-caller.js';
import { fullHistory } from '../../stores/conformance/samples.js';
import { endOf, inARow, ScriptedCaller, ScriptedSender, SETTINGS, settle, withRuntime } from '../runtime.fixture.js';

test('a step that could not be attempted is retried, and no attempt is counted', async () => {
  const done = inARow(1);
  let left = 3;
  const caller = new ScriptedCaller((call: StepCall) => {
    if (left-- > 0) throw new NotAttemptedError('this process has no free file descriptor');
    return done(call);
  });
  await withRuntime(caller, async (bench) => {
    const outcome = await bench.trigger({ settings: { ...SETTINGS, maxRetries: 0 } });
    assert.ok(outcome.kind === 'started');
    for (let seconds = 0; seconds < 3; seconds++) {
      await settle();
      assert.equal(caller.calls.length, seconds + 1);
      bench.clock.move(1_000);
    }
    await settle();
    assert.equal((await endOf(bench, outcome.run))?.status, 'succeeded');
    assert.deepEqual(
      caller.calls.map(({ request }) => request.retried),
      [0, 0, 0, 0],
    );
    const history = await fullHistory(bench.store, { runKey: outcome.run.runKey });
    assert.deepEqual(history?.attempts, []);
  });
});

test('a failure callback that could not be attempted is retried as well', async () => {
  const caller = new ScriptedCaller(() => {
    throw new Error('not expected to be handled');
  });
  caller.call = async () => ({
    kind: 'failure',
    failure: {
      cause: 'http',
      message: 'no',
      status: 500,
      responseHeaders: {},
      responseBody: new Uint8Array(),
      retry: { kind: 'never' },
    },
  });
  let left = 1;
  const sender = new ScriptedSender(() => {
    if (left-- > 0) throw new NotAttemptedError('this process has no free file descriptor');
    return { kind: 'response', status: 200, headers: {}, body: new Uint8Array() };
  });
  await withRuntime(
    caller,
    async (bench) => {
      await bench.trigger({ settings: { ...SETTINGS, failureCallback: { url: 'http://pager/', headers: {} } } });
      await settle();
      bench.clock.move(1_000);
      await settle();
      assert.deepEqual(
        sender.sent.map(({ serviceHeaders }) => serviceHeaders?.Retried),
        ['0', '0'],
      );
    },
    { sender },
  );
});
