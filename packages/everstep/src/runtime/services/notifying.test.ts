/** Each waiting run is notified once, and each notify or invoke step is executed once. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { EventContent, PlannedStep, StepReply } from '@everstep/sdk/protocol';
import type { Task } from '../../engine/runs/run.js';
import type { StoreWrite } from '../../engine/writes.js';
import type { StepCall } from '../../ports/step-caller.js';
import type { Store } from '../../ports/stores/store.js';
import { fullHistory } from '../../stores/conformance/samples.js';
import { type Bench, endOf, progress, ScriptedCaller, settle, withRuntime } from '../runtime.fixture.js';

const INSTANCE = 'qi_1';
const data = (text: string): EventContent => ({ kind: 'data', body: { encoding: 'utf8', data: text } });
const wait = (stepId: number, eventId: string): PlannedStep => ({
  stepId,
  name: `w${stepId}`,
  type: 'Wait',
  eventIds: [eventId],
  timeoutMs: 3_600_000,
});
const waitersOf = (bench: Bench, eventId: string) =>
  bench.store.listWaiters({ instanceId: INSTANCE, eventId, after: null, limit: 10_000 });

/** A workflow that waits for the event again as soon as it arrives, forever. */
const listening = ({ request }: StepCall): StepReply =>
  progress(request, { planned: request.known === request.journal.length + 1 ? [wait(request.known, 'tick')] : [] });

test('a notification does not reach the same run twice if it immediately waits again', async () => {
  const runs = 1_200;
  let passTime: () => void = () => {};
  const caller = new ScriptedCaller((call) => {
    passTime();
    return listening(call);
  });
  await withRuntime(caller, async (bench) => {
    for (let i = 0; i < runs; i++) await bench.trigger();
    while ((await waitersOf(bench, 'tick')).length < runs) {
      bench.clock.move(20);
      await settle();
    }
    passTime = () => bench.clock.move(1);
    const outcome = await bench.runtime.events.notify({
      instanceId: INSTANCE,
      eventId: 'tick',
      workflowRunId: null,
      content: data(''),
    });
    assert.ok(outcome.kind === 'notified');
    assert.equal(outcome.notified.length, runs);
    assert.equal(new Set(outcome.notified.map(({ waiter }) => waiter.workflowRunId)).size, runs);
  });
});

/** A store that, once it contains a step of this kind, writes nothing until it is opened. `lost` are the batches that failed. */
function doorBehind(kind: Task['kind']) {
  let opened: Promise<void> = Promise.resolve();
  let open: () => void = () => {};
  const lost: unknown[] = [];
  return {
    lost,
    open: () => open(),
    wrap: (store: Store): Store => ({
      ...store,
      commit: async (units) => {
        await opened;
        const results = await store.commit(units).catch((error: unknown) => {
          lost.push(error);
          throw error;
        });
        const planned = (write: StoreWrite) => write.kind === 'put-task' && write.task.kind === kind && write.task.dueAt !== null;
        if (units.some(({ writes }) => writes.some(planned))) {
          opened = new Promise((resolve) => {
            open = resolve;
          });
        }
        return results;
      },
    }),
  };
}

const notifyStep = (workflowRunId?: string): PlannedStep => ({
  stepId: 2,
  name: 'notify',
  type: 'Notify',
  eventId: 'tick',
  ...(workflowRunId === undefined ? {} : { workflowRunId }),
  content: { kind: 'data', body: { encoding: 'utf8', data: 'once' } },
});
const before: PlannedStep = { stepId: 1, name: 'before', type: 'SleepFor', sleepMs: 1_000 };
const nap: PlannedStep = { stepId: 1, name: 'nap', type: 'SleepFor', sleepMs: 1_500 };

/** Returns a workflow that sleeps, executes the step, and returns its result. */
const taking =
  (step: PlannedStep) =>
  ({ request }: StepCall): StepReply => {
    const { entries, length } = request.journal;
    if (length === 0) return progress(request, { planned: [before] });
    if (length === 1) return progress(request, { planned: request.known === 2 ? [step] : [] });
    return progress(request, { end: { kind: 'finished', result: entries[1]?.out ?? 'null' } });
  };

for (const named of [true, false]) {
  const whom = named ? 'a named run' : 'everybody';
  test(`a scan of due tasks does not repeat a notify step in progress to ${whom}`, async () => {
    const { open, wrap } = doorBehind('notify');
    let passTime: () => void = () => {};
    const caller = new ScriptedCaller((call) => {
      const { request } = call;
      switch (call.workflowUrl) {
        case 'http://app/notifier':
          // The step is planned and due after the scan that found the sleep before it.
          passTime();
          return taking(notifyStep(named ? 'listener' : undefined))(call);
        case 'http://app/napper':
          return request.journal.length === 0
            ? progress(request, { planned: [nap] })
            : progress(request, { end: { kind: 'finished' } });
        default:
          return listening(call);
      }
    });
    await withRuntime(
      caller,
      async (bench) => {
        await bench.trigger({ workflowRunId: 'listener' });
        passTime = () => bench.clock.move(1);
        const { run } = await bench.trigger({ workflowUrl: 'http://app/notifier' });
        await bench.trigger({ workflowUrl: 'http://app/napper' });
        await settle();
        bench.clock.move(1_000);
        await settle();
        // The sleep is over: the scan of due tasks also finds the step, because its outcome is not written yet.
        bench.clock.move(600);
        await settle();
        open();
        await settle();
        const result = JSON.parse((await endOf(bench, run))?.result ?? 'null');
        assert.deepEqual(
          result.notified.map(({ workflowRunId }: { workflowRunId: string }) => workflowRunId),
          ['listener'],
        );
        assert.equal(result.kept, false);
        const listener = await bench.store.findRun({ instanceId: INSTANCE, workflowRunId: 'listener' });
        const history = await fullHistory(bench.store, { runKey: listener?.key ?? '' });
        assert.equal(history?.steps.length, 1, 'it was notified once');
        assert.equal(history?.keptEvents.length, 0);
      },
      { wrap },
    );
  });
}

test('a scan of due tasks does not create a second run while a run is being created for a step', async () => {
  const { open, wrap, lost } = doorBehind('invoke');
  let passTime: () => void = () => {};
  const invoke: PlannedStep = {
    stepId: 2,
    name: 'invoke',
    type: 'Invoke',
    invoke: { workflowUrl: 'http://app/child', headers: {} },
  };
  const caller = new ScriptedCaller((call) => {
    const { request } = call;
    if (call.workflowUrl === 'http://app/child') return progress(request, { end: { kind: 'finished', result: '"child"' } });
    if (call.workflowUrl === 'http://app/parent') {
      passTime();
      return taking(invoke)(call);
    }
    return request.journal.length === 0
      ? progress(request, { planned: [nap] })
      : progress(request, { end: { kind: 'finished' } });
  });
  await withRuntime(
    caller,
    async (bench) => {
      passTime = () => bench.clock.move(1);
      const { run } = await bench.trigger({ workflowUrl: 'http://app/parent' });
      await bench.trigger({ workflowUrl: 'http://app/napper' });
      await settle();
      bench.clock.move(1_000);
      await settle();
      bench.clock.move(600);
      await settle();
      open();
      await settle();
      assert.equal(JSON.parse((await endOf(bench, run))?.result ?? 'null').result, '"child"');
      assert.equal(caller.calls.filter(({ workflowUrl }) => workflowUrl === 'http://app/child').length, 1);
      assert.deepEqual(lost, []);
    },
    { wrap },
  );
});
