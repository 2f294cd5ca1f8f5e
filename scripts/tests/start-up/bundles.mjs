/**
 * Bundles the slowest packages to load into one file each. TypeBox alone has 680 modules, and a test run starts hundreds of
 * processes. `npm run packages`, `scripts/deploy/image.test.mjs` and `documentation/first-workflow.test.ts` use the packages as
 * npm installs them.
 */
import { createHash } from 'node:crypto';
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { runStep } from '../../setup/report.mjs';

/** Dependencies of the server. The published SDKs are not bundled, so that the tests use them unmodified. */
const SPECIFIERS = [
  'typebox',
  'typebox/compile',
  'undici',
  'fastify',
  'jose',
  'jose/jwt/sign',
  'jose/jwt/verify',
  'pino',
  'commander',
];

/** Directory that `preload.cjs` reads. It is inside the server package, so that its dependencies resolve. */
const directoryIn = (root) => join(root, 'packages', 'everstep', 'node_modules', '.cache', 'bundles');

const fileOf = (specifier) => `${specifier.replaceAll('/', '-')}.mjs`;

async function fingerprint(root) {
  const hash = createHash('sha256').update(process.version);
  for (const path of [join(root, 'package-lock.json'), import.meta.filename]) hash.update(await readFile(path));
  return hash.digest('hex');
}

async function bundle(directory) {
  const entries = join(directory, 'entries');
  await mkdir(entries, { recursive: true });
  const namesFile = join(entries, 'names.mjs');
  const names = SPECIFIERS.map((specifier) => `Object.keys(await import(${JSON.stringify(specifier)}))`);
  await writeFile(namesFile, `export const names = [${names.join(', ')}];\n`);
  const exportNames = (await import(pathToFileURL(namesFile).href)).names;
  const input = {};
  for (const [index, specifier] of SPECIFIERS.entries()) {
    const entry = join(entries, fileOf(specifier));
    const list = exportNames[index].filter((name) => name !== 'module.exports').join(', ');
    await writeFile(entry, `export { ${list} } from ${JSON.stringify(specifier)};\n`);
    input[fileOf(specifier)] = entry;
  }
  const { rolldown } = await import('rolldown');
  const build = await rolldown({ input, platform: 'node', treeshake: false, logLevel: 'silent' });
  await build.write({ dir: directory, format: 'esm', entryFileNames: '[name]', chunkFileNames: 'shared-[hash].mjs' });
  await build.close();
  await writeFile(
    join(directory, 'index.json'),
    JSON.stringify(Object.fromEntries(SPECIFIERS.map((specifier) => [specifier, fileOf(specifier)]))),
  );
}

/**
 * Updates the bundles.
 *
 * @param {string} root of the repository, absolute
 */
export async function bundlePackages(root) {
  const directory = directoryIn(root);
  const stamp = join(directory, 'made-from');
  const currentFingerprint = await fingerprint(root);
  if ((await readFile(stamp, 'utf8').catch(() => null)) === currentFingerprint) return;
  await runStep('Bundling packages for the tests', async () => {
    const temporaryDirectory = `${directory}.${process.pid}`;
    await bundle(temporaryDirectory);
    await writeFile(join(temporaryDirectory, 'made-from'), currentFingerprint);
    await rm(directory, { recursive: true, force: true });
    await rename(temporaryDirectory, directory);
  });
}
