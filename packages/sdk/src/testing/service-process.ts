/** A separate server for a test: `everstep dev` with a virtual clock, a free port and a temporary data directory. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { AdminClient } from '../client/administration/admin.js';
import type { EncryptionOptions } from '../encryption/envelope.js';
import { connectTestService, type TestService } from './test-service.js';

/** Options of a test server. `encryption` is the encryption of its client. */
export interface StartOptions extends EncryptionOptions {
  /**
   * Command and arguments that start the program, such as `['npx', 'everstep']`. `dev` and its options are appended.
   * Default: the package `everstep`, resolved from the working directory.
   */
  readonly command?: readonly string[];
  /** Additional settings of the server, such as EVERSTEP_LOG_LEVEL. */
  readonly env?: Readonly<Record<string, string>>;
  /** Maximum startup time in milliseconds. Default: 30,000. */
  readonly startTimeoutMs?: number;
}

/** A test server that this process has started. */
export interface StartedTestService extends TestService {
  /** Keys that sign the requests of the server. Pass them to the option `signingKeys` of `serve`. */
  readonly signingKeys: { readonly current: string; readonly next: string };
  /** Client of the management API, logged in as the first user. */
  readonly admin: AdminClient;
  /** Stops the process and removes its data. */
  stop(): Promise<void>;
}

const START_TIMEOUT_MS = 30_000;
/** Time after which a process that does not stop is killed. */
const STOP_TIMEOUT_MS = 10_000;
const MAX_OUTPUT_LENGTH = 8_000;
/** Matches the output of a server that accepts requests and has written its env file. */
const LISTENING_MESSAGE = /is listening on/;

/** Returns the command of the installed package, resolved from the working directory (an app) or from this file (a workspace). */
async function installedCommand(): Promise<readonly string[]> {
  for (const base of [join(process.cwd(), 'package.json'), import.meta.url]) {
    let file: string;
    try {
      file = createRequire(base).resolve('everstep/package.json');
    } catch {
      continue;
    }
    const { bin }: { readonly bin: { readonly everstep: string } } = JSON.parse(await readFile(file, 'utf8'));
    return [process.execPath, join(dirname(file), bin.everstep)];
  }
  throw new Error('the package everstep is not installed: run "npm install --save-dev everstep", or pass the option command');
}

class ServerProcess {
  private readonly child: ChildProcess;
  /** Resolves with a description of how the process ended. */
  private readonly exitPromise: Promise<string>;
  private readonly listeningPromise: Promise<null>;
  private readonly killAtExit = () => void this.child.kill('SIGKILL');
  private output = '';

  constructor([file = '', ...args]: readonly string[], env: NodeJS.ProcessEnv) {
    this.child = spawn(file, [...args, 'dev', '--virtual-clock', '--no-demo'], { env, stdio: ['ignore', 'pipe', 'pipe'] });
    process.once('exit', this.killAtExit);
    this.exitPromise = new Promise((resolve) => {
      this.child.once('error', (error) => resolve(`could not be started: ${error.message}`));
      this.child.once('close', (code, signal) => resolve(`ended with ${signal ?? code}`));
    });
    this.listeningPromise = new Promise((resolve) => {
      const appendOutput = (chunk: Buffer) => {
        this.output = (this.output + chunk).slice(-MAX_OUTPUT_LENGTH);
        if (LISTENING_MESSAGE.test(this.output)) resolve(null);
      };
      this.child.stdout?.on('data', appendOutput);
      this.child.stderr?.on('data', appendOutput);
    });
  }

  /**
   * Resolves when the server accepts requests.
   *
   * Rejects with the output of the process if it ends early or takes too long.
   */
  async waitUntilReady(timeoutMs: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const timeout = new Promise<string>((resolve) => {
      timer = setTimeout(
        resolve,
        timeoutMs,
        `did not start within ${timeoutMs} ms; increase startTimeoutMs if the machine is slow`,
      );
    });
    const failure = await Promise.race([this.listeningPromise, this.exitPromise, timeout]);
    clearTimeout(timer);
    if (failure !== null) throw new Error(`the server ${failure}\n${this.output}`.trimEnd());
  }

  async stop(): Promise<void> {
    const timer = setTimeout(() => this.child.kill('SIGKILL'), STOP_TIMEOUT_MS);
    this.child.kill('SIGTERM');
    await this.exitPromise;
    clearTimeout(timer);
    process.removeListener('exit', this.killAtExit);
  }
}

/** Parses KEY=value lines. */
async function readEnvFile(path: string): Promise<ReadonlyMap<string, string>> {
  const lines = (await readFile(path, 'utf8')).split('\n').filter((line) => line.includes('='));
  return new Map(lines.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]));
}

/**
 * Starts a server and resolves when it accepts requests. Rejects with the output of the process if it does not
 * start.
 *
 * @example
 * const service = await startTestService();
 * t.after(() => service.stop());
 */
export async function startTestService(options: StartOptions = {}): Promise<StartedTestService> {
  const command = options.command ?? (await installedCommand());
  const directory = await mkdtemp(join(tmpdir(), 'everstep-test-'));
  const envFile = join(directory, 'service.env');
  // Settings in the environment of the test belong to another server.
  const inheritedEnv = Object.entries(process.env).filter(([name]) => !name.startsWith('EVERSTEP_'));
  const server = new ServerProcess(command, {
    ...Object.fromEntries(inheritedEnv),
    EVERSTEP_PORT: '0',
    EVERSTEP_DATA_DIR: join(directory, 'data'),
    EVERSTEP_ENV_FILE: envFile,
    ...options.env,
  });
  let stopPromise: Promise<void> | undefined;
  const stop = () => {
    stopPromise ??= server.stop().then(() => rm(directory, { recursive: true, force: true, maxRetries: 3 }));
    return stopPromise;
  };
  try {
    await server.waitUntilReady(options.startTimeoutMs ?? START_TIMEOUT_MS);
    const env = await readEnvFile(envFile);
    const setting = (name: string): string => env.get(name) ?? '';
    return {
      ...connectTestService({ url: setting('EVERSTEP_URL'), token: setting('EVERSTEP_TOKEN'), encryption: options.encryption }),
      signingKeys: { current: setting('EVERSTEP_CURRENT_SIGNING_KEY'), next: setting('EVERSTEP_NEXT_SIGNING_KEY') },
      admin: new AdminClient({
        baseUrl: setting('EVERSTEP_MANAGEMENT_URL'),
        email: setting('EVERSTEP_ADMIN_EMAIL'),
        apiKey: setting('EVERSTEP_ADMIN_API_KEY'),
      }),
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}
