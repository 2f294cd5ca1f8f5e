/** Compiles all packages incrementally. */
import { join } from 'node:path';
import { runToEnd } from './child.mjs';
import { Interrupted, runStep, SetupError, tail } from './report.mjs';

/**
 * @param {string} root of the repository
 * @param {string} node
 * @param {NodeJS.ProcessEnv} env
 * @param {boolean} checksTypes whether types are checked. Without checks, the first build takes half the time
 */
export async function build(root, node, env, checksTypes) {
  await runStep('Building', async () => {
    const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
    const args = [tsc, '-b', ...(checksTypes ? [] : ['--noCheck'])];
    const { code, output, wasInterrupted } = await runToEnd(node, args, { cwd: root, env, output: 'kept' });
    if (wasInterrupted) throw new Interrupted();
    if (code !== 0) throw new SetupError(`The build failed:\n${tail(output, 80)}`);
  });
}
