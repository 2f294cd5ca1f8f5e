/** Test fixture: runs the command line as a process and captures its output and exit code. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const BIN = fileURLToPath(new URL('../bin.js', import.meta.url));
const PRELOAD = /--require="[^"]*preload\.cjs"/;
const POLL_INTERVAL_MS = 20;
const TIMEOUT_MS = 30_000;

export interface EndedProcess {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * Returns the environment without settings of Everstep or Node, so that a developer's settings do not change a test. Variables
 * that speed up process starts in a test run are kept; see `scripts/tests/start-up/`.
 */
export function cleanEnvironment(extra: Readonly<Record<string, string>> = {}): NodeJS.ProcessEnv {
  const inheritedEnv = Object.entries(process.env).filter(([name]) => !name.startsWith('EVERSTEP_') && name !== 'NODE_OPTIONS');
  const preload = process.env.NODE_OPTIONS?.match(PRELOAD)?.[0];
  return { ...Object.fromEntries(inheritedEnv), ...(preload === undefined ? {} : { NODE_OPTIONS: preload }), ...extra };
}

const runningProcesses = new Set<SpawnedCli>();

/** Kills the processes that failed tests left running, which would keep the test process alive. */
export async function endAll(): Promise<void> {
  await Promise.all([...runningProcesses].map((cli) => cli.end('SIGKILL')));
}

export class SpawnedCli {
  readonly child: ChildProcess;
  readonly ended: Promise<EndedProcess>;
  stdout = '';
  stderr = '';
  private hasEnded = false;

  constructor(args: readonly string[], options: { readonly cwd: string; readonly env?: Readonly<Record<string, string>> }) {
    this.child = spawn(process.execPath, [BIN, ...args], {
      cwd: options.cwd,
      env: cleanEnvironment(options.env),
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.child.stdout?.on('data', (chunk) => {
      this.stdout += chunk;
    });
    this.child.stderr?.on('data', (chunk) => {
      this.stderr += chunk;
    });
    runningProcesses.add(this);
    this.ended = new Promise((resolve) => {
      this.child.once('close', (code) => {
        this.hasEnded = true;
        runningProcesses.delete(this);
        resolve({ code, stdout: this.stdout, stderr: this.stderr });
      });
    });
  }

  /** Resolves with the match once the output contains it; rejects when the process ends first or a timeout passes. */
  async untilPrinted(pattern: RegExp, output: 'stdout' | 'stderr' = 'stdout'): Promise<RegExpExecArray> {
    const giveUpAt = performance.now() + TIMEOUT_MS;
    for (;;) {
      const match = pattern.exec(this[output]);
      if (match) return match;
      if (this.hasEnded || performance.now() > giveUpAt) {
        throw new Error(`${pattern} was not printed.\nstdout:\n${this.stdout}\nstderr:\n${this.stderr}`);
      }
      await pause(POLL_INTERVAL_MS);
    }
  }

  /** Sends the signal and waits for the process to end. */
  end(signal: NodeJS.Signals = 'SIGTERM'): Promise<EndedProcess> {
    this.child.kill(signal);
    return this.ended;
  }
}

/** Runs a command until it ends. */
export function runCommand(
  args: readonly string[],
  options: { readonly cwd: string; readonly env?: Readonly<Record<string, string>> },
): Promise<EndedProcess> {
  return new SpawnedCli(args, options).ended;
}

export interface TestDirectory {
  readonly path: string;
  remove(): Promise<void>;
}

export async function testDirectory(): Promise<TestDirectory> {
  const path = await mkdtemp(join(tmpdir(), 'everstep-cli-'));
  return { path, remove: () => rm(path, { recursive: true, force: true, maxRetries: 3 }) };
}

/** Parses KEY=value lines. */
export async function readEnvFile(path: string): Promise<Readonly<Record<string, string>>> {
  const lines = (await readFile(path, 'utf8')).split('\n').filter((line) => line !== '');
  return Object.fromEntries(lines.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]));
}
