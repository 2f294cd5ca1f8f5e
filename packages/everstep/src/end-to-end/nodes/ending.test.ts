/** Guarantees of several nodes on one database while some are killed, paused or stopped. */
import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { after, before, suite, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { serve } from '@everstep/sdk';
import { toNodeHandler } from '@everstep/sdk/node';
import { SeededRandom } from '../../clock/testing/seeded-random.js';
import { openTestSchemas } from '../../stores/postgres/testing/schemas.js';
import { type Endpoint, forEachIndex, listen, Nodes, waitUntil } from '../nodes.fixture.js';

const LEASE_MS = 1_000;
const RUNS = Number(process.env.NODES_TEST_RUNS ?? 80);
const KILLS = Number(process.env.NODES_TEST_KILLS ?? 2);
const STEPS = ['one', 'two', 'three', 'four', 'five'];
/** Number of deliveries, more than one host gets at a time. */
const HOST_SLOTS = 256;

const schemas = await openTestSchemas();

interface Execution {
  readonly step: string;
  readonly execution: number;
}

suite('nodes that end', {
  skip: typeof schemas === 'string' && schemas,
  timeout: Number(process.env.NODES_TEST_TIMEOUT_MS ?? 240_000),
}, () => {
  let nodes: Nodes;
  const endpoints: Endpoint[] = [];

  before(async () => {
    if (typeof schemas === 'string') return;
    nodes = await Nodes.start(3, { url: (await schemas.make()).url });
  });
  after(async () => {
    for (const endpoint of endpoints) endpoint.close();
    await nodes?.dispose();
  });

  /** Serves a workflow whose steps call `work` and return a value that identifies the execution. */
  async function steps(names: readonly string[], work: (runId: string, step: string, execution: number) => Promise<void>) {
    let executions = 0;
    const workflow = serve(
      async (ctx) => {
        const seen: Execution[] = [];
        for (const step of names) {
          const made = await ctx.run(step, async () => {
            const execution = ++executions;
            await work(ctx.runId, step, execution);
            return { step, execution };
          });
          seen.push(made);
        }
        return seen;
      },
      { signingKeys: nodes.signingKeys },
    );
    const handler = toNodeHandler(workflow);
    const endpoint = await listen((request, response) => void handler(request, response));
    endpoints.push(endpoint);
    return { url: endpoint.url, executions: () => executions };
  }

  /** Resolves when the run has succeeded and its code saw exactly the recorded results. */
  async function assertEnded(runId: string, names: readonly string[]): Promise<void> {
    const ended = await nodes.anywhere((client) => client.runs.result<readonly Execution[]>(runId, { timeout: '30s' }));
    assert.equal(ended.workflowState, 'RUN_SUCCESS', `${runId}: ${JSON.stringify(ended)}`);
    const seen = 'result' in ended ? (ended.result as readonly Execution[]) : [];
    assert.deepEqual(
      seen.map(({ step }) => step),
      names,
      runId,
    );
    const { steps: recorded } = await nodes.anywhere((client) => client.runs.get(runId));
    const named = recorded.filter(({ stepName }) => names.includes(stepName));
    assert.deepEqual(named.map(({ stepName }) => stepName).sort(), [...names].sort(), `${runId}: steps recorded`);
    const outs = new Map(named.map((step) => [step.stepName, JSON.stringify('out' in step ? step.out : undefined)]));
    for (const each of seen) assert.match(outs.get(each.step) ?? '', new RegExp(`\\D${each.execution}\\D`), runId);
  }

  test(`${RUNS} runs end with each step recorded once although nodes are killed ${KILLS} times`, async (t) => {
    const seed = Number(process.env.CRASH_TEST_SEED ?? randomInt(2 ** 31));
    t.diagnostic(`seed ${seed} (set CRASH_TEST_SEED to repeat)`);
    const random = new SeededRandom(seed);
    const { url, executions } = await steps(STEPS, () => pause(random.below(20)));
    const createdAt = new Map<string, number>();
    let triggering = true;
    const triggers = forEachIndex(RUNS, 8, async (n) => {
      const runId = `killed-${n}`;
      // The trigger is repeated if the response was lost: it must start the same run.
      const options = { runId, deduplicationId: runId, retryDelay: '20' };
      const { workflowCreatedAt } = await nodes.anywhere((client) => client.trigger(url, options));
      createdAt.set(runId, workflowCreatedAt);
      await pause(random.below(80));
    }).finally(() => {
      triggering = false;
    });
    let kills = 0;
    while (kills < KILLS || triggering) {
      const node = nodes.node(random.below(3));
      await pause(random.below(400));
      await node.end('SIGKILL');
      kills++;
      await node.start();
    }
    await triggers;
    await forEachIndex(RUNS, 16, (n) => assertEnded(`killed-${n}`, STEPS));
    t.diagnostic(`killed ${kills} times; ${executions()} executions of ${RUNS * STEPS.length} steps`);
    for (const [runId, at] of createdAt) {
      const { workflowCreatedAt } = await nodes.client(0).runs.get(runId);
      assert.equal(workflowCreatedAt, at, `${runId} is the run that was acknowledged`);
    }
  });

  test('work of a killed node is taken over within a second after its lease expires', async (t) => {
    const calls = new Map<string, number[]>();
    const { url } = await steps(['slow'], async (runId) => {
      const times = calls.get(runId) ?? [];
      calls.set(runId, [...times, performance.now()]);
      // The first request never gets a response.
      if (times.length === 0) await pause(60_000, undefined, { ref: false });
    });
    const runIds = Array.from({ length: 20 }, (_, n) => `taken-${n}`);
    for (const runId of runIds) await nodes.client(1).trigger(url, { runId });
    await waitUntil('all deliveries are in flight', () => calls.size === runIds.length);
    const killedAt = performance.now();
    await nodes.node(1).end('SIGKILL');
    await waitUntil('all deliveries are taken over', () => [...calls.values()].every(({ length }) => length >= 2));
    const latest = Math.max(...[...calls.values()].map((times) => (times[1] ?? 0) - killedAt));
    t.diagnostic(`taken over after ${Math.round(latest)} ms`);
    assert.ok(latest < LEASE_MS + 1_000, `${latest} ms`);
    for (const runId of runIds) await assertEnded(runId, ['slow']);
    await nodes.node(1).start();
  });

  test('a node paused for longer than its lease does not overwrite the work of other nodes', async () => {
    const names = ['first', 'second', 'third'];
    const { url, executions } = await steps(names, () => pause(150));
    const runIds = Array.from({ length: 30 }, (_, n) => `paused-${n}`);
    await Promise.all(runIds.map((runId) => nodes.client(2).trigger(url, { runId })));
    await waitUntil('some runs have started', () => executions() > 0);
    nodes.node(2).signal('SIGSTOP');
    // The work of the node is taken over and continues elsewhere; responses to its requests wait for it.
    await waitUntil('others have taken over', async () => (await nodes.client(0).live.nodes()).length === 2);
    nodes.node(2).signal('SIGCONT');
    for (const runId of runIds) await assertEnded(runId, names);
    // The node joins again.
    await nodes.node(2).ready();
    await nodes.client(2).trigger(url, { runId: 'after-the-pause' });
    await assertEnded('after-the-pause', names);
    await waitUntil('the node has logged that', () => /lease was taken over/.test(nodes.node(2).output));
  });

  test('a stopping node returns unstarted work immediately and finishes work in flight', async (t) => {
    const asked = new Map<string, number>();
    let release = (): void => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    const { url } = await steps(['hold', 'next'], async (runId, step) => {
      asked.set(`${runId}/${step}`, performance.now());
      if (step === 'hold' && asked.size <= HOST_SLOTS) await released;
    });
    const count = HOST_SLOTS + 40;
    await forEachIndex(count, 16, async (n) => {
      await nodes.client(0).trigger(url, { runId: `stopped-${n}` });
    });
    // Some deliveries wait for slots.
    await waitUntil('every slot is taken', () => asked.size === HOST_SLOTS);
    const started = [...asked.keys()].map((key) => key.slice(0, key.indexOf('/')));
    const waiting = Array.from({ length: count }, (_, n) => `stopped-${n}`).filter((runId) => !started.includes(runId));
    const since = (from: number, keys: readonly string[]) =>
      Math.round(Math.max(...keys.map((key) => asked.get(key) ?? 0)) - from);
    const stoppedAt = performance.now();
    const ended = nodes.node(0).end('SIGTERM');
    const holds = waiting.map((runId) => `${runId}/hold`);
    await waitUntil('waiting work starts elsewhere', () => holds.every((key) => asked.has(key)));
    t.diagnostic(`waiting work started elsewhere within ${since(stoppedAt, holds)} ms`);
    // Deliveries in flight are still awaited.
    assert.equal(nodes.node(0).isEnded, false);
    const releasedAt = performance.now();
    release();
    const nexts = started.map((runId) => `${runId}/next`);
    await waitUntil('follow-up steps start', () => nexts.every((key) => asked.has(key)));
    t.diagnostic(`follow-up work started elsewhere within ${since(releasedAt, nexts)} ms`);
    await ended;
    t.diagnostic(`the node ended ${Math.round(performance.now() - releasedAt)} ms after the last response`);
    await forEachIndex(count, 16, (n) => assertEnded(`stopped-${n}`, ['hold', 'next']));
    await nodes.node(0).start();
  });
});
