/**
 * Many seeds, each with a separate world. A failure prints its seed:
 * `SIMULATION_SEED=17 node --test packages/everstep/dist/simulation/simulation.test.js` replays it;
 * `SIMULATION_SEEDS=5000` runs more of them, as `npm run soak` does.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createEndpoint } from '@everstep/sdk';
import {
  type RecordedOut,
  StepHistory,
  type Witnessed,
  type WitnessedEnd,
  witnessedEnd,
} from '../../../sdk/dist/testing/step-history.fixture.js';
import { SeededRandom } from '../clock/testing/seeded-random.js';
import type { Store } from '../ports/stores/store.js';
import { openSqliteStore } from '../stores/sqlite/index.js';
import type { App } from './faulty-caller.js';
import type { StoreFaults } from './faulty-store.js';
import { WORKFLOWS } from './workflows.js';
import { NO_FAULTS, World, type WorldFaults } from './world.js';

const OUTAGES: StoreFaults = { refuse: 0, loseAnswer: 0, outage: { chance: 0.02, longestMs: 60_000 } };

interface Plan {
  readonly workflows: readonly string[];
  readonly orders: number;
  /** All runs are started within this time. */
  readonly withinMs: number;
  /** Number of worlds, as a share of the number of seeds. */
  readonly share: number;
}

const EVERYTHING: Plan = { workflows: Object.keys(WORKFLOWS), orders: 12, withinMs: 30_000, share: 1 };

/**
 * Nodes look at the clock all the time, so a day is too long. More runs receive decisions while their steps are in
 * flight.
 */
const FOR_NODES: Plan = {
  workflows: [...EVERYTHING.workflows.filter((name) => name !== 'naps'), 'disturbed', 'disturbed', 'disturbed', 'disturbed'],
  orders: 5,
  withinMs: 12_500,
  share: 3 / 10,
};

const FAULTS: readonly (readonly [string, WorldFaults, Plan?])[] = [
  ['no faults', NO_FAULTS],
  [
    'a network that loses, repeats and delays',
    {
      ...NO_FAULTS,
      network: { loseRequest: 0.1, loseResponse: 0.1, duplicate: 0.1, garbage: 0.02, restartApp: 0.05, maxDelayMs: 3000 },
    },
  ],
  ['a service that is killed repeatedly', { ...NO_FAULTS, crash: 0.02 }],
  ['a store that rejects commits and loses responses', { ...NO_FAULTS, store: { refuse: 0.05, loseAnswer: 0.05 } }],
  ['a store that rejects all writes for a while', { ...NO_FAULTS, store: OUTAGES }],
  [
    'a store that rejects all writes for a while, a bad network, and a service that is killed',
    {
      network: { loseRequest: 0.05, loseResponse: 0.1, duplicate: 0.1, garbage: 0.01, restartApp: 0.1, maxDelayMs: 2000 },
      store: { ...OUTAGES, refuse: 0.02, loseAnswer: 0.03 },
      crash: 0.01,
    },
  ],
  [
    'all faults at once',
    {
      network: { loseRequest: 0.05, loseResponse: 0.1, duplicate: 0.1, garbage: 0.01, restartApp: 0.1, maxDelayMs: 2000 },
      store: { refuse: 0.02, loseAnswer: 0.03 },
      crash: 0.01,
    },
  ],
  [
    'nodes that work on the same steps, stall and are killed',
    {
      network: { loseRequest: 0.03, loseResponse: 0.03, duplicate: 0.1, garbage: 0, restartApp: 0.01, maxDelayMs: 3000 },
      store: { refuse: 0.005, loseAnswer: 0.01, stall: 0.04 },
      crash: 0.002,
      nodes: { count: 2, claimMs: 2_000, steal: 0.2 },
    },
    FOR_NODES,
  ],
  [
    // Commits of one node wait while another node decides on the run. A step is then delivered again before its first
    // response is recorded. The same worker executes both, and its code may see only one result.
    'nodes whose commits wait while others decide on their runs',
    {
      network: { ...NO_FAULTS.network, maxDelayMs: 1_500 },
      store: { refuse: 0, loseAnswer: 0, stall: 0.3 },
      crash: 0,
      nodes: { count: 2, claimMs: 10_000, steal: 0.05 },
    },
    { workflows: ['disturbed'], orders: 8, withinMs: 5_000, share: 3 / 2 },
  ],
];

/**
 * Starts the app with every workflow. Each workflow checks that a step starts only after the steps before it are
 * recorded, and records the results that its code has seen.
 */
function startApp(store: Store, history: StepHistory): App {
  const endpoints = new Map(
    Object.entries(WORKFLOWS).map(([name, workflow]) => [
      `http://app/${name}`,
      createEndpoint<{ seed: number }, unknown>(async (ctx) => {
        let recordedBefore = 0;
        const witness = history.witness(`${ctx.runId}@${ctx.runCreatedAt}`);
        const result = await workflow({
          payload: ctx.payload,
          run: async (stepName, step) => {
            const take = (action: () => Promise<Witnessed<number>>) => ctx.run(stepName, action);
            const value = await witness.run(stepName, take, async () => {
              const run = await store.findRun({
                instanceId: 'qi_simulated',
                workflowRunId: ctx.runId,
                createdAt: ctx.runCreatedAt,
              });
              const journal = await store.loadJournal({ runKey: run?.key ?? '', from: 0 });
              assert.ok(journal.length >= recordedBefore, 'a step started before the results that it depends on were recorded');
              return step();
            });
            recordedBefore++;
            return value;
          },
          sleep: async (stepName, seconds) => {
            await ctx.sleep(stepName, seconds);
            recordedBefore++;
          },
          waitForEvent: async (stepName, eventId, seconds) => {
            const outcome = await ctx.waitForEvent<number>(stepName, eventId, { timeout: seconds });
            recordedBefore++;
            witness.saw(stepName, outcome);
            return outcome.timeout ? null : outcome.eventData;
          },
          call: async (stepName, value) => {
            const url = `http://api/${value}`;
            const answer = await ctx.call<number>(stepName, { url, retries: 100, retryDelay: '1000' });
            recordedBefore++;
            witness.saw(stepName, answer.body);
            return answer.body;
          },
          invoke: async (stepName, invoked) => {
            const child = await ctx.invoke<WitnessedEnd<unknown>>(stepName, {
              workflowUrl: `http://app/${invoked}`,
              payload: ctx.payload,
            });
            recordedBefore++;
            witness.saw(stepName, child.workflowRunId);
            return child.state === 'succeeded' ? child.body.result : null;
          },
        });
        return witness.end(result);
      }),
    ]),
  );
  return {
    async handle(request) {
      const endpoint = endpoints.get(request.url);
      if (!endpoint) return { status: 404, headers: {}, body: '{}' };
      return endpoint.handle(request);
    },
  };
}

async function simulate(seed: number, faults: WorldFaults, { workflows, orders, withinMs }: Plan): Promise<World> {
  const store = await openSqliteStore({ file: ':memory:' });
  const history = new StepHistory();
  const world = new World(seed, faults, store, (opened) => startApp(opened, history));
  const plan = new SeededRandom(seed ^ 0x5eed);
  for (let i = 0; i < orders; i++) {
    world.order(workflows[plan.below(workflows.length)] ?? assert.fail(), plan.below(withinMs));
  }
  await world.run(() => world.atRest());
  await world.fork(3);
  await world.heal();
  await world.check(({ workflowRunId, createdAt, status, result }, steps) => {
    const recorded = steps.map(({ name, out }): RecordedOut => ({ name, out: out === null ? null : JSON.parse(out) }));
    const end = status === 'succeeded' && result !== null ? witnessedEnd(JSON.parse(result)) : null;
    return history.problems(`${workflowRunId}@${createdAt}`, recorded, end ?? undefined);
  });
  await store.close();
  return world;
}

const only = process.env.SIMULATION_SEED;
const count = Number(process.env.SIMULATION_SEEDS ?? 12);

for (const [name, faults, plan = EVERYTHING] of FAULTS) {
  test(`every acknowledged run succeeds and each step is recorded once, with ${name}`, async (context) => {
    const worlds = Math.ceil(count * plan.share);
    const seeds = only === undefined ? Array.from({ length: worlds }, (_, i) => i + 1) : [Number(only)];
    let crashes = 0;
    let recovered = 0;
    let forked = 0;
    let outages = 0;
    for (const seed of seeds) {
      try {
        const world = await simulate(seed, faults, plan);
        crashes += world.crashes;
        recovered += world.recovered;
        forked += world.forked;
        outages += world.outages;
        if (faults.store === OUTAGES) assert.equal(world.deliveries.repeated, 0, 'no attempt is delivered twice');
      } catch (error) {
        throw new Error(`seed ${seed}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
      }
    }
    context.diagnostic(
      `${seeds.length} seeds, ${crashes} crashes, ${recovered} dead letters recovered, ${forked} forks, ${outages} outages`,
    );
  });
}
