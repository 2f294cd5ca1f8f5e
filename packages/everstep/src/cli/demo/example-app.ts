/** Runs the example order app as a separate process that starts and ends with the server. */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Credentials } from '../../bootstrap/credentials.js';

const PROGRAM = fileURLToPath(new URL('../../../../../examples/order/dist/main.js', import.meta.url));
const START_TIMEOUT_MS = 10_000;
const STOP_TIMEOUT_MS = 2_000;

export interface ExampleApp {
  /** URL of the app: `http://127.0.0.1:<port>`. */
  readonly url: string;
  readonly workflowUrl: string;
  stop(): Promise<void>;
}

/** Returns whether the example app exists. It is part of the repository, but not of the published package. */
export const hasExampleApp = (): boolean => existsSync(PROGRAM);

/** Returns the file with the port of the app. A later start uses it again, because unfinished runs call the app there. */
const portFile = (dataDir: string): string => join(dataDir, 'example-port');

async function readStoredPort(dataDir: string): Promise<number> {
  const port = Number(await readFile(portFile(dataDir), 'utf8').catch(() => '0'));
  return Number.isInteger(port) && port > 0 && port < 65_536 ? port : 0;
}

function launch(port: number, credentials: Credentials): ChildProcess {
  return spawn(process.execPath, [PROGRAM], {
    env: {
      ...process.env,
      HOST: '127.0.0.1',
      PORT: String(port),
      EVERSTEP_CURRENT_SIGNING_KEY: credentials.currentSigningKey,
      EVERSTEP_NEXT_SIGNING_KEY: credentials.nextSigningKey,
    },
    // The app has its own process group, so that Ctrl-C does not end it before the server has. It ends when its channel
    // closes, so it never outlives this process.
    detached: process.platform !== 'win32',
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    windowsHide: true,
  });
}

/** Resolves with the port of the app. Rejects with its output if it does not start. */
function waitForPort(child: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    let output = '';
    child.stderr?.on('data', (chunk) => {
      output += chunk;
    });
    const timer = setTimeout(() => reject(new Error('the app did not start in time')), START_TIMEOUT_MS);
    child.once('message', (message) => {
      clearTimeout(timer);
      if (typeof message === 'object' && message !== null && 'port' in message) resolve(Number(message.port));
    });
    child.once('error', reject);
    child.once('exit', (code) => {
      clearTimeout(timer);
      reject(new Error(output.trim() || `the app exited with code ${code}`));
    });
  });
}

async function stopChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exitPromise = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS);
  await exitPromise;
  clearTimeout(timer);
}

/** Starts the example app. Rejects with an Error that explains why the app does not start. */
export async function startExampleApp(dataDir: string, credentials: Credentials): Promise<ExampleApp> {
  const storedPort = await readStoredPort(dataDir);
  for (const port of new Set([storedPort, 0])) {
    const child = launch(port, credentials);
    try {
      const boundPort = await waitForPort(child);
      await writeFile(portFile(dataDir), String(boundPort));
      const url = `http://127.0.0.1:${boundPort}`;
      return { url, workflowUrl: `${url}/order`, stop: () => stopChild(child) };
    } catch (error) {
      await stopChild(child);
      if (port === 0) throw new Error(`Cannot start the example app: ${error instanceof Error ? error.message : error}`);
    }
  }
  throw new Error('Cannot start the example app: no free port.');
}
