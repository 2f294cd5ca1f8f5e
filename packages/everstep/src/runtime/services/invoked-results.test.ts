/** The result of an invoked run reaches its parent whole, also if the records of runs omit it because of its length. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { InvokeOutcome, PlannedStep, StepReply } from '@everstep/sdk/protocol';
import { LIMITS } from '../../config/limits.js';
import { DIALECT_NAMES } from '../../engine/runs/run.js';
import type { StepCall } from '../../ports/step-caller.js';
import type { Store } from '../../ports/stores/store.js';
import { type Bench, endOf, progress, ScriptedCaller, settle, withRuntime } from '../runtime.fixture.js';

const CHILD = 'http://app/child';
const LONG_RESULT = JSON.stringify('é'.repeat(LIMITS.maxInlineBytes / 2));

const invoke = (stepId: number): PlannedStep => ({
  stepId,
  name: `child ${stepId}`,
  type: 'Invoke',
  invoke: { workflowUrl: CHILD, headers: {} },
});

/** Returns a parent that invokes one or more runs at once and returns their outcomes, with a child that the test controls. */
const family = (invocations: number, child: (call: StepCall) => StepReply | Promise<StepReply>) =>
  new ScriptedCaller((call) => {
    const { request, workflowUrl } = call;
    if (workflowUrl === CHILD) return child(call);
    const { entries, length } = request.journal;
    const planned = Array.from({ length: invocations }, (_, index) => invoke(index + 1));
    if (length === 0) return progress(request, { planned });
    if (length < invocations) return progress(request, {});
    const outcomes = entries.map(({ out }) => JSON.parse(out ?? 'null'));
    return progress(request, { end: { kind: 'finished', result: JSON.stringify(outcomes) } });
  });

const finishWithLongResult = ({ request }: StepCall): StepReply =>
  progress(request, { end: { kind: 'finished', result: LONG_RESULT } });

async function outcomesOf(bench: Bench, run: Parameters<typeof endOf>[1]): Promise<readonly InvokeOutcome[]> {
  const record = await endOf(bench, run);
  assert.equal(record?.status, 'succeeded', record?.error ?? 'it has not ended');
  return JSON.parse(record?.result ?? '[]');
}

const resultLengths = (outcomes: readonly InvokeOutcome[]) =>
  outcomes.map((outcome) => (outcome.state === 'succeeded' ? outcome.result?.length : outcome.state));

for (const dialect of DIALECT_NAMES) {
  test(`${dialect}: a step receives the whole long result of the run that it invoked`, async () => {
    await withRuntime(family(1, finishWithLongResult), async (bench) => {
      const { run } = await bench.trigger({ dialect });
      await settle();
      const outcomes = await outcomesOf(bench, run);
      assert.deepEqual(
        outcomes.map((outcome) => outcome.state === 'succeeded' && outcome.result),
        [LONG_RESULT],
      );
    });
  });

  test(`${dialect}: parallel steps receive long results of runs that end while their parent waits`, async () => {
    const opened: (() => void)[] = [];
    const caller = family(3, async (call) => {
      await new Promise<void>((resolve) => opened.push(resolve));
      return finishWithLongResult(call);
    });
    await withRuntime(caller, async (bench) => {
      const { run } = await bench.trigger({ dialect });
      await settle();
      assert.equal(opened.length, 3);
      for (const open of opened) open();
      await settle();
      assert.deepEqual(resultLengths(await outcomesOf(bench, run)), Array(3).fill(LONG_RESULT.length));
    });
  });
}

test('a long result of an ended run is recorded after a restart', async () => {
  let isClosed = true;
  /** Loses the end of the invoked run, as a crash before the parent is notified does. */
  const wrap = (store: Store): Store => ({
    ...store,
    findInvoker: async (query) => (isClosed ? null : store.findInvoker(query)),
  });
  await withRuntime(
    family(1, finishWithLongResult),
    async (bench) => {
      const { run } = await bench.trigger();
      await settle();
      isClosed = false;
      await bench.restart();
      await settle();
      assert.deepEqual(resultLengths(await outcomesOf(bench, run)), [LONG_RESULT.length]);
    },
    { wrap },
  );
});

test('a run that is removed before its long result is read counts as removed, not as a success without a result', async () => {
  const wrap = (store: Store): Store => ({ ...store, loadResult: async () => null });
  await withRuntime(
    family(1, finishWithLongResult),
    async (bench) => {
      const { run } = await bench.trigger();
      await settle();
      const [outcome] = await outcomesOf(bench, run);
      assert.ok(outcome?.state === 'failed');
      assert.match(outcome.error, /removed before its end was recorded/);
    },
    { wrap },
  );
});
