/** The service as users start it: a process of its own on a data directory, which may be killed and started again. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const BIN = fileURLToPath(new URL('../cli/bin.js', import.meta.url));
/** More than the slowest machine needs under load: that it does not come up at all is seen by its end. */
const START_TIMEOUT_MS = 120_000;

export class ServiceProcess {
  private readonly directory: string;
  private readonly envFile: string;
  private readonly settings: Readonly<Record<string, string>>;
  private child: ChildProcess | null = null;
  private output = '';
  /** What the service wrote into its env file when it last came up. */
  env: ReadonlyMap<string, string> = new Map();

  private constructor(directory: string, settings: Readonly<Record<string, string>>) {
    this.directory = directory;
    this.settings = settings;
    this.envFile = join(directory, 'service.env');
  }

  /** What the process that was started last has written to its standard output and error. */
  get printed(): string {
    return this.output;
  }

  /** A service that was never started, on an empty data directory of its own. `settings` are variables that it is told. */
  static async create(settings: Readonly<Record<string, string>> = {}): Promise<ServiceProcess> {
    return new ServiceProcess(await mkdtemp(join(tmpdir(), 'everstep-e2e-')), settings);
  }

  /** What the process has written since it was started. */
  get log(): string {
    return this.output;
  }

  /** Starts the process without waiting for it to listen; at a free port unless one is given. */
  async spawn({ port = '0' }: { readonly port?: string } = {}): Promise<void> {
    // The file of the last start tells of a port that nobody listens on.
    await rm(this.envFile, { force: true });
    const inherited = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('EVERSTEP_')));
    const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', BIN, 'dev'], {
      env: {
        ...inherited,
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

  /** Resolves when the service listens. Rejects with its output when it ends before. */
  async ready(): Promise<void> {
    const { child } = this;
    if (child === null) throw new Error('the service was not started');
    const deadline = performance.now() + START_TIMEOUT_MS;
    for (;;) {
      const text = await readFile(this.envFile, 'utf8').catch(() => '');
      if (text !== '') {
        this.env = new Map(text.split('\n').map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]));
        return;
      }
      if (child.exitCode !== null) throw new Error(`the service ended with ${child.exitCode}:\n${this.output}`);
      if (performance.now() > deadline) throw new Error(`the service is not up after ${START_TIMEOUT_MS} ms:\n${this.output}`);
      await pause(5);
    }
  }

  async start(options: { readonly port?: string } = {}): Promise<void> {
    await this.spawn(options);
    await this.ready();
  }

  /** Ends the process with a signal and resolves when it is gone. */
  async end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    const { child } = this;
    this.child = null;
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    const gone = new Promise((resolve) => child.once('exit', resolve));
    child.kill(signal);
    await gone;
  }

  /** Kills the process if it runs, and removes its data. */
  async dispose(): Promise<void> {
    await this.end('SIGKILL');
    await rm(this.directory, { recursive: true, force: true });
  }

  /** Of the queue instance that the first start made. */
  async instanceId(): Promise<string> {
    const basic = Buffer.from(`${this.env.get('EVERSTEP_ADMIN_EMAIL')}:${this.env.get('EVERSTEP_ADMIN_API_KEY')}`).toString(
      'base64',
    );
    const answer = await fetch(`${this.env.get('EVERSTEP_MANAGEMENT_URL')}/v2/queue/users`, {
      headers: { authorization: `Basic ${basic}` },
    });
    const [first] = (await answer.json()) as { id: string }[];
    if (first === undefined) throw new Error('there is no queue instance');
    return first.id;
  }

  /** A request with the token of the service. Rejects when there is no answer. */
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
