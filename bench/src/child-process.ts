/** Starts and stops the child processes of the benchmark. */
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';

const STOP_GRACE_MS = 8_000;
const LOG_TAIL_LENGTH = 2_000;

export interface LaunchOptions {
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** File for the output. */
  readonly logFile: string;
  /** Whether to open a channel for messages to this process. */
  readonly hasChannel?: boolean;
}

/** Starts Node with the arguments. The environment contains only the Everstep settings in `env`. */
export function launch({ args, env, logFile, hasChannel = false }: LaunchOptions): ChildProcess {
  const inheritedEnv = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('EVERSTEP_')));
  const logDescriptor = openSync(logFile, 'w');
  try {
    return spawn(process.execPath, args, {
      env: { ...inheritedEnv, NODE_ENV: 'production', ...env },
      stdio: ['ignore', logDescriptor, logDescriptor, ...(hasChannel ? (['ipc'] as const) : [])],
    });
  } finally {
    closeSync(logDescriptor);
  }
}

export async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exitPromise = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_GRACE_MS);
  await exitPromise;
  clearTimeout(timer);
}

export function processId(child: ChildProcess): number {
  if (child.pid === undefined) throw new Error('the process did not start');
  return child.pid;
}

/** Waits until `check` returns a value. Rejects with the end of the log if the process ends or 30 seconds pass. */
export async function untilReady<Value>(
  processName: string,
  child: ChildProcess,
  logFile: string,
  check: () => Value | undefined | Promise<Value | undefined>,
): Promise<Value> {
  const deadline = performance.now() + 30_000;
  for (;;) {
    const value = await check();
    if (value !== undefined) return value;
    const hasEnded = child.exitCode !== null || child.signalCode !== null;
    if (hasEnded || performance.now() > deadline) {
      const tail = readFileSync(logFile, 'utf8').slice(-LOG_TAIL_LENGTH);
      throw new Error(
        `${processName} ${hasEnded ? `ended with ${child.exitCode ?? child.signalCode}` : 'was not ready after 30 s'}:\n${tail}`,
      );
    }
    await pause(20);
  }
}
