import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createConnection } from 'node:net';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { findBinaries } from './binaries.js';
import { openTestServer } from './server.js';

const skipReason = findBinaries() === null && 'no PostgreSQL server is installed here';

/** Returns whether a server responds at the URL. */
async function isReachable(url: string): Promise<boolean> {
  const { hostname, port } = new URL(url);
  const socket = createConnection({ host: hostname, port: Number(port) });
  const isConnected = await Promise.race([once(socket, 'connect'), once(socket, 'error')]).then(
    ([error]) => error === undefined,
    () => false,
  );
  socket.destroy();
  return isConnected;
}

test('a server for tests ends with the process that started it, even when that is killed', { skip: skipReason }, async () => {
  const source = new URL('./server.js', import.meta.url).href;
  const script = `const { startTestServer } = await import('${source}');
    process.stdout.write((await startTestServer()).url);
    setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [url] = await once(child.stdout, 'data');
  assert.equal(await isReachable(String(url)), true);
  child.kill('SIGKILL');
  for (let tries = 0; (await isReachable(String(url))) && tries < 200; tries++) await sleep(50);
  assert.equal(await isReachable(String(url)), false);
});

test('the server named by the environment is used; "none" disables it', async () => {
  const url = 'postgres://somebody@elsewhere.example/tests';
  const namedServer = await openTestServer({ EVERSTEP_TEST_POSTGRES: url });
  assert.equal(namedServer.kind === 'running' && namedServer.url, url);
  assert.equal((await openTestServer({ EVERSTEP_TEST_POSTGRES: 'none' })).kind, 'missing');
});
