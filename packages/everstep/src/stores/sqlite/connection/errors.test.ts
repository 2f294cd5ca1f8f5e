/** Errors of the embedded store when it rejects writes. */
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { StatementSync } from 'node:sqlite';
import { test } from 'node:test';
import type { CommitUnit } from '../../../ports/stores/store.js';
import { StoreRefusesWritesError, StoreUnavailableError } from '../../../ports/stores/store-unavailable.js';
import { creation, sampleRun, sampleStep, T0, unit } from '../../conformance/samples.js';
import { createSqliteStore, openSqliteStore } from '../index.js';
import { type Connection, openConnection } from './connection.js';
import { storeErrorOf } from './errors.js';

const SQLITE_FULL = 13;

const secret = (value: string) => ({ name: `a secret ${value.length}`, value });
const holds = (count: number): CommitUnit => ({
  guards: [],
  writes: Array.from({ length: count }, (_, n) => ({
    kind: 'set-hold' as const,
    instanceId: 'qi_1',
    origin: `http://host-${n}.test`,
    hold: { origin: `http://host-${n}.test`, by: 'hand' as const, reason: 'x'.repeat(500), since: 1 },
    by: 'hand' as const,
  })),
});

async function withStore(work: (store: ReturnType<typeof createSqliteStore>, connection: Connection) => Promise<void>) {
  const directory = await mkdtemp(join(tmpdir(), 'everstep-errors-'));
  try {
    const connection = openConnection(join(directory, 'everstep.db'));
    const store = createSqliteStore(connection);
    await work(store, connection);
    await store.close();
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

const refuses = (reason: string) => (error: unknown) => error instanceof StoreRefusesWritesError && error.reason === reason;

test('a full database rejects commits, account changes and probes, can be read, and accepts writes when there is space', async () => {
  await withStore(async (store, connection) => {
    await store.accounts.findOrCreateSecret({ name: 'known', value: 'kept' });
    const { page_count: pages } = connection.prepare('PRAGMA page_count').get() as { page_count: number };
    connection.exec(`PRAGMA max_page_count = ${pages + 2}`);
    await assert.rejects(store.commit([holds(200)]), refuses('disk full'));
    await assert.rejects(store.accounts.findOrCreateSecret(secret('x'.repeat(100_000))), refuses('disk full'));
    await assert.rejects(store.probeWrites(), refuses('disk full'));
    assert.deepEqual(await store.listHolds({ instanceId: 'qi_1' }), [], 'nothing was written');
    assert.equal(await store.accounts.findOrCreateSecret({ name: 'known', value: 'new' }), 'kept');
    connection.exec('PRAGMA max_page_count = 1000000');
    await store.probeWrites();
    assert.equal(await store.accounts.findSecret({ name: 'write-probe' }), null, 'a probe leaves nothing');
    assert.deepEqual(await store.commit([holds(200)]), [{ kind: 'applied' }]);
  });
});

test('opening a store that was closed writes nothing, so that it opens on a full disk', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'everstep-errors-'));
  t.after(() => rm(directory, { recursive: true, force: true }));
  const file = join(directory, 'everstep.db');
  await (await openSqliteStore({ file })).close();
  const content = await readFile(file);
  const store = await openSqliteStore({ file });
  assert.equal((await stat(`${file}-wal`)).size, 0);
  await store.close();
  assert.ok(content.equals(await readFile(file)));
});

test('a store that cannot be written while it is opened is rejected as unavailable, and can be opened later', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'everstep-errors-'));
  t.after(() => rm(directory, { recursive: true, force: true }));
  const file = join(directory, 'everstep.db');
  const store = await openSqliteStore({ file });
  const [run, fork] = [sampleRun(1), sampleRun(2)];
  const stage = {
    kind: 'stage-journal',
    fromRunKey: run.key,
    toRunKey: fork.key,
    from: 0,
    below: 1,
    without: [],
    at: T0,
  } as const;
  await store.commit([unit([creation(run), { kind: 'record-step', runKey: run.key, step: sampleStep(0) }])]);
  await store.commit([unit([stage])]);
  await store.close();
  const full = Object.assign(new Error('database or disk is full'), { errcode: SQLITE_FULL });
  const { run: runStatement } = StatementSync.prototype;
  const fault = t.mock.method(
    StatementSync.prototype,
    'run',
    function (this: StatementSync, ...values: Parameters<typeof runStatement>) {
      if (this.sourceSQL === 'COMMIT') throw full;
      return runStatement.apply(this, values);
    },
  );
  await assert.rejects(openSqliteStore({ file }), refuses('disk full'));
  fault.mock.restore();
  const reopened = await openSqliteStore({ file });
  assert.ok(await reopened.loadRun({ runKey: run.key }));
  await reopened.close();
});

test('a database that became read-only rejects writes, and a stored secret can be read', async () => {
  await withStore(async (store, connection) => {
    await store.accounts.findOrCreateSecret({ name: 'known', value: 'kept' });
    connection.exec('PRAGMA query_only = 1');
    await assert.rejects(store.commit([holds(1)]), refuses('read-only'));
    await assert.rejects(store.accounts.findOrCreateSecret(secret('new')), refuses('read-only'));
    assert.equal(await store.accounts.findOrCreateSecret({ name: 'known', value: 'new' }), 'kept');
    connection.exec('PRAGMA query_only = 0');
    await store.commit([holds(1)]);
  });
});

test('extended result codes are read; errors that do not go away by waiting are not refusals', () => {
  const of = (errcode: number) => storeErrorOf(Object.assign(new Error('said by SQLite'), { errcode }));
  const reasons = { 778: 'I/O error', 13: 'disk full', 1032: 'read-only', 7: 'out of memory', 14: 'a file cannot be opened' };
  for (const [code, reason] of Object.entries(reasons)) assert.ok(refuses(reason)(of(Number(code))), code);
  // SQLITE_CORRUPT, SQLITE_CONSTRAINT_UNIQUE
  for (const code of [11, 2067]) assert.ok(!(of(code) instanceof StoreUnavailableError));
  const other = new Error('not an error of SQLite');
  assert.equal(storeErrorOf(other), other);
});

test('a failed sync by SQLite itself ends the store', () => {
  for (const errcode of [1034, 1290]) {
    const failures: Error[] = [];
    const error = Object.assign(new Error('disk I/O error'), { errcode });
    assert.equal(storeErrorOf(error, { onSyncFailure: (failure) => failures.push(failure) }), error);
    assert.deepEqual(failures, [error]);
  }
});
