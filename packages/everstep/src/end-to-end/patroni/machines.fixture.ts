/**
 * Machines, each with its own address. If the tests run as root, the machines are network namespaces that are connected by a bridge
 * and can be cut off; otherwise they are addresses of the loopback interface.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { randomBytes, randomInt } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { chown, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { findServerUser, type ServerUser } from '../../stores/postgres/testing/server-process.js';
import { signalAll, withDescendants } from './process-tree.fixture.js';
import { cannotCutNetworks } from './programs.fixture.js';

const execute = promisify(execFile);
const ip = (...args: readonly string[]) => execute('ip', args);

const PREFIX_BITS = 24;

export class Machine {
  readonly name: string;
  readonly address: string;
  /** Directory that the user of the processes owns. */
  readonly directory: string;
  private readonly user: ServerUser;
  /** Network namespace; null on the loopback interface. */
  private readonly namespace: string | null;
  private readonly children = new Set<ChildProcess>();

  constructor(options: { name: string; address: string; directory: string; user: ServerUser; namespace: string | null }) {
    this.name = options.name;
    this.address = options.address;
    this.directory = options.directory;
    this.user = options.user;
    this.namespace = options.namespace;
  }

  /** Starts a program as an unprivileged user. Its output is in a file with its name in the directory. */
  start(name: string, program: string, args: readonly string[]): ChildProcess {
    const { uid, gid } = this.user;
    const options = {
      cwd: this.directory,
      env: { PATH: process.env.PATH, LC_ALL: 'C.UTF-8', HOME: this.directory },
      stdio: ['ignore', 'pipe', 'pipe'] as ['ignore', 'pipe', 'pipe'],
    };
    const nsenterOptions = [`--net=/run/netns/${this.namespace}`, '--setuid', String(uid), '--setgid', String(gid), program];
    const child =
      this.namespace === null
        ? spawn(program, args, { ...options, ...this.user })
        : spawn('nsenter', [...nsenterOptions, ...args], options);
    const log = createWriteStream(join(this.directory, `${name}.log`), { flags: 'a' });
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => log.write(chunk));
    child.once('exit', () => this.children.delete(child));
    this.children.add(child);
    return child;
  }

  async makeDirectory(name: string): Promise<string> {
    const path = join(this.directory, name);
    await mkdir(path, { mode: 0o700 });
    await this.give(path);
    return path;
  }

  async give(path: string): Promise<void> {
    const { uid, gid } = this.user;
    if (uid !== undefined && gid !== undefined) await chown(path, uid, gid);
  }

  /** Kills all started processes with their descendants. `otherPids` are processes that are no longer among the descendants. */
  kill(otherPids: readonly number[]): void {
    const ownPids = [...this.children].flatMap(({ pid }) => pid ?? []);
    signalAll(withDescendants([...ownPids, ...otherPids]), 'SIGKILL');
  }
}

export class Machines {
  readonly all: readonly Machine[];
  /** Network that contains the addresses of the machines and of this process. */
  readonly network: string;
  private readonly bridge: string | null;

  private constructor(all: readonly Machine[], network: string, bridge: string | null) {
    this.all = all;
    this.network = network;
    this.bridge = bridge;
  }

  static async start(names: readonly string[], home: string): Promise<Machines> {
    const user = await findServerUser();
    const isCuttable = cannotCutNetworks() === null;
    const id = randomBytes(3).toString('hex');
    // 198.18.0.0/15 is reserved for tests of networks.
    const networkPrefix = isCuttable ? `198.18.${randomInt(256)}` : `127.${randomInt(1, 255)}.${randomInt(256)}`;
    const bridge = isCuttable ? `ev${id}` : null;
    const all: Machine[] = [];
    for (const [index, name] of names.entries()) {
      const directory = join(home, name);
      const namespace = isCuttable ? `ev${id}-${name}` : null;
      const machine = new Machine({ name, address: `${networkPrefix}.${index + 1}`, directory, user, namespace });
      await mkdir(directory, { mode: 0o755 });
      await machine.give(directory);
      all.push(machine);
    }
    // Connections over the loopback interface come from 127.0.0.1.
    const machines = new Machines(all, isCuttable ? `${networkPrefix}.0/${PREFIX_BITS}` : '127.0.0.0/8', bridge);
    if (bridge !== null) await machines.connect(bridge, `${networkPrefix}.254/${PREFIX_BITS}`);
    return machines;
  }

  /** Whether a machine can be cut off. */
  get isCuttable(): boolean {
    return this.bridge !== null;
  }

  /** Cuts a machine off from all others, or connects it again. Packets disappear; connections are not closed. */
  async setConnected(machine: Machine, isConnected: boolean): Promise<void> {
    await ip('link', 'set', this.interfaceOf(machine), isConnected ? 'up' : 'down');
  }

  async dispose(): Promise<void> {
    if (this.bridge === null) return;
    for (const machine of this.all) await ip('netns', 'delete', this.namespaceOf(machine)).catch(() => undefined);
    await ip('link', 'delete', this.bridge).catch(() => undefined);
  }

  private async connect(bridge: string, ownAddress: string): Promise<void> {
    await ip('link', 'add', 'name', bridge, 'type', 'bridge');
    await ip('address', 'add', ownAddress, 'dev', bridge);
    await ip('link', 'set', bridge, 'up');
    for (const machine of this.all) {
      const [namespace, outside] = [this.namespaceOf(machine), this.interfaceOf(machine)];
      const inside = ['-netns', namespace];
      await ip('netns', 'add', namespace);
      await ip('link', 'add', outside, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', namespace);
      await ip('link', 'set', outside, 'master', bridge, 'up');
      await ip(...inside, 'address', 'add', `${machine.address}/${PREFIX_BITS}`, 'dev', 'eth0');
      await ip(...inside, 'link', 'set', 'eth0', 'up');
      await ip(...inside, 'link', 'set', 'lo', 'up');
    }
  }

  private namespaceOf({ name }: Machine): string {
    return `${this.bridge}-${name}`;
  }

  private interfaceOf(machine: Machine): string {
    return `${this.bridge}v${this.all.indexOf(machine)}`;
  }
}
