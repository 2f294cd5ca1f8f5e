/** Prepares a fresh clone: the runtime, the dependencies and the build. */
import { constants } from 'node:os';
import { delimiter, dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from './build.mjs';
import { buildDashboard } from './dashboard.mjs';
import { installDependencies } from './dependencies.mjs';
import { runExclusively } from './lock.mjs';
import { Interrupted, SetupError } from './report.mjs';
import { findRuntime } from './runtime.mjs';

export const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), '..', '..');

/**
 * @param {{ checksTypes?: boolean }} options
 * @returns {Promise<{ node: string, env: NodeJS.ProcessEnv }>} the runtime, and an environment with it first on the PATH
 */
export function prepare({ checksTypes = true } = {}) {
  return runExclusively(ROOT, async () => {
    const { node } = await findRuntime(ROOT);
    const env = { ...process.env, PATH: `${dirname(node)}${delimiter}${process.env.PATH ?? ''}` };
    await installDependencies(ROOT, env);
    await build(ROOT, node, env, checksTypes);
    await buildDashboard(ROOT, node, env);
    return { node, env };
  });
}

/**
 * Runs the work of a script and exits with its exit code. Prints an error message if the preparation fails.
 *
 * @param {() => Promise<number>} work resolves with the exit code
 */
export async function main(work) {
  try {
    process.exitCode = await work();
  } catch (error) {
    if (error instanceof Interrupted) {
      process.exitCode = 128 + constants.signals.SIGINT;
      return;
    }
    console.error(error instanceof SetupError ? error.message : error);
    process.exitCode = 1;
  }
}
