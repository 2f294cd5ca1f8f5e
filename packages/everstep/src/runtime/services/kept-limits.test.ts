/** Limits of a flow control key when failed runs with the key are resumed, restarted and forked. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RunOverrides } from '../interface/dead-letters.js';
import { type Bench, letterOf, progress, ScriptedCaller, SETTINGS, settle, withRuntime } from '../runtime.fixture.js';
import { INSTANCE } from './schedules.fixture.js';

const KEY = 'k';

const failing = () =>
  new ScriptedCaller(({ request }) => ({
    ...{ protocol: 1, kind: 'failed', base: request.journal.length, done: [], advanced: true },
    ...{ error: { name: 'Error', message: 'bad' }, retry: { kind: 'never' } },
  }));

const triggerWith = (bench: Bench, parallelism: number) =>
  bench.trigger({ settings: { ...SETTINGS, flowControl: { key: KEY, parallelism } } });

/** Returns the parallelism that applies here and the stored one. */
async function parallelismOf(bench: Bench, key = KEY): Promise<readonly (number | null | undefined)[]> {
  const current = await bench.runtime.flowControl.find({ instanceId: INSTANCE, key });
  const stored = await bench.store.findFlowControl({ instanceId: INSTANCE, key });
  return [current?.parallelism, stored?.parallelism];
}

/** Runs the test after a run with a limit of 50 has failed and the limit of its key was set to 2. */
const withFailedRun = (work: (bench: Bench, dlqId: string) => Promise<void>): Promise<void> =>
  withRuntime(failing(), async (bench) => {
    await triggerWith(bench, 50);
    await settle();
    const { dlqId } = await letterOf(bench);
    await triggerWith(bench, 2);
    await settle();
    assert.deepEqual(await parallelismOf(bench), [2, 2]);
    await work(bench, dlqId);
  });

async function recover(bench: Bench, dlqId: string, kind: 'resume' | 'restart', overrides: RunOverrides) {
  const command = { kind, instanceId: INSTANCE, dlqIds: [dlqId], onMissing: 'fail', overrides } as const;
  const outcome = await bench.runtime.deadLetters.recover(command);
  assert.ok(outcome.kind === 'recovered');
  await settle();
  return bench.store.findRun({ runKey: outcome.runs[0]?.runKey ?? '' });
}

for (const kind of ['resume', 'restart'] as const) {
  test(`a ${kind} keeps the current limits of the key`, () =>
    withFailedRun(async (bench, dlqId) => {
      const run = await recover(bench, dlqId, kind, { flowControlKey: KEY });
      assert.deepEqual(await parallelismOf(bench), [2, 2]);
      assert.deepEqual(run?.settings.flowControl, { key: KEY, parallelism: 50 });
    }));

  test(`a ${kind} with other limits sets them`, () =>
    withFailedRun(async (bench, dlqId) => {
      await recover(bench, dlqId, kind, { flowControlLimits: { parallelism: 3 } });
      assert.deepEqual(await parallelismOf(bench), [3, 3]);
    }));

  test(`a ${kind} with another key gives it the limits of the failed run`, () =>
    withFailedRun(async (bench, dlqId) => {
      await recover(bench, dlqId, kind, { flowControlKey: 'other' });
      assert.deepEqual(await parallelismOf(bench), [2, 2]);
      assert.deepEqual(await parallelismOf(bench, 'other'), [50, 50]);
    }));
}

test('a fork keeps the current limits of the key', () =>
  withRuntime(new ScriptedCaller(({ request }) => progress(request, { end: { kind: 'finished' } })), async (bench) => {
    const { run } = await triggerWith(bench, 50);
    await settle();
    await triggerWith(bench, 2);
    const outcome = await bench.runtime.runs.fork({
      ...{ runKey: run.runKey, by: { actor: 'tests', address: '127.0.0.1' } },
      ...{ fromStep: 1, input: null, results: [], workflowRunId: null, note: null },
    });
    assert.equal(outcome.kind, 'forked');
    await settle();
    assert.deepEqual(await parallelismOf(bench), [2, 2]);
  }));
