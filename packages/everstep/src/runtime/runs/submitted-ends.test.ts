/** The end of a run that its endpoint submits in a separate request. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Submission } from '../../engine/runs/submissions.js';
import type { StepCaller, StepOutcome } from '../../ports/step-caller.js';
import { type Bench, SETTINGS, settle, withRuntime } from '../runtime.fixture.js';

/** An endpoint that submits everything separately. Each of its responses is empty, and sent when the test says so. */
class SilentCaller implements StepCaller {
  readonly pendingReplies: (() => void)[] = [];
  call(_call: unknown, signal: AbortSignal, onSent?: () => void): Promise<StepOutcome> {
    onSent?.();
    return new Promise((resolve) => {
      const respond = () => resolve({ kind: 'silent', status: 200, responseHeaders: {}, responseBody: new Uint8Array() });
      this.pendingReplies.push(respond);
      signal.addEventListener('abort', respond);
    });
  }
  async close(): Promise<void> {}
}

async function start(bench: Bench) {
  const outcome = await bench.trigger({
    dialect: 'upstash',
    settings: { ...SETTINGS, steps: { joined: true, introduced: true } },
  });
  assert.equal(outcome.kind, 'started');
  const { run } = outcome;
  await settle();
  const submit = (submission: Partial<Submission>) =>
    bench.runtime.runs.submit({
      ...{ instanceId: 'qi_1', workflowRunId: run.workflowRunId },
      submission: { done: [], planned: [], ...submission },
    });
  const statusOf = async () => (await bench.store.findRun({ runKey: run.runKey }))?.status;
  return { submit, statusOf };
}

const END = { kind: 'finished', result: '2' } as const;

test('the end of a run that sleeps is not taken, and the run continues', async () => {
  const caller = new SilentCaller();
  await withRuntime(caller, async (bench) => {
    const { submit, statusOf } = await start(bench);
    const nap = { stepId: 1, name: 'nap', type: 'SleepFor', sleepMs: 1_000 } as const;
    assert.equal(await submit({ planned: [nap] }), 'taken');
    caller.pendingReplies[0]?.();
    await settle();
    assert.equal(await submit({ end: END }), 'end-not-requested');
    assert.equal(await submit({ planned: [nap] }), 'taken', 'a repeated plan has no effect');
    assert.equal(await statusOf(), 'active');
    bench.clock.move(1_000);
    await settle();
    assert.equal(await submit({ end: END }), 'taken');
    assert.equal(await statusOf(), 'succeeded');
    assert.equal(await submit({ end: END }), 'not-active');
    caller.pendingReplies[1]?.();
  });
});
