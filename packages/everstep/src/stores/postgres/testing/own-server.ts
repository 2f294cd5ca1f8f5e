/** A PostgreSQL server of a test's own, which it may kill, start again, and copy to a standby. */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFile, chown, cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { findBinaries, unpackBinaries } from './binaries.js';
import { freePort, type Runner, runner, SERVER_OPTIONS, serverReady } from './server-process.js';

export class OwnServer {
  readonly port: number;
  private readonly home: string;
  private readonly programs: string;
  private readonly user: Runner;
  private readonly data: string;
  private child: ChildProcess | null = null;

  private constructor(home: string, programs: string, user: Runner, data: string, port: number) {
    this.home = home;
    this.programs = programs;
    this.user = user;
    this.data = data;
    this.port = port;
  }

  /** An empty one that runs; null when this machine has no PostgreSQL. */
  static async start(): Promise<OwnServer | null> {
    const binaries = findBinaries();
    if (!binaries || process.env.EVERSTEP_TEST_POSTGRES === 'none') return null;
    const user = await runner();
    const home = await mkdtemp(join(tmpdir(), 'everstep-own-postgres-'));
    const programs = await unpackBinaries(binaries, home);
    if (user.uid !== undefined && user.gid !== undefined) await chown(home, user.uid, user.gid);
    const data = join(home, 'data');
    const initdb = ['-D', data, '--username=everstep', '--auth=trust', '--encoding=UTF8', '--locale=C', '--no-sync'];
    await promisify(execFile)(join(programs, 'initdb'), initdb, {
      ...user,
      cwd: home,
      env: { PATH: process.env.PATH, LC_ALL: 'C' },
    });
    const server = new OwnServer(home, programs, user, data, await freePort());
    await server.start();
    return server;
  }

  /** For the server at another place, such as one that stands before it. */
  url(port = this.port): string {
    return `postgres://everstep@127.0.0.1:${port}/postgres`;
  }

  async start(): Promise<void> {
    const options = { ...this.user, cwd: this.home, env: { PATH: process.env.PATH, LC_ALL: 'C' } };
    const child = spawn(join(this.programs, 'postgres'), ['-D', this.data, '-p', String(this.port), ...SERVER_OPTIONS], {
      ...options,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    this.child = child;
    await serverReady(child);
  }

  /** SIGKILL as when it crashes, SIGINT ends it in order. Its own processes see that and end too. */
  async end(signal: 'SIGKILL' | 'SIGINT'): Promise<void> {
    const { child } = this;
    this.child = null;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    child.kill(signal);
    await exited;
  }

  /** A server that follows this one; what is committed here is there too before anybody is told. This one is started again. */
  async follow(): Promise<OwnServer> {
    await this.end('SIGINT');
    const data = join(this.home, 'standby');
    await cp(this.data, data, { recursive: true });
    const port = await freePort();
    const primary = `host=127.0.0.1 port=${this.port} user=everstep application_name=standby`;
    await writeFile(join(data, 'standby.signal'), '');
    await appendFile(join(data, 'postgresql.auto.conf'), `primary_conninfo = '${primary}'\n`);
    await appendFile(join(this.data, 'postgresql.auto.conf'), `synchronous_standby_names = 'standby'\n`);
    await promisify(execFile)('chmod', ['-R', 'go-rwx', data]);
    const { uid, gid } = this.user;
    if (uid !== undefined && gid !== undefined) await promisify(execFile)('chown', ['-R', `${uid}:${gid}`, data]);
    await this.start();
    const standby = new OwnServer(this.home, this.programs, this.user, data, port);
    await standby.start();
    return standby;
  }

  /** It follows nobody any more. */
  async promote(): Promise<void> {
    const options = { ...this.user, cwd: this.home, env: { PATH: process.env.PATH, LC_ALL: 'C' } };
    await promisify(execFile)(join(this.programs, 'pg_ctl'), ['promote', '-D', this.data], options);
  }

  async dispose(): Promise<void> {
    await this.end('SIGKILL');
    await rm(this.home, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  }
}
