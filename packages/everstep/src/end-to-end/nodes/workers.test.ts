/** Runs of connected workers while the nodes are killed one after the other. */
import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { after, before, suite, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { SeededRandom } from '../../clock/testing/seeded-random.js';
import { openTestSchemas } from '../../stores/postgres/testing/schemas.js';
import { forEachIndex, Nodes } from '../nodes.fixture.js';
import { WitnessedRuns } from './witnessed-runs.fixture.js';

const KILLS = Number(process.env.WORKERS_TEST_KILLS ?? 2);
const AT_ONCE = 20;
const LONGEST_STEP_MS = 200;
/** Time between the start of a node and the next kill. */
const LOAD_MS = 700;
const schemas = await openTestSchemas();

suite('workers of several nodes', {
  skip: typeof schemas === 'string' && schemas,
  timeout: Number(process.env.NODES_TEST_TIMEOUT_MS ?? 240_000),
}, () => {
  const seed = Number(process.env.WORKERS_TEST_SEED ?? randomInt(2 ** 31));
  let nodes: Nodes;
  let runs: WitnessedRuns;

  before(async () => {
    if (typeof schemas === 'string') return;
    nodes = await Nodes.start(2, { url: (await schemas.make()).url });
    runs = await WitnessedRuns.connect(nodes, new SeededRandom(seed), LONGEST_STEP_MS);
  });
  after(async () => {
    await runs?.close();
    await nodes?.dispose();
  });

  test('all runs end and agree with the recorded steps although each node is killed', async (t) => {
    let isKilling = true;
    const killing = async (): Promise<void> => {
      for (let kill = 0; kill < KILLS; kill++) {
        await pause(LOAD_MS);
        const node = nodes.node(kill % 2);
        await node.end('SIGKILL');
        await node.start();
      }
      isKilling = false;
    };
    let next = 0;
    const load = forEachIndex(AT_ONCE, AT_ONCE, async () => {
      while (isKilling) {
        const n = next++;
        await runs.play(`workers-${seed}-${n}`, seed + n);
      }
    });
    await Promise.all([load, killing()]);
    const { checkedCount, repeatedStepCount, problems } = runs;
    t.diagnostic(`seed ${seed}: ${checkedCount} runs checkedCount, ${KILLS} kills, ${repeatedStepCount} steps executed again`);
    assert.deepEqual(problems, [], `seed ${seed}`);
  });
});
