import assert from 'node:assert/strict';
import fs from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, mock, test } from 'node:test';
import type { CommitUnit } from '../../../engine/writes.js';
import type { Store } from '../../../ports/stores/store.js';
import { openSqliteStore } from '../index.js';

type Done = (error: Error | null) => void;

/** Syncs that were requested and are not finished yet. */
let asked: Done[] = [];
let directory: string;
let store: Store;
let failures: string[] = [];
/** Durations of successful syncs that were reported. */
let syncedMs: number[] = [];

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'everstep-log-sync-'));
  asked = [];
  failures = [];
  syncedMs = [];
  store = await openSqliteStore({
    file: join(directory, 'store.db'),
    onSync: (durationMs) => syncedMs.push(durationMs),
    onDiskFailure: ({ message }) => failures.push(message),
  });
  mock.method(fs, 'fdatasync', (_descriptor: number, done: Done) => asked.push(done));
  syncBuiltinESMExports();
});

afterEach(async () => {
  mock.restoreAll();
  syncBuiltinESMExports();
  await store.close();
  await rm(directory, { recursive: true });
});

const flowControl = { key: 'k', parallelism: 1 };
const unit: CommitUnit = { guards: [], writes: [{ kind: 'put-flow-control', instanceId: 'qi_1', flowControl, at: 1 }] };
/** Two units, so more than one run waits. */
const commit = () => store.commit([unit, unit]);

function follow(promise: Promise<unknown>): { state: string } {
  const followed = { state: 'open' };
  promise.then(
    () => {
      followed.state = 'resolved';
    },
    () => {
      followed.state = 'rejected';
    },
  );
  return followed;
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

test('a commit is acknowledged only after the log is on the disk', async () => {
  const result = follow(commit());
  await turn();
  assert.equal(asked.length, 1);
  assert.equal(result.state, 'open');
  assert.deepEqual(syncedMs, []);
  asked[0]?.(null);
  await turn();
  assert.equal(result.state, 'resolved');
  assert.equal(syncedMs.length, 1);
  assert.ok(Number(syncedMs[0]) >= 0);
});

test('commits during a sync share the next one', async () => {
  const first = follow(commit());
  const others = [follow(commit()), follow(commit()), follow(commit())];
  await turn();
  assert.equal(asked.length, 1);
  asked[0]?.(null);
  await turn();
  assert.equal(first.state, 'resolved');
  assert.deepEqual(
    others.map(({ state }) => state),
    ['open', 'open', 'open'],
  );
  assert.equal(asked.length, 2);
  asked[1]?.(null);
  await turn();
  assert.ok(others.every(({ state }) => state === 'resolved'));
});

test('after a failed sync nothing is acknowledged', async () => {
  const first = follow(commit());
  await turn();
  asked[0]?.(new Error('EIO: i/o error'));
  await turn();
  assert.equal(first.state, 'rejected');
  await assert.rejects(commit(), /could not be synced to the disk: EIO/);
  assert.deepEqual(syncedMs, []);
  assert.equal(failures.length, 1, 'the owner is notified once, so that the process can end');
});

test('account changes are also durable when they are acknowledged', async () => {
  const outcome = follow(
    store.accounts.createToken({ tokenId: 't', instanceId: 'qi_1', access: 'read-only', createdAt: 1, revokedAt: null }),
  );
  await turn();
  assert.equal(outcome.state, 'open');
  asked[0]?.(null);
  await turn();
  assert.equal(outcome.state, 'resolved');
});

test('a commit of one run alone is synced immediately if the disk has been fast', async () => {
  const syncs: string[] = [];
  mock.method(fs, 'fdatasync', (_descriptor: number, done: Done) => {
    syncs.push('beside');
    setImmediate(done, null);
  });
  mock.method(fs, 'fdatasyncSync', () => syncs.push('here'));
  const clock = mock.method(performance, 'now', () => 0);
  syncBuiltinESMExports();
  await store.commit([unit]);
  await store.commit([unit]);
  await store.commit([unit, unit]);
  assert.deepEqual(syncs, ['beside', 'here', 'beside']);
  // From now on each sync takes 10 ms.
  let now = 0;
  clock.mock.mockImplementation(() => {
    now += 10;
    return now;
  });
  await store.commit([unit, unit]);
  syncs.length = 0;
  await store.commit([unit]);
  assert.deepEqual(syncs, ['beside'], 'a slow disk delays no other work');
});
