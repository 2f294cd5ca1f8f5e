/**
 * Every observer of the result of a step sees the recorded result, whatever happens to nodes with short leases, their database
 * and workers. `npm run soak:history -- 10000 17` runs 10,000 runs with seed 17.
 */
import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { after, before, suite, test } from 'node:test';
import { SeededRandom } from '../../clock/testing/seeded-random.js';
import { findBinaries } from '../../stores/postgres/testing/binaries.js';
import { DatabaseProxy } from '../../stores/postgres/testing/database-proxy.js';
import { OwnServer } from '../../stores/postgres/testing/own-server.js';
import { forEachIndex, Nodes } from '../nodes.fixture.js';
import { NodeFaults } from './node-faults.fixture.js';
import { WitnessedRuns } from './witnessed-runs.fixture.js';

const setting = (name: string, otherwise: number): number => Number(process.env[`HISTORY_${name}`] ?? otherwise);

const RUNS = setting('RUNS', 60);
const AT_ONCE = setting('AT_ONCE', 40);
const NODES = setting('NODES', 3);
const LEASE_MS = setting('LEASE_MS', 1_000);
const FAULT_EVERY_MS = setting('FAULT_EVERY_MS', 2_000);
const LONGEST_STEP_MS = setting('LONGEST_STEP_MS', 400);
const REPORT_MS = 60_000;
const missing = process.env.EVERSTEP_TEST_POSTGRES === 'none' || findBinaries() === null;

suite('the history of runs over several nodes', {
  skip: missing && 'no PostgreSQL server is installed here',
  timeout: setting('TIMEOUT_MS', Number(process.env.NODES_TEST_TIMEOUT_MS ?? 240_000)),
}, () => {
  const seed = setting('SEED', randomInt(2 ** 31));
  const random = new SeededRandom(seed);
  const proxies: DatabaseProxy[] = [];
  let database: OwnServer;
  let nodes: Nodes;
  let runs: WitnessedRuns;

  before(async () => {
    const started = await OwnServer.start();
    assert.ok(started);
    database = started;
    for (let index = 0; index < NODES; index++) {
      const proxy = new DatabaseProxy(database.port);
      await proxy.listen();
      proxies.push(proxy);
    }
    nodes = await Nodes.start(NODES, {
      url: database.url(),
      settings: { EVERSTEP_NODE_LEASE: String(LEASE_MS / 1000) },
      own: (index) => ({ EVERSTEP_STORE: database.url(proxies[index]?.port) }),
    });
    runs = await WitnessedRuns.listen(nodes, random, LONGEST_STEP_MS);
  });
  after(async () => {
    await runs?.close();
    try {
      await nodes?.dispose();
    } finally {
      for (const proxy of proxies) await proxy.close();
      await database?.dispose();
    }
  });

  test(`${RUNS} runs: all observers, results and replays agree with the recorded steps`, async (t) => {
    process.stdout.write(`seed ${seed}\n`);
    const startedAt = performance.now();
    const faults = new NodeFaults({
      ...{ nodes, database, proxies, random, leaseMs: LEASE_MS, intervalMs: FAULT_EVERY_MS },
      restartWorker: () => runs.restartWorker(),
    });
    let ended = false;
    const summary = (): string => {
      const minutes = (performance.now() - startedAt) / 60_000;
      const { checkedCount, resumedCount, forkedCount, repeatedStepCount, problems } = runs;
      return (
        `${checkedCount} runs checkedCount (${Math.round(checkedCount / minutes)} a minute), ${resumedCount} resumedCount, ${forkedCount} forkedCount, ` +
        `${repeatedStepCount} steps executed again, ${problems.length} problems; ${JSON.stringify(Object.fromEntries(faults.counts))}`
      );
    };
    const reporting = setInterval(
      () => process.stdout.write(`${summary()}\n${runs.problems.slice(0, 5).join('\n')}\n`),
      REPORT_MS,
    );
    try {
      const load = forEachIndex(RUNS, AT_ONCE, (n) => runs.play(`history-${seed}-${n}`, seed + n)).finally(() => {
        ended = true;
      });
      await Promise.all([load, faults.injectUntil(() => ended)]);
    } finally {
      clearInterval(reporting);
      ended = true;
    }
    t.diagnostic(`seed ${seed}: ${summary()}`);
    assert.deepEqual(runs.problems, [], `seed ${seed}`);
  });
});
