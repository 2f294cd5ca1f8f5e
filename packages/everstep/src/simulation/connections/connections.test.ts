/**
 * Harnesses whose app consists of workers that connect to the server. The connections are cut at every message, and randomly
 * together with all other faults. `SIMULATION_SEED=17` replays a seed; `SIMULATION_SEEDS=5000` runs more of them.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Plan, simulate, simulateSeeds } from '../simulate.js';
import { NO_FAULTS, type SimulationFaults } from '../simulation.js';
import { WORKFLOWS } from '../workflows.js';
import { NO_CONNECTION_FAULTS } from './cut-connection.js';

const CALM: SimulationFaults = { ...NO_FAULTS, connections: NO_CONNECTION_FAULTS };
/** Heartbeats would take most of the time of a workflow that sleeps for a day. */
const SHAPES = Object.keys(WORKFLOWS).filter((name) => name !== 'naps');
const EVERYTHING: Plan = { workflows: SHAPES, orders: 12, withinMs: 30_000, share: 1 / 4 };
const ROUGH = { maxDelayMs: 2_000, cut: 0.02, silence: 0.002, restartWorker: 0.01, drain: 0.01 };
const NETWORK = { ...NO_FAULTS.network, loseRequest: 0.05, loseResponse: 0.05 };

const FAULTS: readonly (readonly [string, SimulationFaults])[] = [
  ['no faults', CALM],
  ['connections that are cut', { ...CALM, connections: { ...NO_CONNECTION_FAULTS, cut: 0.1, maxDelayMs: 2_000 } }],
  ['connections that become silent', { ...CALM, connections: { ...NO_CONNECTION_FAULTS, silence: 0.02, maxDelayMs: 500 } }],
  ['workers that are killed', { ...CALM, connections: { ...NO_CONNECTION_FAULTS, workers: 3, restartWorker: 0.1 } }],
  ['connections that both sides drain', { ...CALM, connections: { ...NO_CONNECTION_FAULTS, drain: 0.1, maxDelayMs: 500 } }],
  ['one worker with one slot', { ...CALM, connections: { ...NO_CONNECTION_FAULTS, ...ROUGH, workers: 1, maxConcurrency: 1 } }],
  ['a server that is killed repeatedly', { ...CALM, crash: 0.01 }],
  [
    'all faults at once, and several workers with few slots',
    {
      network: NETWORK,
      store: { rejectChance: 0.02, loseReply: 0.03 },
      crash: 0.005,
      connections: { ...NO_CONNECTION_FAULTS, ...ROUGH, workers: 4, maxConcurrency: 2 },
    },
  ],
];

for (const [name, faults] of FAULTS) {
  test(`every run over connections succeeds and each step is recorded once, with ${name}`, async (context) => {
    await simulateSeeds(context, faults, EVERYTHING);
  });
}

/** Runs of every shape with steps, close together, so that messages contain frames of several runs. */
const FEW: Plan = { workflows: ['sequence', 'fan', 'branches', 'race'], orders: 3, withinMs: 40, share: 1 };

for (const delivers of [false, true]) {
  test(`nothing is lost or repeated when the connection is cut ${delivers ? 'after' : 'before'} any message`, async (context) => {
    const cutAt = (message: number): SimulationFaults => ({
      ...CALM,
      connections: { ...NO_CONNECTION_FAULTS, workers: 1, cutAt: { message, delivers } },
    });
    for (const seed of process.env.EVERSTEP_SOAK ? [1, 2, 3, 4, 5, 6, 7, 8] : [1]) {
      const { messages } = await simulate(seed, cutAt(0), FEW);
      for (let message = 1; message <= messages; message++) {
        try {
          const { cuts } = await simulate(seed, cutAt(message), FEW);
          assert.ok(cuts > 0);
        } catch (error) {
          throw new Error(`seed ${seed}, message ${message}: ${String(error)}`, { cause: error });
        }
      }
      context.diagnostic(`seed ${seed}: ${messages} messages`);
    }
  });
}
