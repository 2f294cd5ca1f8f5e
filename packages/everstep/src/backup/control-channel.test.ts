import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { listenForCommands, listenPrivately, requestBackup } from './control-channel.js';

async function emptyDirectory(t: TestContext): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'everstep-control-'));
  t.after(() => rm(path, { recursive: true, force: true }));
  return path;
}

test('a request that is aborted while the server works rejects, and cancels the work', async (t) => {
  const dataDir = await emptyDirectory(t);
  const controller = new AbortController();
  let isCanceled = false;
  const channel = await listenForCommands({
    dataDir,
    rotate: async () => ({ replaced: [], encrypted: 0 }),
    backUp: (_request, signal) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => {
          isCanceled = true;
          reject(signal.reason);
        });
        controller.abort(new Error('interrupted'));
      }),
  });
  const request = { to: join(dataDir, 'z'), credentials: true, secretsKey: true };
  await assert.rejects(requestBackup(dataDir, request, controller.signal), /^Error: interrupted$/);
  await channel.close();
  assert.equal(isCanceled, true);
});

test('one backup is made at a time; disconnecting cancels it; stopping the server aborts it', async (t) => {
  const dataDir = await emptyDirectory(t);
  const reasons: string[] = [];
  let started = (): void => {};
  const channel = await listenForCommands({
    dataDir,
    rotate: async () => ({ replaced: [], encrypted: 0 }),
    backUp: (_request, signal) =>
      new Promise((_resolve, reject) => {
        started();
        signal.addEventListener('abort', () => {
          reasons.push(signal.reason.message);
          reject(signal.reason);
        });
      }),
  });
  const request = { to: join(dataDir, 'z'), credentials: true, secretsKey: true };
  const nextBegun = () =>
    new Promise<void>((resolve) => {
      started = resolve;
    });
  const { socket } = JSON.parse(await readFile(join(dataDir, 'control.json'), 'utf8'));
  const impatient = connect(socket);
  const impatientBegun = nextBegun();
  impatient.write(`${JSON.stringify(request)}\n`);
  await impatientBegun;
  impatient.destroy();
  while (reasons.length === 0) await new Promise((resolve) => setImmediate(resolve));
  const firstBegun = nextBegun();
  const first = assert.rejects(requestBackup(dataDir, request), /The server stopped before the command was done/);
  await firstBegun;
  await assert.rejects(requestBackup(dataDir, request), /Another backup or rotation is in progress/);
  await channel.close();
  await first;
  assert.deepEqual(reasons, ['the client disconnected', 'the server is stopping']);
  assert.equal(await requestBackup(dataDir, request), null, 'no server is listening');
});

test('the socket is accessible only by its owner from its creation on', async (t) => {
  const path = join(await emptyDirectory(t), 's');
  const server = createServer();
  t.after(() => server.close());
  const mask = process.umask();
  const listening = listenPrivately(server, path);
  assert.equal(statSync(path).mode & 0o777, 0o600);
  assert.equal(process.umask(), mask);
  await listening;
  await assert.rejects(listenPrivately(createServer(), join(path, 'below')), /ENOTDIR|EACCES|EINVAL/);
  assert.equal(process.umask(), mask);
});

test('a server that cannot publish the address of its socket does not keep listening', async (t) => {
  const dataDir = await emptyDirectory(t);
  await mkdir(join(dataDir, 'control.json'));
  const handlers = { rotate: async () => ({ replaced: [], encrypted: 0 }), backUp: async () => [] };
  await assert.rejects(listenForCommands({ dataDir, ...handlers }), /EISDIR|ENOTEMPTY|EEXIST|EPERM/);
  assert.deepEqual(await readdir(dataDir), ['control.json']);
});

test('a server of another version that does not respond has made no backup', async (t) => {
  const dataDir = await emptyDirectory(t);
  const socket = join(dataDir, 's');
  const server = createServer((client) => client.once('data', () => client.end()));
  await new Promise<void>((resolve) => server.listen(socket, resolve));
  await writeFile(join(dataDir, 'control.json'), JSON.stringify({ socket }));
  await assert.rejects(
    requestBackup(dataDir, { to: join(dataDir, 'z'), credentials: true, secretsKey: true }),
    /ended before the command was done/,
  );
  await new Promise((resolve) => server.close(resolve));
});
