/** Builds the dashboard into packages/everstep/static, unless the build there is from the same sources. */
import { createHash } from 'node:crypto';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runToEnd } from './child.mjs';
import { Interrupted, runStep, SetupError, tail } from './report.mjs';

const SOURCES = ['index.html', 'package.json', 'vite.config.js', 'public', 'src'];

/** Hashes the names and contents of all files that the build reads. */
async function fingerprint(root, dashboard) {
  const hash = createHash('sha256');
  const add = async (path) => {
    const text = await readFile(path);
    hash.update(`${path.slice(root.length)}\0${text.length}\0`).update(text);
  };
  const children = async (path) => (await readdir(path, { withFileTypes: true })).sort((a, b) => (a.name < b.name ? -1 : 1));
  const walk = async (directory) => {
    for (const entry of await children(directory)) {
      const path = join(directory, entry.name);
      if (entry.isDirectory()) await walk(path);
      else if (!/\.test\.tsx?$/.test(entry.name)) await add(path);
    }
  };
  await add(join(root, 'package-lock.json'));
  const contract = join(root, 'packages', 'everstep', 'src', 'contract');
  await walk(join(contract, 'filters'));
  await add(join(contract, 'states.ts'));
  for (const entry of await children(dashboard)) {
    if (!SOURCES.includes(entry.name)) continue;
    const path = join(dashboard, entry.name);
    if (entry.isDirectory()) await walk(path);
    else await add(path);
  }
  return hash.digest('hex');
}

/**
 * @param {string} root of the repository
 * @param {string} node
 * @param {NodeJS.ProcessEnv} env
 */
export async function buildDashboard(root, node, env) {
  const dashboard = join(root, 'packages', 'dashboard');
  const stamp = join(root, 'packages', 'everstep', 'static', '.built-from');
  const currentFingerprint = await fingerprint(root, dashboard);
  if ((await readFile(stamp, 'utf8').catch(() => null)) === currentFingerprint) return;
  await runStep('Building the dashboard', async () => {
    const vite = join(root, 'node_modules', 'vite', 'bin', 'vite.js');
    const { code, output, wasInterrupted } = await runToEnd(node, [vite, 'build'], { cwd: dashboard, env, output: 'kept' });
    if (wasInterrupted) throw new Interrupted();
    if (code !== 0) throw new SetupError(`The dashboard build failed:\n${tail(output, 80)}`);
  });
  // The stamp is written last, so that an interrupted build is repeated.
  await writeFile(stamp, currentFingerprint);
}
