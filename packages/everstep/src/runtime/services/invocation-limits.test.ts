/** Invoked runs are counted and limited like triggered runs. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PlannedStep } from '@everstep/sdk/protocol';
import { type InstanceLimits, NO_LIMITS, type RunAdmission, type RunRefusal } from '../../ports/stores/instance-limits.js';
import { progress, ScriptedCaller, settle, withRuntime } from '../runtime.fixture.js';

const INSTANCE = 'qi_1';
const CHILD = 'http://app/child';
const invoke = (stepId: number): PlannedStep => ({
  stepId,
  name: `child ${stepId}`,
  type: 'Invoke',
  invoke: { workflowUrl: CHILD, headers: {} },
});

/** Returns a parent that invokes two runs and returns their outcomes. Its children finish immediately. */
const family = () =>
  new ScriptedCaller(({ workflowUrl, request }) => {
    if (workflowUrl === CHILD) return progress(request, { end: { kind: 'finished', result: '1' } });
    const { entries, length } = request.journal;
    if (length === 0) return progress(request, { planned: [invoke(1), invoke(2)] });
    const result = JSON.stringify(entries.map(({ out }) => JSON.parse(out ?? 'null')));
    return progress(request, length < 2 ? {} : { end: { kind: 'finished', result } });
  });

test('an invoked run counts for the day on which it was admitted', async () => {
  const admittedAt = Date.UTC(2026, 10, 21);
  const asked: number[] = [];
  const limits: InstanceLimits = {
    ...NO_LIMITS,
    async admitRuns(_instanceId, runs): Promise<RunAdmission> {
      asked.push(runs);
      return { kind: 'admitted', at: admittedAt };
    },
  };
  await withRuntime(
    family(),
    async (bench) => {
      await bench.trigger({ admittedAt });
      await settle();
      assert.deepEqual(asked, [1, 1]);
      const counts = await bench.store.accounts.countsByDay({ instanceId: INSTANCE, fromDay: 0 });
      assert.deepEqual(
        counts.map(({ what, count, lastAt }) => [what, count, lastAt]),
        [['run', 3, admittedAt]],
      );
    },
    { limits },
  );
});

test('a refused invocation ends its step with the reason and its code, and the run continues', async () => {
  let left = 1;
  const refusal: RunRefusal = { kind: 'daily-limit', message: 'the plan small starts at most 2 runs a day' };
  const limits: InstanceLimits = {
    ...NO_LIMITS,
    admitRuns: async () => (left-- > 0 ? { kind: 'admitted', at: null } : refusal),
  };
  await withRuntime(
    family(),
    async (bench) => {
      const { run } = await bench.trigger();
      await settle();
      const result = JSON.parse((await bench.store.loadResult({ runKey: run.runKey })) ?? 'null') as {
        readonly state: string;
        readonly error?: string;
      }[];
      const states = result.map(({ state }) => state).toSorted();
      assert.deepEqual(states, ['failed', 'succeeded']);
      const error = result.find(({ state }) => state === 'failed')?.error ?? '';
      assert.match(error, /^the workflow was not started: the plan small .* \(daily-limit-reached\)$/);
      const counts = await bench.store.accounts.countsByDay({ instanceId: INSTANCE, fromDay: 0 });
      assert.deepEqual(Object.fromEntries(counts.map(({ what, count }) => [what, count])), {
        run: 2,
        'step-daily-limit-reached': 1,
      });
    },
    { limits },
  );
});
