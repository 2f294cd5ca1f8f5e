/**
 * Bundles the compiled server into a few files, for the servers and commands that tests start as processes. Without the
 * bundle, each of these processes finds and loads 700 modules. Tests in one process, `npm run packages`,
 * `scripts/deploy/image.test.mjs` and `documentation/first-workflow.test.ts` use the compiled files.
 */
import { createHash } from 'node:crypto';
import { readdirSync, statSync } from 'node:fs';
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { runStep } from '../../setup/report.mjs';

const distIn = (root) => join(root, 'packages', 'everstep', 'dist');
/** Directory that `preload.cjs` reads. */
export const bundleIn = (root) => join(root, 'packages', 'everstep', 'node_modules', '.cache', 'server-bundle');

const TEST_CODE = /\.(test|fixture|bench)\.js$/;

function fingerprint(root) {
  const hash = createHash('sha256')
    .update(process.version)
    .update(String(statSync(import.meta.filename).mtimeMs));
  for (const name of readdirSync(distIn(root), { recursive: true }).sort()) {
    if (!name.endsWith('.js') || TEST_CODE.test(name)) continue;
    const { mtimeMs, size } = statSync(join(distIn(root), name));
    hash.update(`${name}\0${mtimeMs}\0${size}\0`);
  }
  return hash.digest('hex');
}

/** Keeps the paths that a module derives from its own path the same as in the compiled files. */
const ownPaths = {
  name: 'own-paths',
  transform: {
    filter: { code: 'import.meta.url' },
    handler: (code, id) => code.replaceAll('import.meta.url', JSON.stringify(pathToFileURL(id).href)),
  },
};

async function bundle(root, directory) {
  const { rolldown } = await import('rolldown');
  const build = await rolldown({
    input: { program: join(distIn(root), 'cli', 'program.js') },
    platform: 'node',
    treeshake: false,
    logLevel: 'silent',
    // Packages are loaded as in the compiled files.
    external: /^[^./]/,
    plugins: [ownPaths],
  });
  await build.write({ dir: directory, format: 'esm', entryFileNames: '[name].mjs', chunkFileNames: '[name]-[hash].mjs' });
  await build.close();
}

/**
 * Builds the bundle if it is outdated. Removes an outdated bundle if the run starts no processes.
 *
 * @param {string} root of the repository, absolute
 * @param {boolean} isNeeded
 */
export async function bundleServer(root, isNeeded) {
  const directory = bundleIn(root);
  const currentFingerprint = fingerprint(root);
  if ((await readFile(join(directory, 'made-from'), 'utf8').catch(() => null)) === currentFingerprint) return;
  await rm(directory, { recursive: true, force: true });
  if (!isNeeded) return;
  await runStep('Bundling the server for the tests', async () => {
    const temporaryDirectory = `${directory}.${process.pid}`;
    await mkdir(temporaryDirectory, { recursive: true });
    await bundle(root, temporaryDirectory);
    await writeFile(join(temporaryDirectory, 'made-from'), currentFingerprint);
    await rename(temporaryDirectory, directory);
  });
}
