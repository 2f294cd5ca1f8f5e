/** PostgreSQL servers that Patroni manages with etcd, configured with the files in deploy/patroni/. */
import { type ChildProcess, execFile } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { waitUntil } from '../nodes.fixture.js';
import { type Machine, Machines } from './machines.fixture.js';
import { signalAll, withDescendants } from './process-tree.fixture.js';
import { isOlder, type Programs } from './programs.fixture.js';
import { fillTemplate, type Template } from './templates.fixture.js';

/** etcd runs on three machines, so that two of them agree when one is lost. */
const ETCD_MACHINES = 3;
const START_TIMEOUT_MS = 120_000;
const REQUEST_TIMEOUT_MS = 1_000;
const POLL_INTERVAL_MS = 100;

export interface ClusterOptions {
  readonly programs: Programs;
  /** Number of database servers. */
  readonly servers: 2 | 3;
  /** Whether commits wait while no standby is synchronous. */
  readonly isStrict: boolean;
  /** A PgBouncer in front of each server, which the URL names instead. */
  readonly hasPoolers?: boolean;
}

interface Member {
  readonly name: string;
  readonly role: string;
  readonly state: string;
}

/** A machine with PostgreSQL and Patroni. */
export class DatabaseServer {
  readonly machine: Machine;
  private readonly patroni: string;
  private child: ChildProcess | null = null;

  constructor(machine: Machine, patroni: string) {
    this.machine = machine;
    this.patroni = patroni;
  }

  get configuration(): string {
    return join(this.machine.directory, 'patroni.yaml');
  }

  startPatroni(): void {
    this.child = this.machine.start('patroni', this.patroni, [this.configuration]);
  }

  /** Returns the ids of Patroni, the postmaster and all of their processes. */
  async processes(): Promise<readonly number[]> {
    const postmaster = await this.postmaster();
    return withDescendants([this.child?.pid, postmaster].flatMap((pid) => pid ?? []));
  }

  /** Kills Patroni and the postmaster, whose processes notice that and end. */
  async crash(): Promise<void> {
    const { child } = this;
    const exited = child && once(child, 'exit');
    signalAll(
      [child?.pid, await this.postmaster()].flatMap((pid) => pid ?? []),
      'SIGKILL',
    );
    await exited;
  }

  /** Resolves with the status of a health check of Patroni; 0 without a response. */
  async check(path: '/primary' | '/replica' | '/synchronous'): Promise<number> {
    const signal = AbortSignal.timeout(REQUEST_TIMEOUT_MS);
    return fetch(`http://${this.machine.address}:8008${path}`, { signal }).then(
      async (response) => {
        await response.arrayBuffer();
        return response.status;
      },
      () => 0,
    );
  }

  /** Returns the members of the cluster as this server sees them; none without a response. */
  async members(): Promise<readonly Member[]> {
    const signal = AbortSignal.timeout(REQUEST_TIMEOUT_MS);
    try {
      const response = await fetch(`http://${this.machine.address}:8008/cluster`, { signal });
      const { members } = (await response.json()) as { readonly members: readonly Member[] };
      return members;
    } catch {
      return [];
    }
  }

  /** Returns the process id of the running postmaster; null if there is none. */
  private async postmaster(): Promise<number | null> {
    const text = await readFile(join(this.machine.directory, 'postgres', 'data', 'postmaster.pid'), 'utf8').catch(() => '');
    const pid = Number(text.split('\n')[0]);
    // A crashed server leaves the file, and another process may have the number.
    const command = pid > 0 ? await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '') : '';
    return command.includes(this.machine.directory) ? pid : null;
  }

  async kill(): Promise<void> {
    this.machine.kill([await this.postmaster()].flatMap((pid) => pid ?? []));
  }
}

const PASSWORDS = {
  SUPERUSER_PASSWORD: 'super-secret',
  REPLICATION_PASSWORD: 'replica-secret',
  DATABASE_PASSWORD: 'everstep-secret',
};

export class PatroniCluster {
  readonly machines: Machines;
  readonly servers: readonly DatabaseServer[];
  private readonly options: ClusterOptions;
  private readonly home: string;

  private constructor(options: ClusterOptions, home: string, machines: Machines) {
    this.options = options;
    this.home = home;
    this.machines = machines;
    this.servers = machines.all.slice(0, options.servers).map((machine) => new DatabaseServer(machine, options.programs.patroni));
  }

  /** Resolves when the cluster has a primary, a synchronous standby and all other servers. */
  static async start(options: ClusterOptions): Promise<PatroniCluster> {
    const home = await mkdtemp(join(tmpdir(), 'everstep-patroni-'));
    await chmod(home, 0o755);
    const machines = await Machines.start(['one', 'two', 'three'], home);
    const cluster = new PatroniCluster(options, home, machines);
    try {
      await cluster.startAll();
    } catch (error) {
      const logs = await cluster.logs();
      await cluster.dispose();
      throw new Error(`the cluster did not start\n${logs}`, { cause: error });
    }
    return cluster;
  }

  /** URL for Everstep. */
  get url(): string {
    const port = this.options.hasPoolers ? 6432 : 5432;
    const hosts = this.servers.map(({ machine }) => `${machine.address}:${port}`).join(',');
    return `postgres://everstep:${PASSWORDS.DATABASE_PASSWORD}@${hosts}/everstep`;
  }

  /** Returns the server that Patroni reports as the primary. */
  primary(): Promise<DatabaseServer> {
    return this.waitForPrimary(...this.servers);
  }

  /** Returns all servers except one. */
  others(than: DatabaseServer): readonly DatabaseServer[] {
    return this.servers.filter((server) => server !== than);
  }

  /** Resolves when each server is running, one of them as the primary and one as its synchronous standby. */
  async waitUntilHealthy(): Promise<void> {
    await waitUntil(
      'the cluster is complete',
      async () => {
        await pause(POLL_INTERVAL_MS);
        const views = await Promise.all(this.servers.map((server) => server.members()));
        return views.every((members) => {
          const runningMembers = members.filter(({ state }) => ['running', 'streaming'].includes(state));
          const has = (role: string) => runningMembers.some((member) => member.role === role);
          return runningMembers.length === this.servers.length && has('leader') && has('sync_standby');
        });
      },
      START_TIMEOUT_MS,
    );
  }

  /** Resolves with the primary as soon as it is one of these servers. */
  async waitForPrimary(...servers: readonly DatabaseServer[]): Promise<DatabaseServer> {
    for (const deadline = performance.now() + START_TIMEOUT_MS; performance.now() < deadline; ) {
      const statuses = await Promise.all(servers.map((server) => server.check('/primary')));
      const primary = servers[statuses.indexOf(200)];
      if (primary) return primary;
      await pause(POLL_INTERVAL_MS);
    }
    throw new Error(`none of these became the primary: ${servers.map(({ machine }) => machine.name)}`);
  }

  /** Swaps the primary with its synchronous standby by command. Resolves when the command has ended. */
  async switchOver(): Promise<void> {
    const { patronictl } = this.options.programs;
    const [server] = this.servers;
    const args = ['-c', server?.configuration ?? '', 'switchover', 'everstep', '--force'];
    await promisify(execFile)(patronictl, args, { env: { PATH: process.env.PATH, LC_ALL: 'C.UTF-8' } });
  }

  /** Returns the end of each log, to find out why a test failed. */
  async logs(): Promise<string> {
    const names = ['etcd', 'patroni', 'pgbouncer'].flatMap((name) =>
      this.machines.all.map(({ directory }) => join(directory, `${name}.log`)),
    );
    const texts = await Promise.all(names.map((name) => readFile(name, 'utf8').catch(() => '')));
    return texts.flatMap((text, index) => (text === '' ? [] : [`--- ${names[index]}`, text.slice(-6_000)])).join('\n');
  }

  async dispose(): Promise<void> {
    for (const server of this.servers) await server.kill();
    for (const machine of this.machines.all) machine.kill([]);
    await this.machines.dispose();
    await rm(this.home, { recursive: true, force: true, maxRetries: 20, retryDelay: 200 });
  }

  private async startAll(): Promise<void> {
    const { programs, hasPoolers } = this.options;
    for (const machine of this.machines.all.slice(0, ETCD_MACHINES)) {
      await this.write(machine, 'etcd.yaml');
      machine.start('etcd', programs.etcd, ['--config-file', join(machine.directory, 'etcd.yaml')]);
    }
    for (const { machine } of this.servers) {
      for (const name of ['postgres', 'pgbouncer']) await machine.makeDirectory(name);
      await this.write(machine, 'create-database.sh');
      await this.write(machine, 'patroni.yaml');
    }
    const [first, ...others] = this.servers;
    first?.startPatroni();
    if (first) await this.waitForPrimary(first);
    for (const server of others) server.startPatroni();
    await this.waitUntilHealthy();
    if (!hasPoolers) return;
    for (const { machine } of this.servers) {
      await this.write(machine, 'pgbouncer-users.txt', 'pgbouncer/users.txt');
      await this.write(machine, 'pgbouncer.ini');
      machine.start('pgbouncer', programs.pgbouncer, [join(machine.directory, 'pgbouncer.ini')]);
    }
  }

  private async write(machine: Machine, template: Template, name: string = template): Promise<void> {
    const { all, network } = this.machines;
    const text = await fillTemplate(template, {
      NAME: machine.name,
      ADDRESS: machine.address,
      NETWORK: network,
      STRICT: String(this.options.isStrict),
      ETCD_API: isOlder(this.options.programs.version, '3.0.3') ? 'etcd' : 'etcd3',
      ETCD_DIRECTORY: join(machine.directory, 'etcd'),
      ETCD_MEMBERS: all.map((member) => `${member.name}=http://${member.address}:2380`).join(','),
      ETCD_HOSTS: all.map(({ address }) => `${address}:2379`).join(','),
      POSTGRES_PROGRAMS: this.options.programs.postgres,
      POSTGRES_DIRECTORY: join(machine.directory, 'postgres'),
      PGBOUNCER_DIRECTORY: join(machine.directory, 'pgbouncer'),
      CREATE_DATABASE: join(machine.directory, 'create-database.sh'),
      ...PASSWORDS,
    });
    const path = join(machine.directory, name);
    await writeFile(path, text, { mode: 0o600 });
    await machine.give(path);
  }
}
