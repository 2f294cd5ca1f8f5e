/** A service of a test's own: `everstep dev` on a virtual clock, a free port and a data directory that is thrown away. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { AdminClient } from '../client/admin.js';
import { connectTestService, type TestService } from './test-service.js';

export interface StartOptions {
  /**
   * The program and its arguments, such as `['npx', 'everstep']`; `dev` and its options are put behind them. Default: the
   * package `everstep` as it is found from the working directory.
   */
  readonly command?: readonly string[];
  /** More settings of the service, such as EVERSTEP_LOG_LEVEL. */
  readonly env?: Readonly<Record<string, string>>;
  /** Default 30,000. */
  readonly startTimeoutMs?: number;
}

export interface StartedTestService extends TestService {
  /** Those that the service signs its requests with, for the option `signingKeys` of `serve`. */
  readonly signingKeys: { readonly current: string; readonly next: string };
  /** The management API, as the first user. */
  readonly admin: AdminClient;
  /** Ends the process and removes its data. */
  stop(): Promise<void>;
}

const START_TIMEOUT_MS = 30_000;
/** A process that has not ended by itself so long after it was asked to is killed. */
const STOP_TIMEOUT_MS = 10_000;
const KEPT_OUTPUT_LENGTH = 8_000;
/** Printed when the service takes requests and its env file is written. */
const LISTENS = /listens at/;

/** From the working directory, where an app has it; else from here, where a workspace has it. */
async function installedCommand(): Promise<readonly string[]> {
  for (const from of [join(process.cwd(), 'package.json'), import.meta.url]) {
    let file: string;
    try {
      file = createRequire(from).resolve('everstep/package.json');
    } catch {
      continue;
    }
    const { bin }: { readonly bin: { readonly everstep: string } } = JSON.parse(await readFile(file, 'utf8'));
    return [process.execPath, join(dirname(file), bin.everstep)];
  }
  throw new Error('the package everstep is not installed here: npm install --save-dev everstep, or give the option command');
}

class ServiceProcess {
  private readonly child: ChildProcess;
  /** Resolves with how it ended, in words. */
  private readonly ended: Promise<string>;
  private readonly listens: Promise<null>;
  private readonly killAtExit = () => void this.child.kill('SIGKILL');
  private output = '';

  constructor([file = '', ...args]: readonly string[], env: NodeJS.ProcessEnv) {
    this.child = spawn(file, [...args, 'dev', '--virtual-clock', '--no-demo'], { env, stdio: ['ignore', 'pipe', 'pipe'] });
    process.once('exit', this.killAtExit);
    this.ended = new Promise((resolve) => {
      this.child.once('error', (error) => resolve(`could not be started: ${error.message}`));
      this.child.once('close', (code, signal) => resolve(`ended with ${signal ?? code}`));
    });
    this.listens = new Promise((resolve) => {
      const keep = (chunk: Buffer) => {
        this.output = (this.output + chunk).slice(-KEPT_OUTPUT_LENGTH);
        if (LISTENS.test(this.output)) resolve(null);
      };
      this.child.stdout?.on('data', keep);
      this.child.stderr?.on('data', keep);
    });
  }

  /** Resolves when the service takes requests. Rejects with what it printed when it ends before, or takes too long. */
  async ready(timeoutMs: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<string>((resolve) => {
      timer = setTimeout(resolve, timeoutMs, `does not listen after ${timeoutMs} ms`);
    });
    const failure = await Promise.race([this.listens, this.ended, late]);
    clearTimeout(timer);
    if (failure !== null) throw new Error(`the service ${failure}\n${this.output}`.trimEnd());
  }

  async end(): Promise<void> {
    const timer = setTimeout(() => this.child.kill('SIGKILL'), STOP_TIMEOUT_MS);
    this.child.kill('SIGTERM');
    await this.ended;
    clearTimeout(timer);
    process.removeListener('exit', this.killAtExit);
  }
}

/** KEY=value lines. */
async function readEnvFile(path: string): Promise<ReadonlyMap<string, string>> {
  const lines = (await readFile(path, 'utf8')).split('\n').filter((line) => line.includes('='));
  return new Map(lines.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]));
}

/**
 * Starts a service and resolves when it takes requests. Rejects with what it printed when it does not come up.
 *
 * @example
 * const service = await startTestService();
 * t.after(() => service.stop());
 */
export async function startTestService(options: StartOptions = {}): Promise<StartedTestService> {
  const command = options.command ?? (await installedCommand());
  const directory = await mkdtemp(join(tmpdir(), 'everstep-test-'));
  const envFile = join(directory, 'service.env');
  // What is set around the test is meant for another service.
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('EVERSTEP_'));
  const service = new ServiceProcess(command, {
    ...Object.fromEntries(inherited),
    EVERSTEP_PORT: '0',
    EVERSTEP_DATA_DIR: join(directory, 'data'),
    EVERSTEP_ENV_FILE: envFile,
    ...options.env,
  });
  let stopped: Promise<void> | undefined;
  const stop = () => {
    stopped ??= service.end().then(() => rm(directory, { recursive: true, force: true, maxRetries: 3 }));
    return stopped;
  };
  try {
    await service.ready(options.startTimeoutMs ?? START_TIMEOUT_MS);
    const env = await readEnvFile(envFile);
    const get = (name: string): string => env.get(name) ?? '';
    return {
      ...connectTestService({ url: get('EVERSTEP_URL'), token: get('EVERSTEP_TOKEN') }),
      signingKeys: { current: get('EVERSTEP_CURRENT_SIGNING_KEY'), next: get('EVERSTEP_NEXT_SIGNING_KEY') },
      admin: new AdminClient({
        baseUrl: get('EVERSTEP_MANAGEMENT_URL'),
        email: get('EVERSTEP_ADMIN_EMAIL'),
        apiKey: get('EVERSTEP_ADMIN_API_KEY'),
      }),
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}
