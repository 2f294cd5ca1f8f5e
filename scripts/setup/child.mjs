/** Child processes of the scripts: signals are forwarded, and the exit code is a return value. */
import { spawn } from 'node:child_process';
import { constants } from 'node:os';

const FORWARDED_SIGNALS = process.platform === 'win32' ? ['SIGINT', 'SIGTERM'] : ['SIGINT', 'SIGTERM', 'SIGHUP'];

const ORPHAN_CHECK_MS = 500;

/**
 * npm starts scripts through a shell that does not forward SIGTERM: `kill` on npm ends npm and the shell, but not this
 * process. So the loss of the parent process counts as a signal.
 */
function whenOrphaned(end) {
  if (process.env.npm_lifecycle_event === undefined) return () => {};
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid !== parent) end();
  }, ORPHAN_CHECK_MS);
  return () => clearInterval(timer);
}

/**
 * Runs a command until it ends. `output: 'kept'` returns the output; 'shown' prints it. Signals are forwarded to the child,
 * which decides how to end.
 *
 * @param {string} command
 * @param {readonly string[]} args
 * @param {{ cwd?: string, env?: NodeJS.ProcessEnv, output?: 'kept' | 'shown' }} [options]
 * @returns {Promise<{ code: number, output: string, interrupted: boolean }>} code as a shell reports it: 128 + n for signal n
 */
export function runToEnd(command, args, { cwd, env = process.env, output = 'shown' } = {}) {
  return new Promise((resolve, reject) => {
    const kept = output === 'kept';
    const child = spawn(command, args, { cwd, env, stdio: kept ? ['ignore', 'pipe', 'pipe'] : 'inherit', windowsHide: true });
    let interrupted = false;
    let printed = '';
    const forward = FORWARDED_SIGNALS.map((signal) => {
      const listener = () => {
        interrupted = true;
        child.kill(signal);
      };
      process.on(signal, listener);
      return () => process.off(signal, listener);
    });
    const stopWatching = whenOrphaned(() => {
      interrupted = true;
      child.kill('SIGTERM');
    });
    const stopForwarding = () => {
      for (const stop of forward) stop();
      stopWatching();
    };
    child.stdout?.on('data', (chunk) => {
      printed += chunk;
    });
    child.stderr?.on('data', (chunk) => {
      printed += chunk;
    });
    child.once('error', (error) => {
      stopForwarding();
      reject(error);
    });
    child.once('close', (code, signal) => {
      stopForwarding();
      resolve({ code: code ?? 128 + (constants.signals[signal] ?? 0), output: printed, interrupted });
    });
  });
}

/** Returns how to call npm: the npm that runs this script, or the one on the PATH. */
export function npmCommand() {
  const cli = process.env.npm_execpath;
  if (cli?.endsWith('.js') || cli?.endsWith('.cjs')) return { command: process.execPath, args: [cli] };
  if (process.platform === 'win32') return { command: process.env.ComSpec ?? 'cmd.exe', args: ['/d', '/s', '/c', 'npm'] };
  return { command: 'npm', args: [] };
}
