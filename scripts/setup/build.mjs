/** Compiles all packages incrementally. */
import { join } from 'node:path';
import { runToEnd } from './child.mjs';
import { Interrupted, SetupError, tail, timed } from './report.mjs';

/**
 * @param {string} root of the repository
 * @param {string} node
 * @param {NodeJS.ProcessEnv} env
 */
export async function build(root, node, env) {
  await timed('Building', async () => {
    const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
    const { code, output, interrupted } = await runToEnd(node, [tsc, '-b'], { cwd: root, env, output: 'kept' });
    if (interrupted) throw new Interrupted();
    if (code !== 0) throw new SetupError(`The build failed:\n${tail(output, 80)}`);
  });
}
