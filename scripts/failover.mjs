// npm run test:failover [parts of names]: servers that Patroni and etcd manage fail over under load. Without these
// programs, the tests are skipped, and the report states why.
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';

const directory = join(import.meta.dirname, '../packages/everstep/dist/end-to-end/patroni');
const nameParts = process.argv.slice(2);
const files = readdirSync(directory)
  .filter((name) => name.endsWith('.test.js') && (nameParts.length === 0 || nameParts.some((part) => name.includes(part))))
  .map((name) => join(directory, name));
if (files.length === 0) throw new Error(`no test has ${nameParts.join(' or ')} in its name`);

const args = ['--test', '--test-concurrency=1', '--test-reporter=spec', ...files];
const { status } = spawnSync(process.execPath, args, { stdio: 'inherit' });
process.exit(status ?? 1);
