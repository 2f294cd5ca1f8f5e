/**
 * A process that keeps a PostgreSQL server for tests as long as the other end of its standard input is open: so the server
 * ends with whoever wanted it, however that ends. Says where the server is, or why there is none, in one line of JSON.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chown, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { findBinaries, unpackBinaries } from './binaries.js';

const START_TIMEOUT_MS = 60_000;
const START_ATTEMPTS = 3;
const PORT_TAKEN = /could not (bind|create any TCP\/IP sockets)/;

/**
 * Nothing is synced to the disk: what a transaction wrote outlives the service and the server, if not the machine, and
 * tests are many times as fast. `-c fsync=on` in EVERSTEP_TEST_POSTGRES_OPTIONS makes it real.
 */
const OPTIONS = [
  ...['listen_addresses=127.0.0.1', 'unix_socket_directories=', 'max_connections=200', 'shared_buffers=64MB'],
  ...['fsync=off', 'full_page_writes=off', 'synchronous_commit=on', 'max_wal_size=1GB', 'timezone=UTC'],
].flatMap((option) => ['-c', option]);

/** PostgreSQL refuses to run as root. */
interface Runner {
  readonly uid?: number;
  readonly gid?: number;
}

async function runner(): Promise<Runner> {
  if (process.getuid?.() !== 0) return {};
  const users = (await readFile('/etc/passwd', 'utf8')).split('\n').map((line) => line.split(':'));
  const user = ['postgres', 'nobody'].flatMap((name) => users.find(([known]) => known === name) ?? [])[0];
  const found = users.find(([name]) => name === user);
  if (!found) throw new Error('the server does not run as root, and there is no user "postgres" or "nobody"');
  return { uid: Number(found[2]), gid: Number(found[3]) };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('no port is free');
  return address.port;
}

/** Resolves when the server takes connections. */
function ready(server: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    let said = '';
    const timer = setTimeout(() => reject(new Error(`the server did not start: ${said}`)), START_TIMEOUT_MS);
    server.stderr?.on('data', (chunk: Buffer) => {
      // Afterwards it tells of every statement that failed, as tests want some to.
      if (said.length < 10_000) said += chunk.toString();
      if (!/database system is ready to accept connections/.test(said)) return;
      clearTimeout(timer);
      resolve();
    });
    server.once('error', reject);
    server.once('exit', () => {
      clearTimeout(timer);
      reject(new Error(`the server ended at once: ${said}`));
    });
  });
}

async function start(home: string, directory: string, user: Runner) {
  const [data, passwordFile, password] = [join(home, 'data'), join(home, 'password'), randomBytes(16).toString('hex')];
  const options = { ...user, cwd: home, env: { PATH: process.env.PATH, LC_ALL: 'C' } };
  await writeFile(passwordFile, password, { mode: 0o600 });
  if (user.uid !== undefined && user.gid !== undefined) await chown(passwordFile, user.uid, user.gid);
  const login = ['--username=everstep', '--auth=password', `--pwfile=${passwordFile}`];
  const initdb = ['-D', data, ...login, '--encoding=UTF8', '--locale=C', '--no-sync', '--no-instructions'];
  await promisify(execFile)(join(directory, 'initdb'), initdb, options);
  const more = process.env.EVERSTEP_TEST_POSTGRES_OPTIONS?.split(' ').filter((word) => word !== '') ?? [];
  for (let attempt = 1; ; attempt++) {
    const port = await freePort();
    const server = spawn(join(directory, 'postgres'), ['-D', data, '-p', String(port), ...OPTIONS, ...more], {
      ...options,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    try {
      await ready(server);
      return { server, url: `postgres://everstep:${password}@127.0.0.1:${port}/postgres` };
    } catch (error) {
      server.kill('SIGKILL');
      if (attempt === START_ATTEMPTS || !(error instanceof Error && PORT_TAKEN.test(error.message))) throw error;
    }
  }
}

const tell = (line: object): boolean => process.stdout.write(`${JSON.stringify(line)}\n`);

let home: string | null = null;
let running: ChildProcess | null = null;
let ending = false;

async function end(): Promise<void> {
  ending = true;
  if (running && running.exitCode === null) {
    const exited = once(running, 'exit');
    // At once: nobody needs what is in it.
    running.kill('SIGQUIT');
    await exited;
  }
  if (home !== null) await rm(home, { recursive: true, force: true, maxRetries: 5 });
  process.exit();
}

process.stdin.resume();
process.stdin.once('close', () => void end());
// Nobody reads any more what is said here.
process.stdout.on('error', () => {});

try {
  const binaries = findBinaries();
  if (!binaries) throw new Error('no PostgreSQL server is installed here');
  const user = await runner();
  home = await mkdtemp(join(tmpdir(), 'everstep-postgres-'));
  const directory = await unpackBinaries(binaries, home);
  if (user.uid !== undefined && user.gid !== undefined) await chown(home, user.uid, user.gid);
  const { server, url } = await start(home, directory, user);
  running = server;
  if (ending) await end();
  const { stdout } = await promisify(execFile)(join(directory, 'postgres'), ['--version'], user);
  tell({ url, version: `${stdout.trim()} of ${binaries.packed ?? binaries.directory}` });
} catch (error) {
  tell({ missing: error instanceof Error ? error.message : String(error) });
  await end();
}
