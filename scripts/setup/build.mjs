/** Compiles all packages incrementally. */
import { join } from 'node:path';
import { runToEnd } from './child.mjs';
import { Interrupted, SetupError, tail, timed } from './report.mjs';

/**
 * @param {string} root of the repository
 * @param {string} node
 * @param {NodeJS.ProcessEnv} env
 * @param {boolean} checksTypes without checks, the first build takes half the time; the next build with checks catches up
 */
export async function build(root, node, env, checksTypes) {
  await timed('Building', async () => {
    const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
    const args = [tsc, '-b', ...(checksTypes ? [] : ['--noCheck'])];
    const { code, output, interrupted } = await runToEnd(node, args, { cwd: root, env, output: 'kept' });
    if (interrupted) throw new Interrupted();
    if (code !== 0) throw new SetupError(`The build failed:\n${tail(output, 80)}`);
  });
}
