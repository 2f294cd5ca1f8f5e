/** Tests that a server completes its runs although its process is killed repeatedly. */
import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { serve } from '@everstep/sdk';
import { toNodeHandler } from '@everstep/sdk/node';
import { SeededRandom } from '../../clock/testing/seeded-random.js';
import { ServerProcess } from '../service-process.fixture.js';

/**
 * Duration of a sleep. No run ends before this time, and every process ends sooner after its last trigger, so some runs are
 * always open.
 */
const NAP_MS = 300;
const LONGEST_LIFE_MS = 250;

/** Result of a step. `execution` differs each time that the code of the step runs. */
interface Trace {
  readonly step: string;
  readonly execution: number;
}
interface Result {
  readonly order: number;
  readonly seen: readonly Trace[];
}
const STEPS = ['reserve', 'nap', 'charge', 'left', 'middle', 'right', 'receipt'];

/** Starts a worker that counts executions and fails the first attempt of one step. */
async function startWorker(keys: { readonly current: string; readonly next: string }) {
  let executions = 0;
  const chargedRunIds = new Set<string>();
  const trace = (step: string): Trace => ({ step, execution: ++executions });
  const workflow = serve<{ readonly order: number }, Result>(
    async (ctx) => {
      const { order } = ctx.payload;
      const reservation = await ctx.run('reserve', () => trace('reserve'));
      await ctx.sleep('nap', NAP_MS / 1000);
      const payment = await ctx.run('charge', () => {
        if (!chargedRunIds.has(ctx.runId)) {
          chargedRunIds.add(ctx.runId);
          throw new Error('the card terminal is not ready');
        }
        return trace('charge');
      });
      const sides = await Promise.all(['left', 'middle', 'right'].map((side) => ctx.run(side, () => trace(side))));
      const receipt = await ctx.run('receipt', () => trace('receipt'));
      return { order, seen: [reservation, payment, ...sides, receipt] };
    },
    { signingKeys: keys },
  );
  const handler = toNodeHandler(workflow);
  const server = createServer((request, response) => void handler(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/orders`,
    executions: () => executions,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

interface LoggedStep {
  readonly stepId?: number;
  readonly stepName: string;
  readonly state: string;
  readonly out?: string;
}
interface LoggedRun {
  readonly workflowRunId: string;
  readonly workflowRunCreatedAt: number;
  readonly workflowState: string;
  readonly steps: readonly { readonly type: string; readonly steps: readonly LoggedStep[] }[];
}

export interface KillOptions {
  readonly runs: number;
  readonly kills: number;
  /** Environment of the server. */
  readonly settings?: Readonly<Record<string, string>>;
}

/** Asserts that acknowledged runs end, and that each step is recorded once. */
export async function assertSurvivesKills(t: TestContext, { runs, kills, settings = {} }: KillOptions): Promise<void> {
  const seed = Number(process.env.CRASH_TEST_SEED ?? randomInt(2 ** 31));
  t.diagnostic(`seed ${seed} (set CRASH_TEST_SEED to repeat)`);
  const random = new SeededRandom(seed);
  const runsPerLife = runs / kills;
  const service = await ServerProcess.create(settings);
  t.after(() => service.dispose());
  await service.start();
  const worker = await startWorker({
    current: service.env.get('EVERSTEP_CURRENT_SIGNING_KEY') ?? '',
    next: service.env.get('EVERSTEP_NEXT_SIGNING_KEY') ?? '',
  });
  t.after(() => worker.close());

  /** Creation times of acknowledged runs, by order. */
  const creationTimes = new Map<number, number>();
  let unansweredTriggers = 0;

  async function trigger(order: number): Promise<void> {
    const headers = {
      'content-type': 'application/json',
      'svc-workflow-runid': `order-${order}`,
      // A repeated trigger whose response was lost must return the same run, even if that has ended.
      'svc-deduplication-id': `order-${order}`,
      'svc-retry-delay': '20',
    };
    const response = await service
      .request('POST', `/v2/trigger/${worker.url}`, headers, JSON.stringify({ order }))
      // The server was killed before it could respond.
      .catch(() => undefined);
    if (response === undefined) {
      unansweredTriggers++;
      return;
    }
    assert.equal(response.status, 200, JSON.stringify(response.body));
    const { workflowRunId, workflowCreatedAt } = response.body as { workflowRunId: string; workflowCreatedAt: number };
    assert.equal(workflowRunId, `order-${order}`);
    const earlierTime = creationTimes.get(order);
    assert.ok(earlierTime === undefined || earlierTime === workflowCreatedAt, `order ${order} started two runs`);
    creationTimes.set(order, workflowCreatedAt);
  }

  let unacknowledgedOrders: number[] = [];
  for (let life = 0; life < kills; life++) {
    if (life > 0) await service.start();
    unacknowledgedOrders.push(...Array.from({ length: runsPerLife }, (_, i) => life * runsPerLife + i));
    const triggers = Promise.all(unacknowledgedOrders.map(trigger));
    // Some processes are killed during triggers, others late during earlier runs.
    await pause(random.chance(0.25) ? random.below(15) : random.below(LONGEST_LIFE_MS));
    await service.end('SIGKILL');
    await triggers;
    unacknowledgedOrders = unacknowledgedOrders.filter((order) => !creationTimes.has(order));
  }
  // The server is killed once more during startup.
  await service.spawn();
  await pause(random.below(200));
  await service.end('SIGKILL');

  await service.start();
  await Promise.all(unacknowledgedOrders.map(trigger));
  assert.equal(creationTimes.size, runs);

  const problems: string[] = [];
  const executionsSeen = new Set<number>();
  for (let order = 0; order < runs; order++) {
    const id = `order-${order}`;
    try {
      const response = await service.request('GET', `/v2/workflows/runs/${id}/result?timeout=60s`);
      assert.equal(response.status, 200, JSON.stringify(response.body));
      const { workflowState, workflowCreatedAt, result } = response.body as {
        workflowState: string;
        workflowCreatedAt: number;
        result: Result;
      };
      assert.equal(workflowState, 'RUN_SUCCESS', JSON.stringify(response.body));
      assert.equal(workflowCreatedAt, creationTimes.get(order));
      assert.equal(result.order, order);

      const logs = await service.request('GET', `/v2/workflows/logs?workflowRunId=${id}`);
      const { runs: loggedRuns } = logs.body as { runs: LoggedRun[] };
      assert.equal(loggedRuns.length, 1, 'the id identifies one run');
      const recordedSteps = (loggedRuns[0]?.steps ?? [])
        .flatMap(({ steps }) => steps)
        .filter(({ stepId }) => stepId !== undefined);
      assert.deepEqual(recordedSteps.map(({ stepName }) => stepName).sort(), [...STEPS].sort());
      assert.equal(new Set(recordedSteps.map(({ stepId }) => stepId)).size, STEPS.length);
      assert.ok(recordedSteps.every(({ state }) => state === 'STEP_SUCCESS'));
      // The code sees recorded results, not the results of lost attempts.
      const traces = recordedSteps.flatMap(({ out }) => (out === undefined ? [] : [JSON.parse(out) as Trace]));
      const byStep = (a: Trace, b: Trace): number => a.step.localeCompare(b.step);
      assert.deepEqual(traces.sort(byStep), [...result.seen].sort(byStep));
      for (const { execution } of traces) executionsSeen.add(execution);
    } catch (error) {
      problems.push(`${id}: ${error instanceof Error ? error.message : error}`);
    }
  }
  t.diagnostic(`${unansweredTriggers} triggers were repeated; ${worker.executions()} step executions`);
  assert.deepEqual(problems, [], `seed ${seed}`);
  assert.equal(executionsSeen.size, runs * (STEPS.length - 1), 'no execution is recorded for two steps');
  await service.end('SIGTERM');
}
