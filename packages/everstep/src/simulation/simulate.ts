/** Runs simulations of orders, forks and recovery from the DLQ, and checks their results. */
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { type RecordedOut, StepHistory, witnessedEnd } from '../../../sdk/dist/testing/step-history.fixture.js';
import { SeededRandom } from '../clock/testing/seeded-random.js';
import { type EmbeddedStore, openSqliteStore } from '../stores/sqlite/index.js';
import { Simulation, type SimulationFaults } from './simulation.js';
import { startApp } from './witnessed-app.js';

/** The orders of a simulation. */
export interface Plan {
  readonly workflows: readonly string[];
  readonly orders: number;
  /** All runs are started within this time. */
  readonly withinMs: number;
  /** Number of simulations, as a share of the number of seeds. */
  readonly share: number;
  /** Maximum number of steps that the app reports together. Default: 1, so each step is recorded before the next starts. */
  readonly checkpointSteps?: number;
}

/** Returns the invariants that do not hold, with examples. */
export const violationsIn = (store: EmbeddedStore): readonly string[] =>
  store.checkConsistency().flatMap(({ id, examples }) => examples.map((what) => `${id}: ${what}`));

/** Runs the simulation of a seed to its end and checks it. Rejects with the first problem. */
export async function simulate(
  seed: number,
  faults: SimulationFaults,
  { workflows, orders, withinMs, checkpointSteps = 1 }: Plan,
): Promise<Simulation> {
  const store = await openSqliteStore({ file: ':memory:' });
  const history = new StepHistory({ checkpointSteps });
  const simulation = new Simulation(seed, faults, store, (startedStore, baseUrl) =>
    startApp(startedStore, history, { baseUrl, checkpointSteps }),
  );
  const orderRandom = new SeededRandom(seed ^ 0x5eed);
  for (let i = 0; i < orders; i++) {
    simulation.order(workflows[orderRandom.below(workflows.length)] ?? assert.fail(), orderRandom.below(withinMs));
  }
  await simulation.run(() => simulation.isAtRest());
  await simulation.fork(3);
  await simulation.heal();
  await simulation.check(({ workflowRunId, createdAt, status, result }, steps) => {
    const recorded = steps.map(({ name, out }): RecordedOut => ({ name, out: out === null ? null : JSON.parse(out) }));
    const end = status === 'succeeded' && result !== null ? witnessedEnd(JSON.parse(result)) : null;
    return history.problems(`${workflowRunId}@${createdAt}`, recorded, end ?? undefined);
  });
  assert.deepEqual(violationsIn(store), []);
  await store.close();
  return simulation;
}

const onlySeed = process.env.SIMULATION_SEED;
const seedCount = Number(process.env.SIMULATION_SEEDS ?? 9);

/** Runs the simulations of the seeds that the environment selects. */
export async function simulateSeeds(context: TestContext, faults: SimulationFaults, plan: Plan): Promise<void> {
  const simulationCount = Math.ceil(seedCount * plan.share);
  const seeds = onlySeed === undefined ? Array.from({ length: simulationCount }, (_, i) => i + 1) : [Number(onlySeed)];
  const totals = { crashCount: 0, recoveryCount: 0, forkCount: 0, outageCount: 0, cuts: 0 };
  for (const seed of seeds) {
    try {
      const simulation = await simulate(seed, faults, plan);
      for (const name of ['crashCount', 'recoveryCount', 'forkCount', 'outageCount', 'cuts'] as const)
        totals[name] += simulation[name];
      if (faults.deliversAttemptsOnce) assert.equal(simulation.deliveries.repeatedCount, 0, 'no attempt is delivered twice');
    } catch (error) {
      throw new Error(`seed ${seed}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
    }
  }
  const { crashCount, recoveryCount, forkCount, outageCount, cuts } = totals;
  context.diagnostic(
    `${seeds.length} seeds, ${crashCount} crashes, ${cuts} cut connections, ${recoveryCount} dead letters recovered, ${forkCount} forks, ${outageCount} outages`,
  );
}
