/** Helpers for processes that run a PostgreSQL server: options, the user, a free port, and the start. */
import type { ChildProcess } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { chown, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { LOCAL_CERTIFICATE } from '../../../config/certificates.fixture.js';

const START_TIMEOUT_MS = 60_000;

/**
 * Nothing is synced to the disk: a committed transaction survives Everstep and the server, but not a crash of the
 * machine, and tests are many times faster. `-c fsync=on` in EVERSTEP_TEST_POSTGRES_OPTIONS enables it.
 */
export const SERVER_OPTIONS = [
  ...['listen_addresses=127.0.0.1', 'unix_socket_directories=', 'max_connections=200', 'shared_buffers=64MB'],
  ...['fsync=off', 'full_page_writes=off', 'synchronous_commit=on', 'max_wal_size=1GB', 'timezone=UTC'],
].flatMap((option) => ['-c', option]);

/** Returns options with which the server also accepts TLS connections. Writes the certificate files into `directory`. */
export async function tlsOptions(directory: string, { uid, gid }: ServerUser): Promise<readonly string[]> {
  const files = { ssl_cert_file: LOCAL_CERTIFICATE.cert, ssl_key_file: LOCAL_CERTIFICATE.key };
  const options = ['-c', 'ssl=on'];
  for (const [name, content] of Object.entries(files)) {
    const path = join(directory, `${name}.pem`);
    await writeFile(path, content, { mode: 0o600 });
    if (uid !== undefined && gid !== undefined) await chown(path, uid, gid);
    options.push('-c', `${name}=${path}`);
  }
  return options;
}

/** The user that runs the server, because PostgreSQL refuses to run as root. */
export interface ServerUser {
  readonly uid?: number;
  readonly gid?: number;
}

/** Users that can run the server if this process runs as root, the preferred one first. */
const UNPRIVILEGED_USERS = ['postgres', 'nobody'];

export async function findServerUser(): Promise<ServerUser> {
  if (process.getuid?.() !== 0) return {};
  const users = (await readFile('/etc/passwd', 'utf8')).split('\n').map((line) => line.split(':'));
  const user = UNPRIVILEGED_USERS.flatMap((name) => users.find(([userName]) => userName === name) ?? [])[0];
  const passwdFields = users.find(([name]) => name === user);
  if (!passwdFields)
    throw new Error(`the server does not run as root, and none of these users exists: ${UNPRIVILEGED_USERS.join(', ')}`);
  return { uid: Number(passwdFields[2]), gid: Number(passwdFields[3]) };
}

/** Ports below those that systems choose for outgoing connections, one of which could take the port before it is used. */
const PORTS = { first: 20_000, end: 27_000 };
const MAX_PORT_TRIES = 100;

/** Returns a port of the loopback address that is free. */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < MAX_PORT_TRIES; tries++) {
    const port = randomInt(PORTS.first, PORTS.end);
    const server = createServer().listen(port, '127.0.0.1');
    const isFree = await once(server, 'listening').then(
      () => true,
      () => false,
    );
    if (!isFree) continue;
    server.close();
    await once(server, 'close');
    return port;
  }
  throw new Error(`none of ${MAX_PORT_TRIES} ports is free`);
}

/** Resolves when the server accepts connections. */
export function waitUntilReady(server: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    let output = '';
    const timer = setTimeout(() => reject(new Error(`the server did not start: ${output}`)), START_TIMEOUT_MS);
    server.stderr?.on('data', (chunk: Buffer) => {
      // Only the end of the output is stored: the server also logs rejected connections and failed statements.
      output = (output + chunk.toString()).slice(-10_000);
      if (!/database system is ready to accept (read-only )?connections/.test(output)) return;
      clearTimeout(timer);
      resolve();
    });
    server.once('error', reject);
    server.once('exit', () => {
      clearTimeout(timer);
      reject(new Error(`the server ended immediately: ${output}`));
    });
  });
}
