/** Backups, restores and checks that are interrupted or fail leave nothing behind. */
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { addUsers } from '../stores/conformance/accounts/account-samples.js';
import { openSqliteStore } from '../stores/sqlite/index.js';
import { openSearchDocuments } from '../stores/sqlite/search/index.js';
import { BackupError } from './contents.js';
import { handleControlCommands } from './control-commands.js';
import type { BackupSecret } from './encryption/backup-cipher.js';
import { restoreBackup } from './restoring.js';
import { takeBackup } from './taking.js';
import { verifyStore } from './verifying.js';

const INDEX = {
  indexId: 'idx_1',
  accountId: 'usr_ann',
  name: 'films',
  region: 'eu-central-1',
  type: 'free',
  derivedNumber: 1,
  createdAt: 1,
} as const;
const KEY: BackupSecret = { kind: 'key', keys: [new Uint8Array(32).fill(7)] };
const MODES = [
  ['a plain', null],
  ['an encrypted', KEY],
] as const;
/** More checks than any of the commands makes. */
const MAX_CHECKS = 1000;
const LOG = { debug() {}, info() {}, warn() {}, error() {} };

/** Returns a signal that calls `act` with its controller when it is checked for the nth time. */
function signalActing(n: number, act: (controller: AbortController) => void): AbortSignal {
  const controller = new AbortController();
  const { signal } = controller;
  let checks = 0;
  signal.throwIfAborted = () => {
    if (++checks === n) act(controller);
    AbortSignal.prototype.throwIfAborted.call(signal);
  };
  return signal;
}

/** Performs the work with a signal that is aborted at the first check, then at the second, and so on, until none ends it. */
async function interruptEverywhere(work: (signal: AbortSignal) => Promise<unknown>, check: () => Promise<void>): Promise<number> {
  for (let n = 1; n <= MAX_CHECKS; n++) {
    const signal = signalActing(n, (controller) => controller.abort(new Error('interrupted')));
    try {
      await work(signal);
      if (!signal.aborted) return n - 1;
    } catch (error) {
      assert.ok(error instanceof BackupError && error.message.startsWith('Interrupted: '), String(error));
      await check();
    }
  }
  return assert.fail('the work was never completed');
}

const namesIn = async (directory: string): Promise<readonly string[] | null> =>
  (await readdir(directory).catch(() => null))?.toSorted() ?? null;

describe('after an interruption or a failure', () => {
  let directory: string;
  let dataDir: string;
  let storeFile: string;
  let dataNames: readonly string[] | null;
  const backupTo = (to: string, secret: BackupSecret | null, signal?: AbortSignal) =>
    takeBackup({
      dataDir,
      storeFile,
      to,
      credentials: true,
      secretsKey: true,
      version: '1',
      secret,
      ...(signal ? { signal } : {}),
    });

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'everstep-interruption-'));
    dataDir = join(directory, 'data');
    storeFile = join(dataDir, 'everstep.db');
    await mkdir(dataDir);
    await writeFile(join(dataDir, 'credentials.json'), '{}');
    const store = await openSqliteStore({ file: storeFile });
    await addUsers(store.accounts, 'ann');
    await store.searchIndexes.create(INDEX);
    await store.close();
    const documents = openSearchDocuments({ directory: join(dataDir, 'search') });
    await documents.upsert({ indexId: 'idx_1', namespace: '', documents: [{ id: 'm1', content: '{}', metadata: null }] });
    await documents.close();
    dataNames = await namesIn(dataDir);
  });
  after(() => rm(directory, { recursive: true, force: true }));

  for (const [mode, secret] of MODES) {
    test(`${mode} backup leaves nothing in its directory and no copy in the data directory, and can be made again`, async () => {
      for (const [name, remaining] of [
        [`new ${mode}`, null],
        [`existing ${mode}`, []],
      ] as const) {
        const to = join(directory, name);
        if (remaining !== null) await mkdir(to);
        const interruptions = await interruptEverywhere(
          (signal) => backupTo(to, secret, signal),
          async () => {
            assert.deepEqual(await namesIn(to), remaining);
            assert.deepEqual(await namesIn(dataDir), dataNames);
          },
        );
        assert.ok(interruptions > 5);
        assert.ok((await namesIn(to))?.includes('manifest.json'));
        assert.deepEqual(await namesIn(dataDir), dataNames);
      }
    });

    test(`${mode} backup whose manifest cannot be written is removed`, async () => {
      const to = join(directory, `without manifest ${mode}`);
      const interruptions = await interruptEverywhere(
        (signal) => backupTo(join(directory, `whole ${mode}`), secret, signal),
        async () => {},
      );
      const signal = signalActing(interruptions, () => void mkdirSync(join(to, 'manifest.json')));
      await assert.rejects(backupTo(to, secret, signal), /EISDIR|EEXIST|ENOTEMPTY|EPERM/);
      assert.deepEqual(await namesIn(to), ['manifest.json'], 'only the directory of the test remains');
      assert.deepEqual(await namesIn(dataDir), dataNames);
    });

    test(`a restore of ${mode} backup leaves nothing in the data directory, and can be repeated`, async () => {
      const from = join(directory, `source ${mode}`);
      await backupTo(from, secret);
      for (const [name, remaining] of [
        [`new target ${mode}`, null],
        [`existing target ${mode}`, []],
      ] as const) {
        const target = join(directory, name);
        if (remaining !== null) await mkdir(target);
        const interruptions = await interruptEverywhere(
          (signal) => restoreBackup({ from, dataDir: target, secret, signal }),
          async () => assert.deepEqual(await namesIn(target), remaining),
        );
        assert.ok(interruptions > 3);
        assert.deepEqual(await namesIn(target), ['credentials.json', 'everstep.db', 'search']);
      }
    });
  }

  test('a backup and a check of a running server leave no copy', async () => {
    const store = await openSqliteStore({ file: storeFile });
    const documents = openSearchDocuments({ directory: join(dataDir, 'search') });
    const rotate = async () => ({ replaced: [], encrypted: 0 });
    const control = await handleControlCommands({ dataDir, store, documents, log: LOG, rotate, record: async () => {} });
    try {
      assert.ok(control);
      const runningNames = await namesIn(dataDir);
      const to = join(directory, 'of running');
      await interruptEverywhere(
        (signal) => backupTo(to, null, signal),
        async () => assert.equal(await namesIn(to), null),
      );
      assert.ok((await stat(join(to, 'search', 'idx_1.db'))).isFile());
      await interruptEverywhere(
        (signal) => verifyStore({ dataDir, storeFile, signal }),
        async () => assert.deepEqual(await namesIn(dataDir), runningNames),
      );
      assert.deepEqual(await namesIn(dataDir), runningNames);
    } finally {
      await control?.close();
      await documents.close();
      await store.close();
    }
  });
});
