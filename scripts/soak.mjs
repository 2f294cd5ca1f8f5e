// npm run soak [rounds]: runs the simulation and the tests of several nodes and of limits longer and at a larger scale. Build first.
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');
const dist = join(root, 'packages/everstep/dist');
const nodes = readdirSync(join(dist, 'end-to-end/nodes')).filter((name) => name.endsWith('.test.js'));
const files = [
  ...['simulation/simulation', 'runtime/gates/properties', 'end-to-end/nodes-consistency'].map((name) =>
    join(dist, `${name}.test.js`),
  ),
  ...nodes.map((name) => join(dist, 'end-to-end/nodes', name)),
];
const more = {
  SIMULATION_SEEDS: '1000',
  NODES_TEST_RUNS: '2000',
  NODES_TEST_KILLS: '30',
  NODES_TEST_NAPS: '200',
  NODES_TEST_WAITS: '300',
  NODES_TEST_DISTURBED_RUNS: '300',
  HISTORY_RUNS: '2000',
  NODES_TEST_FAILOVERS: '10',
  NODES_TEST_TIMEOUT_MS: '1800000',
};
const rounds = Number(process.argv[2] ?? 1);

for (let round = 1; round <= rounds; round++) {
  process.stdout.write(`round ${round} of ${rounds}\n`);
  const args = ['--test', '--test-concurrency=1', '--test-reporter=spec', ...files];
  const { status } = spawnSync(process.execPath, args, {
    stdio: 'inherit',
    env: { ...process.env, EVERSTEP_SOAK: '1', ...more },
  });
  if (status !== 0) process.exit(status ?? 1);
}
