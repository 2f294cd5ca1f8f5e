/**
 * Several nodes on one database, as processes with separate data directories that can be killed, paused, and started
 * again.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Client } from '@everstep/sdk';
import { readCredentials } from '../bootstrap/credentials.js';
import { freePort } from '../stores/postgres/testing/server-process.js';
import { assertDatabaseInvariants } from './invariants.fixture.js';

const BIN = fileURLToPath(new URL('../cli/bin.js', import.meta.url));
const START_TIMEOUT_MS = 120_000;
const MAX_TRIES = 200;
const RETRY_DELAY_MS = 50;

type Settings = Readonly<Record<string, string>>;

interface Keys {
  readonly token: string;
  readonly currentSigningKey: string;
  readonly nextSigningKey: string;
  readonly adminEmail: string;
  readonly adminApiKey: string;
}

export interface NodeOptions {
  /** URL of the shared database. */
  readonly url: string;
  /** Environment of every node. */
  readonly settings?: Settings;
  /** Additional environment of one node, by its index. */
  readonly own?: (index: number) => Settings;
  /** Number of attempts of `anywhere` before it rejects. Default: 200. */
  readonly maxTries?: number;
}

/** A node. It keeps its port when it is started again. */
export class NodeProcess {
  readonly dataDir: string;
  private readonly settings: Settings;
  private readonly port: number;
  private child: ChildProcess | null = null;
  /** Output since its last start. */
  output = '';

  constructor(dataDir: string, port: number, settings: Settings) {
    this.dataDir = dataDir;
    this.port = port;
    this.settings = settings;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** Starts the process without waiting until it is listening. */
  spawn(): void {
    const inheritedEnvironment = Object.fromEntries(
      Object.entries(process.env).filter(([name]) => !name.startsWith('EVERSTEP_')),
    );
    const { dataDir } = this;
    const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', BIN, 'dev'], {
      env: {
        ...inheritedEnvironment,
        EVERSTEP_PORT: String(this.port),
        EVERSTEP_DEMO: '0',
        EVERSTEP_DATA_DIR: dataDir,
        EVERSTEP_ENV_FILE: `${dataDir}.env`,
        EVERSTEP_NODE_URL: this.url,
        ...this.settings,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.child = child;
    this.output = '';
    for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => (this.output += chunk));
  }

  /** Resolves when the node accepts requests. Rejects with its output if it ends before that. */
  async ready(): Promise<void> {
    const deadline = performance.now() + START_TIMEOUT_MS;
    while ((await this.healthStatus('/ready')) !== 200) {
      if (this.isEnded) throw new Error(`the node ended:\n${this.output}`);
      if (performance.now() > deadline) throw new Error(`the node is not up after ${START_TIMEOUT_MS} ms:\n${this.output}`);
      await pause(20);
    }
  }

  async start(): Promise<void> {
    this.spawn();
    await this.ready();
  }

  /** Returns the status of a health endpoint; 0 without a response. */
  async healthStatus(path: '/health' | '/ready'): Promise<number> {
    const signal = AbortSignal.timeout(5_000);
    return fetch(`${this.url}${path}`, { signal }).then(
      async (response) => {
        await response.arrayBuffer();
        return response.status;
      },
      () => 0,
    );
  }

  get isEnded(): boolean {
    const { child } = this;
    return child === null || child.exitCode !== null || child.signalCode !== null;
  }

  signal(signal: 'SIGSTOP' | 'SIGCONT' | 'SIGTERM' | 'SIGKILL'): void {
    this.child?.kill(signal);
  }

  /** Ends the process with a signal and resolves when it has exited. */
  async end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    const { child } = this;
    if (child === null || this.isEnded) return;
    const exit = once(child, 'exit');
    // A paused process handles no other signal.
    if (signal === 'SIGKILL') child.kill('SIGCONT');
    child.kill(signal);
    await exit;
  }
}

export class Nodes {
  readonly all: readonly NodeProcess[];
  private readonly directory: string;
  private readonly url: string;
  private readonly mostTries: number;
  private keys: Keys | null = null;
  private nextIndex = 0;

  private constructor(directory: string, { url, maxTries = MAX_TRIES }: NodeOptions, all: readonly NodeProcess[]) {
    this.directory = directory;
    this.url = url;
    this.mostTries = maxTries;
    this.all = all;
  }

  /** Starts nodes that accept requests. Call `dispose` afterward, even if this rejects. */
  static async start(count: number, options: NodeOptions): Promise<Nodes> {
    const { url, settings = {}, own = () => ({}) } = options;
    const directory = await mkdtemp(join(tmpdir(), 'everstep-nodes-'));
    const all: NodeProcess[] = [];
    for (let index = 0; index < count; index++) {
      const nodeSettings = {
        EVERSTEP_STORE: url,
        EVERSTEP_NODE_LEASE: '1',
        EVERSTEP_SECRETS_KEY: 'k'.repeat(43),
        EVERSTEP_LOG_LEVEL: 'warn',
        ...settings,
        ...own(index),
      };
      all.push(new NodeProcess(join(directory, `node-${index}`), await freePort(), nodeSettings));
    }
    const nodes = new Nodes(directory, options, all);
    try {
      const [first, ...otherNodes] = all;
      // The first node creates the credentials for all of them.
      await first?.start();
      nodes.keys = await readCredentials(first?.dataDir ?? '');
      await Promise.all(otherNodes.map((node) => node.start()));
    } catch (error) {
      await nodes.dispose({ isUnreadable: true });
      throw error;
    }
    return nodes;
  }

  node(index: number): NodeProcess {
    const node = this.all[index];
    if (!node) throw new RangeError(`there is no node ${index}`);
    return node;
  }

  get token(): string {
    return this.credentials.token;
  }

  /** Signing keys for endpoints. */
  get signingKeys(): { readonly current: string; readonly next: string } {
    const { currentSigningKey: current, nextSigningKey: next } = this.credentials;
    return { current, next };
  }

  /** Admin login that is valid at each node. */
  get admin(): { readonly email: string; readonly apiKey: string } {
    return { email: this.credentials.adminEmail, apiKey: this.credentials.adminApiKey };
  }

  /** Returns a client of one node, which does not fail over. */
  client(index: number): Client {
    return new Client({ baseUrl: this.node(index).url, token: this.token });
  }

  /** Calls one node after the other, as a load balancer does, until one responds. */
  async anywhere<Result>(send: (client: Client, index: number) => Promise<Result>): Promise<Result> {
    for (let tries = 1; ; tries++) {
      const index = this.nextIndex++ % this.all.length;
      try {
        return await send(this.client(index), index);
      } catch (error) {
        const status = error instanceof Error && 'status' in error ? Number(error.status) : 0;
        // An invalid request is invalid at every node.
        if (tries === this.mostTries || (status >= 400 && status < 500 && status !== 429)) throw error;
        await pause(RETRY_DELAY_MS);
      }
    }
  }

  /**
   * Kills all nodes, checks the invariants over their database, and removes their data. Rejects if the database violates them or
   * cannot be read. If `isUnreadable` is true, the test has made the database unreadable, and it is not checked.
   */
  async dispose({ isUnreadable = false }: { readonly isUnreadable?: boolean } = {}): Promise<void> {
    await Promise.all(this.all.map((node) => node.end('SIGKILL')));
    try {
      if (!isUnreadable && this.keys) await assertDatabaseInvariants(this.url);
    } finally {
      await rm(this.directory, { recursive: true, force: true, maxRetries: 5 });
    }
  }

  private get credentials(): Keys {
    if (!this.keys) throw new Error('the nodes were not started');
    return this.keys;
  }
}

export interface Endpoint {
  readonly url: string;
  close(): void;
}

/** Starts a server that runs until it is closed. */
export async function listen(handler: Parameters<typeof createServer>[1]): Promise<Endpoint> {
  const server = createServer(handler);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/work`,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** Calls `work` for each number below `count`, with a limited number of calls at a time. */
export async function forEachIndex(count: number, concurrency: number, work: (index: number) => Promise<void>): Promise<void> {
  let nextIndex = 0;
  const worker = async () => {
    while (nextIndex < count) await work(nextIndex++);
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
}

const DEFAULT_TIMEOUT_MS = 60_000;

/** Resolves when `isReached` returns true. Rejects with the description after the timeout. */
export async function waitUntil(
  what: string,
  isReached: () => boolean | Promise<boolean>,
  timeoutMs = DEFAULT_TIMEOUT_MS,
): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  while (!(await isReached())) {
    if (performance.now() > deadline) throw new Error(`not within ${timeoutMs} ms: ${what}`);
    await pause(5);
  }
}
