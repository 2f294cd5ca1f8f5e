/** The server as users start it: a process on a data directory, which can be killed and restarted. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { assertDatabaseInvariants, assertStoreInvariants } from './invariants.fixture.js';

const BIN = fileURLToPath(new URL('../cli/bin.js', import.meta.url));
/** Timeout for the start, more than the slowest machine needs under load. A process that does not start ends earlier. */
const START_TIMEOUT_MS = 120_000;

export class ServerProcess {
  private readonly directory: string;
  private readonly envFile: string;
  private readonly settings: Readonly<Record<string, string>>;
  private child: ChildProcess | null = null;
  private output = '';
  /** Content of the env file after the last start. */
  env: ReadonlyMap<string, string> = new Map();

  private constructor(directory: string, settings: Readonly<Record<string, string>>) {
    this.directory = directory;
    this.settings = settings;
    this.envFile = join(directory, 'service.env');
  }

  /** Output of the last process on stdout and stderr. */
  get printed(): string {
    return this.output;
  }

  /** Creates a server that is not started, on an empty data directory. `settings` are environment variables. */
  static async create(settings: Readonly<Record<string, string>> = {}): Promise<ServerProcess> {
    return new ServerProcess(await mkdtemp(join(tmpdir(), 'everstep-e2e-')), settings);
  }

  /** Output of the process since its start. */
  get log(): string {
    return this.output;
  }

  /** Starts the process without waiting until it is listening, on a free port unless one is given. */
  async spawn({ port = '0' }: { readonly port?: string } = {}): Promise<void> {
    // The env file of the last start has an outdated port.
    await rm(this.envFile, { force: true });
    const inheritedEnvironment = Object.fromEntries(
      Object.entries(process.env).filter(([name]) => !name.startsWith('EVERSTEP_')),
    );
    const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', BIN, 'dev'], {
      env: {
        ...inheritedEnvironment,
        EVERSTEP_PORT: port,
        EVERSTEP_DEMO: '0',
        EVERSTEP_DATA_DIR: join(this.directory, 'data'),
        EVERSTEP_ENV_FILE: this.envFile,
        ...this.settings,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.child = child;
    this.output = '';
    for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => (this.output += chunk));
  }

  /** Resolves when the server is listening. Rejects with its output when it ends first. */
  async ready(): Promise<void> {
    const { child } = this;
    if (child === null) throw new Error('the server was not started');
    const deadline = performance.now() + START_TIMEOUT_MS;
    for (;;) {
      const text = await readFile(this.envFile, 'utf8').catch(() => '');
      if (text !== '') {
        this.env = new Map(text.split('\n').map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]));
        return;
      }
      if (child.exitCode !== null) throw new Error(`the server exited with ${child.exitCode}:\n${this.output}`);
      if (performance.now() > deadline)
        throw new Error(`the server did not start within ${START_TIMEOUT_MS} ms:\n${this.output}`);
      await pause(5);
    }
  }

  async start(options: { readonly port?: string } = {}): Promise<void> {
    await this.spawn(options);
    await this.ready();
  }

  /** Ends the process with a signal and resolves when it has exited. */
  async end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    const { child } = this;
    this.child = null;
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    const exit = new Promise((resolve) => child.once('exit', resolve));
    child.kill(signal);
    await exit;
  }

  /**
   * Kills the process if it is running, checks the invariants over its store, and removes its data. If `isStoreGone` is true, the
   * test has stopped the database, and there is nothing to check.
   */
  async dispose({ isStoreGone = false } = {}): Promise<void> {
    await this.end('SIGKILL');
    try {
      if (!isStoreGone) await this.assertInvariants();
    } finally {
      await rm(this.directory, { recursive: true, force: true });
    }
  }

  private async assertInvariants(): Promise<void> {
    const dataDir = this.settings.EVERSTEP_DATA_DIR ?? join(this.directory, 'data');
    const store = this.settings.EVERSTEP_STORE ?? join(dataDir, 'everstep.db');
    if (store.startsWith('postgres')) await assertDatabaseInvariants(store);
    else await assertStoreInvariants({ dataDir, storeFile: store });
  }

  /** Returns the queue instance created by the first start. */
  async instanceId(): Promise<string> {
    const basic = Buffer.from(`${this.env.get('EVERSTEP_ADMIN_EMAIL')}:${this.env.get('EVERSTEP_ADMIN_API_KEY')}`).toString(
      'base64',
    );
    const response = await fetch(`${this.env.get('EVERSTEP_MANAGEMENT_URL')}/v2/queue/users`, {
      headers: { authorization: `Basic ${basic}` },
    });
    const [instance] = (await response.json()) as { id: string }[];
    if (instance === undefined) throw new Error('no queue instance exists');
    return instance.id;
  }

  /** Sends a request with the token of the server. Rejects without a response. */
  async request(method: string, path: string, headers: Readonly<Record<string, string>> = {}, body?: string) {
    const response = await fetch(`${this.env.get('EVERSTEP_URL')}${path}`, {
      method,
      headers: { authorization: `Bearer ${this.env.get('EVERSTEP_TOKEN')}`, ...headers },
      ...(body === undefined ? {} : { body }),
    });
    const json: unknown = await response.json();
    return { status: response.status, body: json };
  }
}
