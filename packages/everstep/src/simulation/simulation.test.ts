/**
 * Many seeds, each with a separate simulation. A failure prints its seed:
 * `SIMULATION_SEED=17 node --test packages/everstep/dist/simulation/simulation.test.js` replays it;
 * `SIMULATION_SEEDS=5000` runs more of them, as `npm run soak` does.
 */
import { test } from 'node:test';
import type { StoreFaults } from './faulty-store.js';
import { type Plan, simulateSeeds } from './simulate.js';
import { NO_FAULTS, type SimulationFaults } from './simulation.js';
import { WORKFLOWS } from './workflows.js';

const OUTAGES: StoreFaults = { rejectChance: 0, loseReply: 0, outage: { chance: 0.02, longestMs: 60_000 } };

const EVERYTHING: Plan = { workflows: Object.keys(WORKFLOWS), orders: 12, withinMs: 30_000, share: 1 };

/**
 * Nodes check the clock all the time, so a simulated day would take too long. More runs receive decisions while their steps are
 * in flight.
 */
const FOR_NODES: Plan = {
  workflows: [...EVERYTHING.workflows.filter((name) => name !== 'naps'), 'disturbed', 'disturbed', 'disturbed', 'disturbed'],
  orders: 5,
  withinMs: 12_500,
  share: 3 / 10,
};

const FAULTS: readonly (readonly [string, SimulationFaults, Plan?])[] = [
  ['no faults', NO_FAULTS],
  [
    'a network that loses, repeats and delays',
    {
      ...NO_FAULTS,
      network: { loseRequest: 0.1, loseResponse: 0.1, duplicate: 0.1, garbage: 0.02, restartApp: 0.05, maxDelayMs: 3000 },
    },
  ],
  ['a server that is killed repeatedly', { ...NO_FAULTS, crash: 0.02 }],
  ['a store that rejects commits and loses responses', { ...NO_FAULTS, store: { rejectChance: 0.05, loseReply: 0.05 } }],
  ['a store that rejects all writes for a while', { ...NO_FAULTS, store: OUTAGES, deliversAttemptsOnce: true }],
  [
    'a store that rejects all writes for a while, a bad network, and a server that is killed',
    {
      network: { loseRequest: 0.05, loseResponse: 0.1, duplicate: 0.1, garbage: 0.01, restartApp: 0.1, maxDelayMs: 2000 },
      store: { ...OUTAGES, rejectChance: 0.02, loseReply: 0.03 },
      crash: 0.01,
    },
  ],
  [
    'all faults at once',
    {
      network: { loseRequest: 0.05, loseResponse: 0.1, duplicate: 0.1, garbage: 0.01, restartApp: 0.1, maxDelayMs: 2000 },
      store: { rejectChance: 0.02, loseReply: 0.03 },
      crash: 0.01,
    },
  ],
  [
    'nodes that work on the same steps, stall and are killed',
    {
      network: { loseRequest: 0.03, loseResponse: 0.03, duplicate: 0.1, garbage: 0, restartApp: 0.01, maxDelayMs: 3000 },
      store: { rejectChance: 0.005, loseReply: 0.01, stall: 0.04 },
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
      store: { rejectChance: 0, loseReply: 0, stall: 0.3 },
      crash: 0,
      nodes: { count: 2, claimMs: 10_000, steal: 0.05 },
    },
    { workflows: ['disturbed'], orders: 8, withinMs: 5_000, share: 3 / 2 },
  ],
  [
    'apps with checkpoints and all faults at once',
    {
      network: { loseRequest: 0.05, loseResponse: 0.1, duplicate: 0.1, garbage: 0.01, restartApp: 0.1, maxDelayMs: 2000 },
      store: { rejectChance: 0.02, loseReply: 0.03 },
      crash: 0.01,
    },
    { ...EVERYTHING, share: 1 / 2, checkpointSteps: 3 },
  ],
  [
    'apps with checkpoints and nodes whose commits wait while others decide on their runs',
    {
      network: { ...NO_FAULTS.network, maxDelayMs: 1_500 },
      store: { rejectChance: 0, loseReply: 0, stall: 0.3 },
      crash: 0,
      nodes: { count: 2, claimMs: 10_000, steal: 0.05 },
    },
    { workflows: ['disturbed'], orders: 8, withinMs: 5_000, share: 1 / 4, checkpointSteps: 3 },
  ],
];

for (const [name, faults, plan = EVERYTHING] of FAULTS) {
  test(`every acknowledged run succeeds and each step is recorded once, with ${name}`, async (context) => {
    await simulateSeeds(context, faults, plan);
  });
}
