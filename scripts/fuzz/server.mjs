/** The server under test: a process with a small heap, temporary data and a monitor. */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../packages/everstep/dist/stores/postgres/testing/server-process.js';

const ROOT = join(import.meta.dirname, '../..');
const BIN = join(ROOT, 'packages/everstep/dist/cli/bin.js');
const MONITOR = join(import.meta.dirname, 'monitor.mjs');
const START_TIMEOUT_MS = 30_000;
const MAX_LOG_LINES = 200;

/**
 * Starts the server and resolves when it is ready.
 * @param {{ heapMb: number, endpointPort: number, onStall: (stall: { stallMs: number, cpuMs: number }) => void }} options
 */
export async function startServer({ heapMb, endpointPort, onStall }) {
  const dataDir = mkdtempSync(join(tmpdir(), 'everstep-fuzz-'));
  const port = await freePort();
  const faults = [];
  const memory = { rss: 0, maxRss: 0 };
  const child = spawn(
    process.execPath,
    [
      `--max-old-space-size=${heapMb}`,
      '--disable-warning=ExperimentalWarning',
      '--import',
      MONITOR,
      BIN,
      'serve',
      '--port',
      String(port),
    ],
    {
      env: {
        PATH: process.env.PATH,
        EVERSTEP_DATA_DIR: join(dataDir, 'data'),
        EVERSTEP_ALLOW_ADDRESSES: `127.0.0.1:${endpointPort},127.0.0.1:1`,
        EVERSTEP_ALLOW_PORTS: '1',
        EVERSTEP_LOG_LEVEL: 'error',
        // Each request has its own address, so that failed logins delay only that address.
        EVERSTEP_TRUSTED_PROXIES: '127.0.0.1',
      },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    },
  );
  const server = { port, pid: child.pid, faults, memory, exit: null, credentials: null };
  const addFaults = (chunk) => {
    for (const line of chunk.toString().split('\n'))
      if (line !== '' && faults.length < MAX_LOG_LINES) faults.push(line.slice(0, 2_000));
  };
  child.stdout.on('data', (chunk) => {
    // Only the log is recorded, not the output of the startup.
    for (const line of chunk.toString().split('\n')) if (line.startsWith('{')) addFaults(line);
  });
  child.stderr.on('data', addFaults);
  child.on('message', (message) => {
    if (message.kind === 'stall') onStall(message);
    else Object.assign(memory, { rss: message.rss, maxRss: Math.max(memory.maxRss, message.rss) });
  });
  const exitPromise = new Promise((resolve) => {
    child.once('exit', (code, signal) => {
      server.exit = { code, signal };
      resolve();
    });
  });
  const deadline = performance.now() + START_TIMEOUT_MS;
  for (;;) {
    const ready = await fetch(`http://127.0.0.1:${port}/ready`).catch(() => null);
    if (ready?.ok) break;
    if (server.exit || performance.now() > deadline) throw new Error(`the server did not start: ${faults.join('\n')}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  server.credentials = JSON.parse(readFileSync(join(dataDir, 'data/credentials.json'), 'utf8'));
  server.stop = async () => {
    if (!server.exit) child.kill('SIGTERM');
    const timer = setTimeout(() => child.kill('SIGKILL'), 20_000);
    await exitPromise;
    clearTimeout(timer);
    rmSync(dataDir, { recursive: true, force: true });
  };
  return server;
}
