/** A PostgreSQL server that a test owns. The test can kill and restart it, copy it to a standby, and restore an earlier state. */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFile, chown, cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { promisify } from 'node:util';
import pg from 'pg';
import { findBinaries, unpackBinaries } from './binaries.js';
import { findServerUser, freePort, SERVER_OPTIONS, type ServerUser, waitUntilReady } from './server-process.js';

export class OwnServer {
  readonly port: number;
  private readonly home: string;
  private readonly binDirectory: string;
  private readonly serverUser: ServerUser;
  private readonly dataDirectory: string;
  private child: ChildProcess | null = null;

  private constructor(home: string, binDirectory: string, serverUser: ServerUser, dataDirectory: string, port: number) {
    this.home = home;
    this.binDirectory = binDirectory;
    this.serverUser = serverUser;
    this.dataDirectory = dataDirectory;
    this.port = port;
  }

  /** Starts an empty server; null if this machine has no PostgreSQL. */
  static async start(): Promise<OwnServer | null> {
    const binaries = findBinaries();
    if (!binaries || process.env.EVERSTEP_TEST_POSTGRES === 'none') return null;
    const serverUser = await findServerUser();
    const home = await mkdtemp(join(tmpdir(), 'everstep-own-postgres-'));
    const binDirectory = await unpackBinaries(binaries, home);
    if (serverUser.uid !== undefined && serverUser.gid !== undefined) await chown(home, serverUser.uid, serverUser.gid);
    const dataDirectory = join(home, 'data');
    const initdb = ['-D', dataDirectory, '--username=everstep', '--auth=trust', '--encoding=UTF8', '--locale=C', '--no-sync'];
    await promisify(execFile)(join(binDirectory, 'initdb'), initdb, {
      ...serverUser,
      cwd: home,
      env: { PATH: process.env.PATH, LC_ALL: 'C' },
    });
    const server = new OwnServer(home, binDirectory, serverUser, dataDirectory, await freePort());
    await server.start();
    return server;
  }

  /** Returns the URL of the server. `port` can be another port that leads to it, such as that of a proxy. */
  url(port = this.port): string {
    return `postgres://everstep@127.0.0.1:${port}/postgres`;
  }

  async start(): Promise<void> {
    const options = { ...this.serverUser, cwd: this.home, env: { PATH: process.env.PATH, LC_ALL: 'C' } };
    const child = spawn(
      join(this.binDirectory, 'postgres'),
      ['-D', this.dataDirectory, '-p', String(this.port), ...SERVER_OPTIONS],
      {
        ...options,
        stdio: ['ignore', 'ignore', 'pipe'],
      },
    );
    this.child = child;
    await waitUntilReady(child);
  }

  /** Ends the server: SIGKILL simulates a crash, SIGINT stops it cleanly. Its child processes detect that and also end. */
  async end(signal: 'SIGKILL' | 'SIGINT'): Promise<void> {
    const { child } = this;
    this.child = null;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const exit = once(child, 'exit');
    child.kill(signal);
    await exit;
  }

  /** Starts a synchronous standby, which receives each commit before it is acknowledged. This server is restarted. */
  async startStandby(): Promise<OwnServer> {
    await this.end('SIGINT');
    const standbyDirectory = await mkdtemp(join(this.home, 'standby-'));
    await cp(this.dataDirectory, standbyDirectory, { recursive: true });
    const port = await freePort();
    const primaryAddress = `host=127.0.0.1 port=${this.port} user=everstep application_name=standby`;
    await writeFile(join(standbyDirectory, 'standby.signal'), '');
    await appendFile(join(standbyDirectory, 'postgresql.auto.conf'), `primary_conninfo = '${primaryAddress}'\n`);
    await appendFile(join(this.dataDirectory, 'postgresql.auto.conf'), `synchronous_standby_names = 'standby'\n`);
    await this.chown(standbyDirectory);
    await this.start();
    const standby = new OwnServer(this.home, this.binDirectory, this.serverUser, standbyDirectory, port);
    await standby.start();
    return standby;
  }

  /** Archives the log from now on, and takes a base backup while the server runs. The server is restarted once before that. */
  async backUp(): Promise<void> {
    const [archive, base] = [join(this.home, 'archive'), join(this.home, 'base')];
    await this.end('SIGINT');
    await mkdir(archive);
    await this.chown(archive);
    const settings = ['archive_mode = on', `archive_command = 'test ! -f ${archive}/%f && cp %p ${archive}/%f'`];
    await appendFile(join(this.dataDirectory, 'postgresql.auto.conf'), `${settings.join('\n')}\n`);
    await this.start();
    const client = new pg.Client({ connectionString: this.url() });
    await client.connect();
    try {
      await client.query(`SELECT pg_backup_start('base', true)`);
      const excludedPaths = [join(this.dataDirectory, 'postmaster.pid'), join(this.dataDirectory, 'pg_wal')];
      await cp(this.dataDirectory, base, { recursive: true, filter: (source) => !excludedPaths.includes(source) });
      const { rows } = await client.query<{ label: string }>('SELECT labelfile AS label FROM pg_backup_stop()');
      await writeFile(join(base, 'backup_label'), rows[0]?.label ?? '');
      await mkdir(join(base, 'pg_wal'));
    } finally {
      await client.end();
    }
  }

  /** Starts another server with the state of this one at a moment (ISO 8601) since its backup. This one must have crashed. */
  async restoreAt(moment: string): Promise<OwnServer> {
    const client = new pg.Client({ connectionString: this.url() });
    await client.connect();
    await client.query('SELECT pg_switch_wal()');
    const countPendingArchives = `SELECT count(*)::integer AS n FROM pg_ls_archive_statusdir() WHERE name LIKE '%.ready'`;
    while ((await client.query<{ n: number }>(countPendingArchives)).rows[0]?.n !== 0) await setTimeout(50);
    await client.end();
    await this.end('SIGKILL');
    const base = join(this.home, 'base');
    const settings = [
      'archive_mode = off',
      `restore_command = 'cp ${join(this.home, 'archive')}/%f %p'`,
      `recovery_target_time = '${moment}'`,
      `recovery_target_action = 'promote'`,
    ];
    await appendFile(join(base, 'postgresql.auto.conf'), `${settings.join('\n')}\n`);
    await writeFile(join(base, 'recovery.signal'), '');
    await this.chown(base);
    const server = new OwnServer(this.home, this.binDirectory, this.serverUser, base, await freePort());
    await server.start();
    await server.waitUntilWritable();
    return server;
  }

  private async waitUntilWritable(): Promise<void> {
    const client = new pg.Client({ connectionString: this.url() });
    await client.connect();
    const selectRecovering = 'SELECT pg_is_in_recovery() AS recovering';
    while ((await client.query<{ recovering: boolean }>(selectRecovering)).rows[0]?.recovering !== false) await setTimeout(50);
    await client.end();
  }

  /** Makes the path accessible only to the user that the server runs as. */
  private async chown(path: string): Promise<void> {
    await promisify(execFile)('chmod', ['-R', 'go-rwx', path]);
    const { uid, gid } = this.serverUser;
    if (uid !== undefined && gid !== undefined) await promisify(execFile)('chown', ['-R', `${uid}:${gid}`, path]);
  }

  /** Promotes this standby to a primary. */
  async promote(): Promise<void> {
    const options = { ...this.serverUser, cwd: this.home, env: { PATH: process.env.PATH, LC_ALL: 'C' } };
    await promisify(execFile)(join(this.binDirectory, 'pg_ctl'), ['promote', '-D', this.dataDirectory], options);
  }

  async dispose(): Promise<void> {
    await this.end('SIGKILL');
    await rm(this.home, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  }
}
