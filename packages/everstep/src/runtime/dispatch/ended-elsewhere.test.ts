/** Runs that end on one node while another node has deliveries of them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CALLBACK_SLOT } from '../../engine/runs/run.js';
import type { Submission } from '../../engine/runs/submissions.js';
import type { Cluster, ClusterEvents, SharedChange } from '../../ports/cluster.js';
import type { StepCaller, StepOutcome } from '../../ports/step-caller.js';
import type { DueTask } from '../../ports/stores/store.js';
import {
  aloneInCluster,
  type Bench,
  progress,
  ScriptedCaller,
  SETTINGS,
  SilentCaller,
  settle,
  withRuntime,
} from '../runtime.fixture.js';

const POLL_MS = 1_000;
const ORIGIN = 'http://app:80';

const noSteps = new ScriptedCaller(() => {
  throw new Error('no step was expected');
});

/** A node whose tasks the test hands to it. It holds the gates unless `holder` is another node. */
class OneOfSeveral {
  readonly tasks: DueTask[] = [];
  readonly notices: SharedChange[] = [];
  readonly handedOver: string[] = [];
  holder = 'n_1';
  events: ClusterEvents | null = null;
  readonly cluster: Cluster = {
    ...aloneInCluster(() => this.tasks.splice(0)),
    join: async (events) => {
      this.events = events;
    },
    notify: (change) => {
      this.notices.push(change);
    },
    handOver: async (tasks) => {
      this.handedOver.push(...tasks.map(({ runKey, slot }) => `${runKey}/${slot}`));
    },
    gateHolderOf: async () => this.holder,
  };
}

function taskOf({ clock }: Bench, runKey: string, slot: number, more: Partial<DueTask> = {}): DueTask {
  return {
    ...{ runKey, slot, instanceId: 'qi_1', kind: 'step', dueAt: clock.now() },
    ...{ workflowUrl: `${ORIGIN}/flow`, flowControlKey: null, runVersion: 1 },
    ...more,
  };
}

for (const kind of ['run-canceled', 'run-ended'] as const) {
  test(`deliveries that wait at a gate are removed on the notice ${kind} of another node`, async () => {
    const node = new OneOfSeveral();
    await withRuntime(
      noSteps,
      async (bench) => {
        const { runtime, clock } = bench;
        const pin = { kind: 'pin', limits: { parallelism: 1 } } as const;
        await runtime.flowControl.change({ instanceId: 'qi_1', key: 'k', change: pin });
        await runtime.flowControl.change({ instanceId: 'qi_1', key: 'k', change: { kind: 'pause' } });
        await runtime.destinations.hold({ instanceId: 'qi_1', origin: 'http://held', reason: 'moving' });
        const held = { workflowUrl: 'http://held/flow' };
        node.tasks.push(...[1, 2, 3].map((slot) => taskOf(bench, 'ended', slot, { flowControlKey: 'k' })));
        node.tasks.push(taskOf(bench, 'ended', 4, held), taskOf(bench, 'ended', CALLBACK_SLOT, { ...held, kind: 'callback' }));
        node.tasks.push(taskOf(bench, 'other', 1, { flowControlKey: 'k' }));
        const waiting = async () => {
          const { waiting: atKey } = (await runtime.flowControl.find({ instanceId: 'qi_1', key: 'k' })) ?? {};
          const [destination] = await runtime.destinations.list({ instanceId: 'qi_1' });
          return [atKey, destination?.waiting];
        };
        clock.move(POLL_MS);
        await settle();
        assert.deepEqual(await waiting(), [4, 2]);
        await node.events?.onChanged({ kind, runKey: 'ended' });
        assert.deepEqual(await waiting(), [1, 1], 'the failure callback and the other run still wait');
      },
      { cluster: node.cluster },
    );
  });
}

const FAILED: StepOutcome = {
  kind: 'failure',
  failure: {
    ...{ cause: 'http', message: 'no', retry: { kind: 'never' } },
    ...{ status: 500, responseHeaders: {}, responseBody: new Uint8Array() },
  },
};

/** A workflow that plans the steps, of which the first fails. */
const failing = (planned: NonNullable<Parameters<typeof progress>[1]['planned']>): StepCaller => ({
  call: async ({ request }, _signal, onSent) => {
    onSent?.();
    if (request.target !== null) return FAILED;
    const reply = progress(request, { planned });
    return { kind: 'reply', reply, status: 200, responseHeaders: {}, responseBody: new Uint8Array() };
  },
  close: async () => {},
});

test('the end of a run is reported to other nodes only if they may have further deliveries of it', async () => {
  const step = { stepId: 1, name: 'fails', type: 'Run' } as const;
  const call = { url: 'http://third/', method: 'GET', headers: {}, flowControl: { key: 'call', parallelism: 1 } };
  for (const isShared of [true, false]) {
    const node = new OneOfSeveral();
    node.holder = 'n_2';
    const planned = isShared ? [step, { stepId: 2, name: 'call', type: 'Call', call } as const] : [step];
    await withRuntime(
      failing(planned),
      async (bench) => {
        const { run } = await bench.trigger();
        await settle();
        assert.equal((await bench.store.findRun({ runKey: run.runKey }))?.status, 'failed');
        assert.deepEqual(node.handedOver, isShared ? [`${run.runKey}/2`] : []);
        const expected = isShared ? [{ kind: 'run-ended', runKey: run.runKey }] : [];
        assert.deepEqual(
          node.notices.filter((notice) => notice.kind === 'run-ended'),
          expected,
        );
      },
      { cluster: node.cluster },
    );
  }
});

test('an end that the endpoint submits here is reported if another node has a further delivery of the run', async () => {
  const call = { url: 'http://third/', method: 'GET', headers: {}, flowControl: { key: 'call', parallelism: 1 } };
  const node = new OneOfSeveral();
  node.holder = 'n_2';
  const caller = new SilentCaller();
  await withRuntime(
    caller,
    async (bench) => {
      const settings = { ...SETTINGS, steps: { joined: false, introduced: true } };
      const { workflowRunId, runKey } = (await bench.trigger({ dialect: 'upstash', settings })).run;
      await settle();
      const submit = (submission: Partial<Submission>) =>
        bench.runtime.runs.submit({ instanceId: 'qi_1', workflowRunId, submission: { done: [], planned: [], ...submission } });
      const step = { stepId: 1, name: 'fast', type: 'Run' } as const;
      assert.equal(await submit({ planned: [step, { stepId: 2, name: 'call', type: 'Call', call }] }), 'taken');
      caller.pendingReplies[0]?.();
      await settle();
      assert.deepEqual(node.handedOver, [`${runKey}/2`]);
      assert.equal(await submit({ done: [{ ...step, out: '1' }] }), 'taken');
      caller.pendingReplies[1]?.();
      await settle();
      assert.equal(await submit({ end: { kind: 'finished', result: '1' } }), 'taken');
      caller.pendingReplies[2]?.();
      assert.deepEqual(
        node.notices.filter((notice) => notice.kind === 'run-ended'),
        [{ kind: 'run-ended', runKey }],
      );
    },
    { cluster: node.cluster },
  );
});
