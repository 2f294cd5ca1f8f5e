/**
 * Random workflows over several nodes, some of which are killed, while responses of the app are lost. The result of a run does
 * not depend on which nodes handle it. `NODES_RANDOM_SEED=17` repeats the random choices, and `NODES_RANDOM_RUNS=2000` executes
 * more runs.
 */
import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { after, before, suite, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { EverstepError, serve } from '@everstep/sdk';
import { toNodeHandler } from '@everstep/sdk/node';
import {
  type RecordedOut,
  StepHistory,
  type WitnessedEnd,
  witnessedEnd,
} from '../../../../sdk/dist/testing/step-history.fixture.js';
import { SeededRandom } from '../../clock/testing/seeded-random.js';
import { apiResult, approvalEvent, expectedResult, LETTER_EVENT, WORKFLOWS } from '../../simulation/workflows.js';
import { IS_ON_CLUSTER, NO_CLUSTER } from '../../stores/postgres/testing/citus.js';
import { openTestSchemas } from '../../stores/postgres/testing/schemas.js';
import { type Endpoint, forEachIndex, listen, Nodes } from '../nodes.fixture.js';

const COUNT = 3;
const RUNS = Number(process.env.NODES_RANDOM_RUNS ?? 80);
const KILLS = Number(process.env.NODES_RANDOM_KILLS ?? 2);
const AT_ONCE = 24;
const LOST_ANSWERS = 0.05;
/** Parallelism of a key that a third of the runs share. */
const NARROW = 4;
/** Real duration of a second in the workflows; their long waits take half a second. */
const SECOND_MS = 40;
const LONG_SECONDS = 100_000;
const LONG_MS = 500;
/** Duration of steps whose end is not awaited: the loser of a race, or the timeout of an event that arrives. */
const NEVER_MS = 3_600_000;

const schemas = await openTestSchemas();

const msOf = (seconds: number): number => (seconds > LONG_SECONDS ? NEVER_MS : Math.min(seconds * SECOND_MS, LONG_MS));

interface Order {
  readonly runId: string;
  readonly workflow: string;
  readonly seed: number;
}

const NAME = 'random workflows over several nodes';
// If there is a cluster, the schemas are on it.
if (NO_CLUSTER) suite(`${NAME} on a Citus cluster`, { skip: NO_CLUSTER });

suite(IS_ON_CLUSTER ? `${NAME} on a Citus cluster` : NAME, {
  skip: typeof schemas === 'string' && schemas,
  timeout: Number(process.env.NODES_TEST_TIMEOUT_MS ?? 240_000),
}, () => {
  const seed = Number(process.env.NODES_RANDOM_SEED ?? randomInt(2 ** 31));
  const random = new SeededRandom(seed);
  let nodes: Nodes;
  const endpoints: Endpoint[] = [];
  const notifications = new Map<string, number>();
  const history = new StepHistory();

  before(async () => {
    if (typeof schemas === 'string') return;
    nodes = await Nodes.start(COUNT, { url: (await schemas.make()).url });
  });
  after(async () => {
    for (const endpoint of endpoints) endpoint.close();
    await nodes?.dispose();
  });

  async function startApp(): Promise<string> {
    const handlers = new Map<string, (request: IncomingMessage, response: ServerResponse) => unknown>();
    const app = await listen((request, response) => {
      const [, , part = '', value = ''] = (request.url ?? '').split('/');
      if (part === 'api')
        return response.setHeader('content-type', 'application/json').end(JSON.stringify(apiResult(Number(value))));
      // The work is done, but the response is lost.
      if (random.chance(LOST_ANSWERS)) response.end = () => response.destroy();
      handlers.get(part)?.(request, response);
    });
    endpoints.push(app);
    for (const [name, workflow] of Object.entries(WORKFLOWS)) {
      const served = serve<{ readonly seed: number }, unknown>(
        async (ctx) => {
          const witness = history.witness(`${ctx.runId}@${ctx.runCreatedAt}`);
          const result = await workflow({
            payload: ctx.payload,
            run: (step, work) => witness.run(step, (action) => ctx.run(step, action), work),
            sleep: (step, seconds) => ctx.sleep(step, msOf(seconds) / 1000),
            waitForEvent: async (step, eventId, seconds) => {
              const outcome = await ctx.waitForEvent<number>(step, eventId, { timeout: msOf(seconds) / 1000 });
              return outcome.timeout ? null : outcome.eventData;
            },
            call: async (step, value) => {
              const received = await ctx.call<number>(step, { url: `${app.url}/api/${value}`, retries: 20, retryDelay: '50' });
              return received.body;
            },
            invoke: async (step, invoked) => {
              const child = await ctx.invoke<WitnessedEnd<unknown>>(step, {
                workflowUrl: `${app.url}/${invoked}`,
                payload: ctx.payload,
                retries: 20,
                retryDelay: '50',
              });
              return child.state === 'succeeded' ? child.body.result : null;
            },
          });
          return witness.end(result);
        },
        { signingKeys: nodes.signingKeys },
      );
      handlers.set(name, toNodeHandler(served));
    }
    return app.url;
  }

  /** Notifies the event once, around the end of its wait. */
  async function approve({ runId, seed }: Order): Promise<void> {
    await pause(random.below(20 * SECOND_MS));
    const notified = await nodes
      .client(random.below(COUNT))
      .notify({ eventId: approvalEvent(seed), eventData: seed })
      .catch(() => []);
    for (const _ of notified) notifications.set(runId, (notifications.get(runId) ?? 0) + 1);
  }

  /** Sends an event to the run by id until one has arrived. */
  async function writeTo({ runId, seed }: Order): Promise<void> {
    let tries = 0;
    await nodes.anywhere(async (client) => {
      tries++;
      try {
        await client.notify({ eventId: LETTER_EVENT, eventData: seed, workflowRunId: runId });
      } catch (error) {
        // An earlier event arrived, but its response was lost with its node; the run has ended since.
        if (tries === 1 || !(error instanceof EverstepError) || error.code !== 'run-not-active') throw error;
      }
    });
  }

  async function ended({ runId, workflow, seed }: Order): Promise<void> {
    const outcome = await nodes.anywhere((client) => client.runs.result(runId, { timeout: '45s' }));
    const where = `${runId} (${workflow}, seed ${seed})`;
    if (outcome.workflowState !== 'RUN_SUCCESS') {
      // Each node reports its own work.
      const why = await Promise.all(nodes.all.map((_, index) => nodes.client(index).runs.explain(runId).catch(String)));
      assert.fail(`${where}: ${JSON.stringify(outcome)}\n${why.map((each) => JSON.stringify(each)).join('\n')}`);
    }
    const end = witnessedEnd('result' in outcome ? outcome.result : undefined) ?? assert.fail(where);
    assert.deepEqual(end.result, await expectedResult(workflow, { seed }), where);
    const { steps, workflowCreatedAt } = await nodes.anywhere((client) => client.runs.get(runId));
    const recorded = steps.map(
      ({ stepName, out }): RecordedOut => ({ name: stepName, out: out === undefined ? undefined : JSON.parse(out) }),
    );
    assert.deepEqual(history.problems(`${runId}@${workflowCreatedAt}`, recorded, end), [], where);
    const ids = steps.flatMap((step) => ('stepId' in step ? [step.stepId] : []));
    assert.equal(new Set(ids).size, ids.length, `${where}: each step is recorded once`);
    if (workflow !== 'approval') return;
    const wait = steps.find(({ stepName }) => stepName === 'approval');
    const timedOut = JSON.stringify(wait).includes('"timeout":true');
    assert.ok(
      (notifications.get(runId) ?? 0) <= (timedOut ? 0 : 1),
      `${where} was notified ${notifications.get(runId)} times, timed out: ${timedOut}`,
    );
  }

  test(`${RUNS} runs return the same results as on one node although nodes are killed ${KILLS} times`, async (t) => {
    t.diagnostic(`seed ${seed}`);
    const appUrl = await startApp();
    const names = Object.keys(WORKFLOWS);
    const orders = Array.from(
      { length: RUNS },
      (_, n): Order => ({
        runId: `random-${n}`,
        workflow: names[random.below(names.length)] ?? 'sequence',
        seed: n * 1_000 + random.below(1_000),
      }),
    );
    const run = forEachIndex(RUNS, AT_ONCE, async (n) => {
      const order = orders[n] ?? assert.fail();
      await nodes.anywhere((client) =>
        client.trigger(`${appUrl}/${order.workflow}`, {
          body: { seed: order.seed },
          runId: order.runId,
          deduplicationId: order.runId,
          retries: 20,
          retryDelay: '50',
          // The node that holds the gates makes every delivery of these, until it is killed.
          ...(order.seed % 3 === 0 ? { flowControl: { key: 'narrow', parallelism: NARROW } } : {}),
        }),
      );
      if (order.workflow === 'approval') await approve(order);
      if (order.workflow === 'letter') await writeTo(order);
      await ended(order);
    });
    const kill = async () => {
      for (let kills = 0; kills < KILLS; kills++) {
        await pause(500 + random.below(1_000));
        const node = nodes.node(random.below(COUNT));
        await node.end('SIGKILL');
        await node.start();
      }
    };
    await Promise.all([run, kill()]);
  });
});
