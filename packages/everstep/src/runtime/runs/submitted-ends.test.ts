/** The end of a run that its endpoint submits in a separate request. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Submission } from '../../engine/runs/submissions.js';
import type { TriggerCommand } from '../interface/runs.js';
import { type Bench, SETTINGS, SilentCaller, settle, withRuntime } from '../runtime.fixture.js';

async function start(bench: Bench, overrides: Partial<TriggerCommand> = {}) {
  const outcome = await bench.trigger({
    dialect: 'upstash',
    settings: { ...SETTINGS, steps: { joined: true, introduced: true } },
    ...overrides,
  });
  assert.equal(outcome.kind, 'started');
  const { run } = outcome;
  await settle();
  const submit = (submission: Partial<Submission>, createdAt?: number) =>
    bench.runtime.runs.submit({
      ...{ instanceId: 'qi_1', workflowRunId: run.workflowRunId, ...(createdAt === undefined ? {} : { createdAt }) },
      submission: { done: [], planned: [], ...submission },
    });
  const statusOf = async () => (await bench.store.findRun({ runKey: run.runKey }))?.status;
  return { run, submit, statusOf };
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

const FIRST_STEP = { done: [{ stepId: 1, name: 'a', type: 'Run', out: '1' }] } as const;

test('a submission of an ended run is not recorded in a newer run with the same id', async () => {
  const caller = new SilentCaller();
  await withRuntime(caller, async (bench) => {
    bench.clock.move(1);
    const workflowRunId = 'order-1';
    const old = await start(bench, { workflowRunId });
    await bench.runtime.runs.cancel({ instanceId: 'qi_1', workflowRunId });
    bench.clock.move(1);
    const newer = await start(bench, { workflowRunId, notBefore: bench.clock.now() + 1_000 });
    assert.equal(caller.pendingReplies.length, 1, 'the newer run is delayed');
    assert.ok(newer.run.createdAt > old.run.createdAt);
    assert.equal(await newer.submit(FIRST_STEP), 'not-active');
    assert.equal(await newer.submit({ end: END }), 'not-active');
    assert.equal(await newer.submit(FIRST_STEP, old.run.createdAt), 'not-active');
    assert.equal(await newer.submit(FIRST_STEP, 1), 'not-found');
    bench.clock.move(1_000);
    await settle();
    assert.equal(caller.pendingReplies.length, 2);
    assert.equal(await newer.submit(FIRST_STEP, old.run.createdAt), 'not-active');
    assert.equal(await newer.submit(FIRST_STEP), 'taken');
    assert.equal(await newer.statusOf(), 'active');
  });
});

test('a submission is recorded although the run was delivered before a restart', async () => {
  const caller = new SilentCaller();
  await withRuntime(caller, async (bench) => {
    const flowControl = { key: 'k', parallelism: 1 };
    const steps = { joined: true, introduced: true };
    const { run, submit } = await start(bench, { settings: { ...SETTINGS, steps, flowControl } });
    assert.equal(caller.pendingReplies.length, 1);
    await bench.runtime.flowControl.change({ instanceId: 'qi_1', key: 'k', change: { kind: 'pause' } });
    await bench.restart();
    await settle();
    assert.equal(caller.pendingReplies.length, 1, 'the key is paused');
    assert.equal((await bench.store.findRun({ runKey: run.runKey }))?.status, 'active');
    assert.equal(await submit(FIRST_STEP), 'taken');
  });
});

test('a submission is not recorded in a new run that waits at its flow control key', async () => {
  const caller = new SilentCaller();
  await withRuntime(caller, async (bench) => {
    bench.clock.move(1);
    const limits = { parallelism: 1 };
    await bench.runtime.flowControl.change({ instanceId: 'qi_1', key: 'k', change: { kind: 'pin', limits } });
    await bench.runtime.flowControl.change({ instanceId: 'qi_1', key: 'k', change: { kind: 'pause' } });
    const steps = { joined: true, introduced: true };
    const { submit } = await start(bench, { settings: { ...SETTINGS, steps, flowControl: { key: 'k' } } });
    assert.equal(await submit({ end: END }), 'not-active');
    await bench.runtime.flowControl.change({ instanceId: 'qi_1', key: 'k', change: { kind: 'resume' } });
    await settle();
    assert.equal(await submit({ end: END }), 'taken');
    caller.pendingReplies[0]?.();
  });
});
