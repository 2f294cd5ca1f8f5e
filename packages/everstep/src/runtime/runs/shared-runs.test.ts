/** Runs that several nodes decide on. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { StepReply } from '@everstep/sdk/protocol';
import type { Submission } from '../../engine/runs/submissions.js';
import type { CommitResult } from '../../engine/writes.js';
import type { StepCall } from '../../ports/step-caller.js';
import type { DueTask, Store } from '../../ports/stores/store.js';
import {
  aloneInCluster,
  endOf,
  progress,
  recordedDigest,
  ScriptedCaller,
  SETTINGS,
  SilentCaller,
  settle,
  withRuntime,
} from '../runtime.fixture.js';

const SLEEP_MS = 5_000;

/** A workflow that sleeps once, and ends. */
const sleeper = ({ request }: StepCall): StepReply =>
  request.journal.length === 0
    ? progress(request, { planned: [{ stepId: 1, name: 'nap', type: 'SleepFor', sleepMs: SLEEP_MS }] })
    : progress(request, { end: { kind: 'finished', result: '"awake"' } });

test('a delivery is made if it becomes due while an older one finds nothing to deliver', async () => {
  const claims: DueTask[] = [];
  const caller = new ScriptedCaller(sleeper);
  const cluster = aloneInCluster(() => claims.splice(0));
  await withRuntime(
    caller,
    async (bench) => {
      const { run } = await bench.trigger();
      await settle();
      assert.equal(caller.calls.length, 1);
      const task = {
        runKey: run.runKey,
        instanceId: 'qi_1',
        workflowUrl: 'http://app/flow',
        flowControlKey: null,
        runVersion: 1,
      };
      // The first is an earlier delivery that was found late. The second is the sleep, whose end makes another delivery due.
      claims.push({ ...task, slot: 0, kind: 'advance', dueAt: bench.clock.now() });
      claims.push({ ...task, slot: 1, kind: 'sleep', dueAt: bench.clock.now() + SLEEP_MS });
      bench.clock.move(SLEEP_MS);
      await settle();
      assert.equal(caller.calls.length, 2);
      assert.equal((await endOf(bench, run))?.result, '"awake"');
    },
    { cluster },
  );
});

test('a run continues if its state is dropped because another node continued it while its next task was being written', async () => {
  const claims: DueTask[] = [];
  let held: Promise<void> | null = null;
  /** Returns a store whose commits resolve when the test decides. */
  const slow = (store: Store): Store =>
    new Proxy(store, {
      get(target, property, receiver) {
        if (property !== 'commit') return Reflect.get(target, property, receiver);
        return async (...units: Parameters<Store['commit']>) => {
          const results = await target.commit(...units);
          await held;
          return results;
        };
      },
    });
  const caller = new ScriptedCaller(({ request }) =>
    request.journal.length === 0
      ? progress(request, { planned: [{ stepId: 1, name: 'blink', type: 'SleepFor', sleepMs: 0 }] })
      : progress(request, { end: { kind: 'finished', result: '"awake"' } }),
  );
  await withRuntime(
    caller,
    async (bench) => {
      const { run } = await bench.trigger();
      let respond = (): void => {};
      held = new Promise((resolve) => {
        respond = resolve;
      });
      await settle();
      // The plan is written by now. Another task of the run shows this node that the run is at a later version.
      const { runKey } = run;
      const place = { instanceId: 'qi_1', workflowUrl: 'http://app/flow', flowControlKey: null, kind: 'sleep' as const };
      claims.push({ ...place, runKey, slot: 9, dueAt: bench.clock.now(), runVersion: Number.MAX_SAFE_INTEGER });
      bench.clock.move(1_000);
      await settle();
      respond();
      held = null;
      await settle();
      assert.equal(caller.calls.length, 2);
      assert.equal((await endOf(bench, run))?.result, '"awake"');
    },
    { wrap: slow, cluster: aloneInCluster(() => claims.splice(0)) },
  );
});

test('a node that reads a run after another node recorded the introduction of its endpoint calls it for the first step', async () => {
  const claims: DueTask[] = [];
  const caller = new SilentCaller();
  await withRuntime(
    caller,
    async (bench) => {
      const settings = { ...SETTINGS, steps: { joined: true, introduced: false } };
      const { run } = await bench.trigger({ dialect: 'upstash', settings });
      await settle();
      const { workflowRunId, runKey } = run;
      const submit = (submission: Partial<Submission>) =>
        bench.runtime.runs.submit({ instanceId: 'qi_1', workflowRunId, submission: { done: [], planned: [], ...submission } });
      assert.equal(await submit({ introduction: true }), 'taken');
      // As if another node had received it: this node finds the next task of a later version, and reads the run again.
      const place = { instanceId: 'qi_1', workflowUrl: 'http://app/flow', flowControlKey: null, kind: 'advance' as const };
      claims.push({ ...place, runKey, slot: 0, dueAt: bench.clock.now(), runVersion: Number.MAX_SAFE_INTEGER });
      bench.clock.move(1_000);
      await settle();
      caller.pendingReplies[0]?.();
      await settle();
      assert.deepEqual(
        caller.calls.map(({ hasIntroducedItself }) => hasIntroducedItself),
        [false, true],
      );
      assert.equal(await submit({ end: { kind: 'finished', result: '1' } }), 'taken');
      caller.pendingReplies[1]?.();
      assert.equal((await endOf(bench, run))?.result, '1');
    },
    { cluster: aloneInCluster(() => claims.splice(0)) },
  );
});

test('a result that was not recorded never counts as held, although its reply arrived and another was recorded', async () => {
  const claims: DueTask[] = [];
  let refuse: Promise<void> | null = null;
  /** Returns a store that rejects one commit when the test decides, because another node has decided on the run. */
  const contested = (store: Store): Store =>
    new Proxy(store, {
      get(target, property, receiver) {
        if (property !== 'commit') return Reflect.get(target, property, receiver);
        return async (...parameters: Parameters<Store['commit']>): Promise<readonly CommitResult[]> => {
          const held = refuse;
          if (!held) return target.commit(...parameters);
          refuse = null;
          await held;
          return parameters[0].map(() => ({ kind: 'run-moved' }));
        };
      },
    });
  const pendingReplies: ((out: string) => void)[] = [];
  const caller = new ScriptedCaller(async ({ request }) => {
    const hold = (worker: string, through: number) => ({ hold: { worker, through } });
    const done = (stepId: number, out: string) => [{ stepId, name: `s${stepId}`, type: 'Run' as const, out }];
    switch (request.journal.length) {
      case 0:
        return progress(request, {
          done: done(1, '"one"'),
          planned: [{ stepId: 2, name: 's2', type: 'Run' }],
          ...hold('w.1', 1),
        });
      case 1: {
        const worker = `w.${pendingReplies.length + 1}`;
        const out = await new Promise<string>((resolve) => pendingReplies.push(resolve));
        const planned = [{ stepId: 3, name: 'nap', type: 'SleepFor' as const, sleepMs: SLEEP_MS }];
        return progress(request, { done: done(2, out), planned, ...hold(worker, 2) });
      }
      default:
        return progress(request, { end: { kind: 'finished' } });
    }
  });
  await withRuntime(
    caller,
    async (bench) => {
      const { run } = await bench.trigger();
      await settle();
      assert.equal(pendingReplies.length, 1);
      // The commit of its reply is rejected later.
      let moved = (): void => {};
      refuse = new Promise((resolve) => {
        moved = resolve;
      });
      pendingReplies[0]?.('"recorded"');
      await settle();
      // In the meantime a scan finds the step on a newer state, and it is delivered again.
      const { runKey } = run;
      const task = { runKey, instanceId: 'qi_1', workflowUrl: 'http://app/flow', flowControlKey: null };
      claims.push({ ...task, slot: 2, kind: 'step', dueAt: bench.clock.now(), runVersion: Number.MAX_SAFE_INTEGER });
      bench.clock.move(1_000);
      await settle();
      assert.equal(pendingReplies.length, 2);
      // The first reply is recorded on the newer state, and the second one has no effect.
      moved();
      await settle();
      pendingReplies[1]?.('"ignored"');
      await settle();
      claims.push({ ...task, slot: 3, kind: 'sleep', dueAt: bench.clock.now() + SLEEP_MS, runVersion: 0 });
      bench.clock.move(SLEEP_MS);
      await settle();
      const { journal } = caller.calls.at(-1)?.request ?? assert.fail();
      assert.equal(journal.length, 3);
      const recorded = await bench.store.loadJournal({ runKey, from: 0 });
      assert.equal(recorded[1]?.out, '"recorded"');
      assert.notEqual(journal.worker, 'w.2', 'the worker that holds the result that was not recorded');
      assert.equal(journal.digest, await recordedDigest(bench.store, runKey, journal.from));
    },
    { wrap: contested, cluster: aloneInCluster(() => claims.splice(0)) },
  );
});
