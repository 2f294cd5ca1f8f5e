/** The server under test: a process with a small heap, temporary data and a monitor. */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../packages/everstep/dist/stores/postgres/testing/server-process.js';

const ROOT = join(import.meta.dirname, '../..');
const BIN = join(ROOT, 'packages/everstep/dist/cli/bin.js');
const MONITOR = join(import.meta.dirname, 'monitor.mjs');
const STARTS_WITHIN_MS = 30_000;
const MAX_LOG_LINES = 200;

/**
 * Starts the server and resolves when it is ready.
 * @param {{ heapMb: number, endpointPort: number, onStall: (stall: { stallMs: number, cpuMs: number }) => void }} options
 */
export async function startService({ heapMb, endpointPort, onStall }) {
  const dataDir = mkdtempSync(join(tmpdir(), 'everstep-fuzz-'));
  const port = await freePort();
  const faults = [];
  const memory = { rss: 0, most: 0 };
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
  const service = { port, pid: child.pid, faults, memory, exit: null, credentials: null };
  const take = (chunk) => {
    for (const line of chunk.toString().split('\n'))
      if (line !== '' && faults.length < MAX_LOG_LINES) faults.push(line.slice(0, 2_000));
  };
  child.stdout.on('data', (chunk) => {
    // Errors in the log; the output of the startup is ignored.
    for (const line of chunk.toString().split('\n')) if (line.startsWith('{')) take(line);
  });
  child.stderr.on('data', take);
  child.on('message', (message) => {
    if (message.kind === 'stall') onStall(message);
    else Object.assign(memory, { rss: message.rss, most: Math.max(memory.most, message.rss) });
  });
  const ended = new Promise((resolve) => {
    child.once('exit', (code, signal) => {
      service.exit = { code, signal };
      resolve();
    });
  });
  const until = performance.now() + STARTS_WITHIN_MS;
  for (;;) {
    const ready = await fetch(`http://127.0.0.1:${port}/ready`).catch(() => null);
    if (ready?.ok) break;
    if (service.exit || performance.now() > until) throw new Error(`the server did not start: ${faults.join('\n')}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  service.credentials = JSON.parse(readFileSync(join(dataDir, 'data/credentials.json'), 'utf8'));
  service.stop = async () => {
    if (!service.exit) child.kill('SIGTERM');
    const timer = setTimeout(() => child.kill('SIGKILL'), 20_000);
    await ended;
    clearTimeout(timer);
    rmSync(dataDir, { recursive: true, force: true });
  };
  return service;
}
