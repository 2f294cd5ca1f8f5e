/**
 * A process that runs a PostgreSQL server for tests as long as its standard input is open. The server therefore ends with the
 * process that uses it, even if that process is killed. Prints the URL of the server, or why there is none, as one line of JSON.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chown, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { findBinaries, unpackBinaries } from './binaries.js';
import { findServerUser, freePort, SERVER_OPTIONS, type ServerUser, tlsOptions, waitUntilReady } from './server-process.js';

const START_ATTEMPTS = 3;
const PORT_TAKEN = /could not (bind|create any TCP\/IP sockets)/;

async function start(home: string, directory: string, user: ServerUser) {
  const [dataDirectory, passwordFile, password] = [join(home, 'data'), join(home, 'password'), randomBytes(16).toString('hex')];
  const options = { ...user, cwd: home, env: { PATH: process.env.PATH, LC_ALL: 'C' } };
  await writeFile(passwordFile, password, { mode: 0o600 });
  if (user.uid !== undefined && user.gid !== undefined) await chown(passwordFile, user.uid, user.gid);
  const loginOptions = ['--username=everstep', '--auth=password', `--pwfile=${passwordFile}`];
  const initdbOptions = ['-D', dataDirectory, ...loginOptions, '--encoding=UTF8', '--locale=C', '--no-sync', '--no-instructions'];
  await promisify(execFile)(join(directory, 'initdb'), initdbOptions, options);
  const requestedOptions = process.env.EVERSTEP_TEST_POSTGRES_OPTIONS?.split(' ').filter((word) => word !== '') ?? [];
  const extraOptions = [...(await tlsOptions(home, user)), ...requestedOptions];
  for (let attempt = 1; ; attempt++) {
    const port = await freePort();
    const server = spawn(
      join(directory, 'postgres'),
      ['-D', dataDirectory, '-p', String(port), ...SERVER_OPTIONS, ...extraOptions],
      {
        ...options,
        stdio: ['ignore', 'ignore', 'pipe'],
      },
    );
    try {
      await waitUntilReady(server);
      return { server, url: `postgres://everstep:${password}@127.0.0.1:${port}/postgres` };
    } catch (error) {
      server.kill('SIGKILL');
      if (attempt === START_ATTEMPTS || !(error instanceof Error && PORT_TAKEN.test(error.message))) throw error;
    }
  }
}

const report = (line: object): boolean => process.stdout.write(`${JSON.stringify(line)}\n`);

let home: string | null = null;
let runningServer: ChildProcess | null = null;
let isEnding = false;

async function end(): Promise<void> {
  isEnding = true;
  if (runningServer && runningServer.exitCode === null) {
    const exit = once(runningServer, 'exit');
    // SIGQUIT stops the server immediately; its data is not needed.
    runningServer.kill('SIGQUIT');
    await exit;
  }
  if (home !== null) await rm(home, { recursive: true, force: true, maxRetries: 5 });
  process.exit();
}

process.stdin.resume();
process.stdin.once('close', () => void end());
// Later output is not read.
process.stdout.on('error', () => {});

try {
  const binaries = findBinaries();
  if (!binaries) throw new Error('no PostgreSQL server is installed here');
  const user = await findServerUser();
  home = await mkdtemp(join(tmpdir(), 'everstep-postgres-'));
  const directory = await unpackBinaries(binaries, home);
  if (user.uid !== undefined && user.gid !== undefined) await chown(home, user.uid, user.gid);
  const { server, url } = await start(home, directory, user);
  runningServer = server;
  if (isEnding) await end();
  const { stdout } = await promisify(execFile)(join(directory, 'postgres'), ['--version'], user);
  report({ url, version: `${stdout.trim()} of ${binaries.packageDirectory ?? binaries.directory}` });
} catch (error) {
  report({ missing: error instanceof Error ? error.message : String(error) });
  await end();
}
