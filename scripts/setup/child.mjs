/** Runs child processes of the scripts. Signals are forwarded to them, and their exit code is a return value. */
import { spawn } from 'node:child_process';
import { constants } from 'node:os';

const FORWARDED_SIGNALS = process.platform === 'win32' ? ['SIGINT', 'SIGTERM'] : ['SIGINT', 'SIGTERM', 'SIGHUP'];

const ORPHAN_CHECK_MS = 500;

/**
 * Calls `end` when the parent process has ended, until the returned function is called. npm starts scripts through a shell that
 * does not forward SIGTERM: `kill` on npm ends npm and the shell, but not this process.
 */
function watchParent(end) {
  if (process.env.npm_lifecycle_event === undefined) return () => {};
  const parentPid = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid !== parentPid) end();
  }, ORPHAN_CHECK_MS);
  return () => clearInterval(timer);
}

/**
 * Runs a command until it ends. With `output: 'kept'` the output is returned, with `'shown'` it is printed. Signals are forwarded
 * to the child, which decides how to end.
 *
 * @param {string} command
 * @param {readonly string[]} args
 * @param {{ cwd?: string, env?: NodeJS.ProcessEnv, output?: 'kept' | 'shown' }} [options]
 * @returns {Promise<{ code: number, output: string, wasInterrupted: boolean }>} code as a shell reports it: 128 + n for signal n
 */
export function runToEnd(command, args, { cwd, env = process.env, output = 'shown' } = {}) {
  return new Promise((resolve, reject) => {
    const isCaptured = output === 'kept';
    const child = spawn(command, args, {
      cwd,
      env,
      stdio: isCaptured ? ['ignore', 'pipe', 'pipe'] : 'inherit',
      windowsHide: true,
    });
    let wasInterrupted = false;
    let capturedOutput = '';
    const removeListeners = FORWARDED_SIGNALS.map((signal) => {
      const listener = () => {
        wasInterrupted = true;
        child.kill(signal);
      };
      process.on(signal, listener);
      return () => process.off(signal, listener);
    });
    const stopWatching = watchParent(() => {
      wasInterrupted = true;
      child.kill('SIGTERM');
    });
    const stopForwarding = () => {
      for (const stop of removeListeners) stop();
      stopWatching();
    };
    child.stdout?.on('data', (chunk) => {
      capturedOutput += chunk;
    });
    child.stderr?.on('data', (chunk) => {
      capturedOutput += chunk;
    });
    child.once('error', (error) => {
      stopForwarding();
      reject(error);
    });
    child.once('close', (code, signal) => {
      stopForwarding();
      resolve({ code: code ?? 128 + (constants.signals[signal] ?? 0), output: capturedOutput, wasInterrupted });
    });
  });
}

/** Returns the command that calls npm: the npm that runs this script, or the one on the PATH. */
export function npmCommand() {
  const cli = process.env.npm_execpath;
  if (cli?.endsWith('.js') || cli?.endsWith('.cjs')) return { command: process.execPath, args: [cli] };
  if (process.platform === 'win32') return { command: process.env.ComSpec ?? 'cmd.exe', args: ['/d', '/s', '/c', 'npm'] };
  return { command: 'npm', args: [] };
}
