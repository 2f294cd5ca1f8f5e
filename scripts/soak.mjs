// npm run soak [rounds] [--via connection]: runs the simulation, the crash tests of workers, and the tests of several nodes and of
// limits, for longer and at a larger scale. `--via connection` runs only the tests of workers that connect.
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

const root = join(import.meta.dirname, '..');
const dist = join(root, 'packages/everstep/dist');
const nodeTests = readdirSync(join(dist, 'end-to-end/nodes')).filter((name) => name.endsWith('.test.js'));
const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: { via: { type: 'string', default: 'any' } },
});
if (!['any', 'connection'].includes(options.via)) throw new Error('--via must be "connection"');
const testFile = (name) => join(dist, `${name}.test.js`);
const connectionTests = ['simulation/connections/connections', 'end-to-end/durability/worker-crash'].map(testFile);
const otherTests = [
  ...['simulation/simulation', 'runtime/gates/properties', 'end-to-end/nodes-consistency'].map(testFile),
  ...nodeTests.map((name) => join(dist, 'end-to-end/nodes', name)),
];
const files = options.via === 'connection' ? connectionTests : [...connectionTests, ...otherTests];
const largeScale = {
  SIMULATION_SEEDS: '1000',
  WORKER_CRASH_KILLS: '60',
  NODES_TEST_RUNS: '2000',
  NODES_TEST_KILLS: '30',
  NODES_TEST_NAPS: '200',
  NODES_TEST_WAITS: '300',
  NODES_TEST_DISTURBED_RUNS: '300',
  HISTORY_RUNS: '2000',
  NODES_TEST_FAILOVERS: '10',
  NODES_TEST_TIMEOUT_MS: '1800000',
};
const rounds = Number(positionals[0] ?? 1);

for (let round = 1; round <= rounds; round++) {
  process.stdout.write(`round ${round} of ${rounds}\n`);
  const args = ['--test', '--test-concurrency=1', '--test-reporter=spec', ...files];
  const { status } = spawnSync(process.execPath, args, {
    stdio: 'inherit',
    env: { EVERSTEP_SOAK: '1', ...largeScale, ...process.env },
  });
  if (status !== 0) process.exit(status ?? 1);
}
