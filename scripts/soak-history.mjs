// npm run soak:history [runs] [seed]: checks the history of many runs over several nodes with faults.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

const test = join(import.meta.dirname, '../packages/everstep/dist/end-to-end/nodes/history.test.js');
const [runs = '1000', seed = ''] = process.argv.slice(2);
const settings = {
  HISTORY_AT_ONCE: '200',
  HISTORY_FAULT_EVERY_MS: '3000',
  // One day, enough for any number of runs.
  HISTORY_TIMEOUT_MS: String(24 * 60 * 60 * 1000),
  ...process.env,
  HISTORY_RUNS: runs,
  ...(seed ? { HISTORY_SEED: seed } : {}),
};
const { status } = spawnSync(process.execPath, ['--test', '--test-reporter=spec', test], { stdio: 'inherit', env: settings });
process.exit(status ?? 1);
