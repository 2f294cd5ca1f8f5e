/** Speeds up the hundreds of process starts in a test run. */
import { join } from 'node:path';
import { bundlePackages } from './bundles.mjs';
import { bundleServer } from './server-bundle.mjs';

/**
 * Prepares the environment inherited by test files and the servers that they start.
 *
 * @param {string} root of the repository, absolute
 * @param {boolean} startsServers whether tests start servers and commands as processes
 */
export async function speedUpStarts(root, startsServers) {
  process.env.NODE_COMPILE_CACHE ??= join(root, 'node_modules', '.cache', 'everstep-tests');
  await bundlePackages(root);
  await bundleServer(root, startsServers);
  const preload = JSON.stringify(join(import.meta.dirname, 'preload.cjs'));
  process.env.NODE_OPTIONS = `${process.env.NODE_OPTIONS ?? ''} --require=${preload}`.trim();
}
