import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { creation, fullHistory, INSTANCE, sampleRun, T0, unit } from '../../conformance/samples.js';
import { createSqliteStore, openSqliteStore } from '../index.js';
import { MIGRATIONS } from '../migrations/index.js';
import { migrate, openConnection, StoreOpenError, type StoreOpenErrorCode } from './connection.js';
import { assertNoTableScans } from './table-scans.fixture.js';

let directory = '';
before(async () => {
  directory = await mkdtemp(join(tmpdir(), 'everstep-connection-'));
});
after(() => rm(directory, { recursive: true }));

const isOpenError = (code: StoreOpenErrorCode, words: RegExp) => (error: unknown) => {
  assert.ok(error instanceof StoreOpenError);
  assert.equal(error.code, code);
  assert.match(error.message, words);
  return true;
};

/** Starts a process that writes repeatedly and prints a number each time; resolves when it has printed `count`. */
async function startWriter(file: string, count: number, fixture = './killed-writer.fixture.js') {
  const script = fileURLToPath(new URL(fixture, import.meta.url));
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', script, file], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let acknowledged = 0;
  await new Promise<void>((resolve, reject) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      acknowledged = Number(line);
      if (acknowledged >= count) resolve();
    });
    child.on('exit', () => reject(new Error('the writer ended before it was killed')));
  });
  return {
    /** Returns the last number that it printed. */
    async kill(): Promise<number> {
      child.kill('SIGKILL');
      await once(child, 'close');
      return acknowledged;
    },
  };
}

function integrityOf(file: string): unknown {
  const database = new DatabaseSync(file);
  const row = database.prepare('PRAGMA integrity_check').get();
  database.close();
  return row?.integrity_check;
}

describe('a store file', () => {
  test('is refused with a clear error while another process uses it, and opens with every acknowledged write when that process was killed', async () => {
    const file = join(directory, 'killed.db');
    const writer = await startWriter(file, 50);
    const refused = await openSqliteStore({ file }).catch((error: unknown) => error);
    const acknowledged = await writer.kill();
    isOpenError('in-use', /killed\.db is in use by another process/)(refused);
    const store = await openSqliteStore({ file });
    for (let n = 1; n <= acknowledged; n++) {
      const run = await store.loadRun({ runKey: sampleRun(n).key });
      assert.equal(run?.journalLength, 1, `run ${n} of ${acknowledged}`);
    }
    assert.ok((await store.latestTime()) >= sampleRun(acknowledged).createdAt);
    await store.close();
  });

  test('counts exactly the messages and runs that it contains after its process was killed', async () => {
    const file = join(directory, 'killed-counting.db');
    const writer = await startWriter(file, 50);
    const acknowledged = await writer.kill();
    const store = await openSqliteStore({ file });
    let held = acknowledged;
    while (await store.loadRun({ runKey: sampleRun(held + 1).key })) held++;
    const [usage] = await store.accounts.usage({ instanceId: INSTANCE, fromMonth: '2000-01' });
    assert.equal(usage?.messages, 5 * held);
    const [started] = await store.accounts.countsByDay({ instanceId: INSTANCE, fromDay: 0 });
    assert.equal(started?.count, held);
    await store.close();
  });

  test('contains a run completely or not at all when a process was killed while it removed runs and freed their space', async () => {
    const file = join(directory, 'killed-remover.db');
    const remover = await startWriter(file, 60, '../runs/killed-remover.fixture.js');
    await remover.kill();
    assert.equal(integrityOf(file), 'ok');
    const store = await openSqliteStore({ file });
    const page = { instanceId: INSTANCE, filter: {}, order: 'oldest-first', after: null, horizon: null, limit: 1000 } as const;
    const runs = (await store.listRuns(page)).items;
    assert.ok(runs.length >= 50, `${runs.length} runs`);
    for (const { key: runKey, settings } of runs) {
      assert.equal((await fullHistory(store, { runKey }))?.steps.length, 1);
      assert.ok(await store.loadPayload({ runKey }));
      const labeled = await store.listRuns({ ...page, filter: { labels: settings.labels } });
      assert.ok(labeled.items.some(({ key }) => key === runKey));
    }
    await store.close();
    const database = new DatabaseSync(file);
    for (const table of ['run', 'payload', 'step']) {
      assert.equal(database.prepare(`SELECT count(*) AS rows FROM ${table}`).get()?.rows, runs.length, table);
    }
    database.close();
  });

  test('is refused while this process uses it, and is free after close, which may be called twice', async () => {
    const file = join(directory, 'twice.db');
    const store = await openSqliteStore({ file });
    await assert.rejects(openSqliteStore({ file }), isOpenError('in-use', /in use/));
    await store.close();
    await store.close();
    await (await openSqliteStore({ file })).close();
  });

  test('of a newer version is refused and left unchanged', async () => {
    const file = join(directory, 'newer.db');
    await (await openSqliteStore({ file })).close();
    const database = new DatabaseSync(file);
    database.exec('PRAGMA user_version = 9000');
    database.close();
    await assert.rejects(openSqliteStore({ file }), isOpenError('newer-schema', /schema 9000; this version supports \d+/));
    const again = new DatabaseSync(file);
    assert.equal(again.prepare('PRAGMA user_version').get()?.user_version, 9000);
    again.close();
  });

  test('of another program is refused and left unchanged', async () => {
    const file = join(directory, 'foreign.db');
    const database = new DatabaseSync(file);
    database.exec('CREATE TABLE notes (text TEXT)');
    database.close();
    await assert.rejects(openSqliteStore({ file }), isOpenError('not-a-store', /another program/));
    const again = new DatabaseSync(file);
    assert.deepEqual(
      again
        .prepare('SELECT name FROM sqlite_schema')
        .all()
        .map((row) => row.name),
      ['notes'],
    );
    again.close();
  });

  test('that is not a database is refused', async () => {
    const file = join(directory, 'garbage.db');
    await writeFile(file, 'this is not a database, whatever its name says. '.repeat(100));
    await assert.rejects(openSqliteStore({ file }), isOpenError('not-a-store', /not a database/));
  });

  test('is readable by its owner only, and so is its log', async () => {
    const file = join(directory, 'private.db');
    const store = await openSqliteStore({ file });
    for (const path of [file, `${file}-wal`]) assert.equal((await stat(path)).mode & 0o777, 0o600, path);
    await store.close();
  });

  test('in a directory that does not exist is refused with an error that names it', async () => {
    await assert.rejects(openSqliteStore({ file: join(directory, 'nowhere', 'x.db') }), /ENOENT.*nowhere/);
  });

  test('syncs every commit to the disk and limits the size of its log', () => {
    const connection = openConnection(join(directory, 'pragmas.db'));
    const pragma = (name: string) => Object.values(connection.prepare(`PRAGMA ${name}`).get() ?? {})[0];
    assert.equal(pragma('journal_mode'), 'wal');
    assert.equal(pragma('synchronous'), 1, 'NORMAL: the sync at the end of a commit is LogSync');
    assert.equal(pragma('locking_mode'), 'exclusive');
    assert.ok(Number(pragma('journal_size_limit')) > 0);
    assert.equal(pragma('auto_vacuum'), 2, 'INCREMENTAL: free pages are given back by releaseSpace');
    connection.close();
  });
});

describe('migrations', () => {
  test('continue from the version of the file, each in its own transaction', () => {
    const database = new DatabaseSync(':memory:');
    const version = () => database.prepare('PRAGMA user_version').get()?.user_version;
    migrate(database, 'm.db', ['CREATE TABLE one (a TEXT)']);
    assert.equal(version(), 1);
    const broken = [
      'CREATE TABLE one (a TEXT)',
      'CREATE TABLE two (a TEXT)',
      'CREATE TABLE three (a TEXT); CREATE TABLE one (a TEXT)',
    ];
    assert.throws(() => migrate(database, 'm.db', broken), /one already exists/);
    assert.equal(version(), 2);
    assert.throws(() => database.prepare('SELECT * FROM three'), /no such table/);
    migrate(database, 'm.db', [...broken.slice(0, 2), 'CREATE TABLE three (a TEXT)']);
    assert.equal(version(), 3);
    database.close();
  });

  test('give the schema that every statement expects, and no statement scans a whole table', async () => {
    const connection = openConnection(':memory:');
    // Prepares the statements that removals need.
    await createSqliteStore(connection).removeInstanceRows({ instanceId: 'none', limit: 1 });
    assert.ok(connection.statements.length > 50);
    assertNoTableScans(connection);
    connection.close();
  });

  test('give the same schema when a second database is created from it at once', () => {
    const schemaOf = (database: DatabaseSync) => ({
      entries: database.prepare('SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name').all(),
      version: database.prepare('PRAGMA user_version').get(),
      application: database.prepare('PRAGMA application_id').get(),
    });
    const [stepwise, ...atOnce] = [MIGRATIONS.slice(), MIGRATIONS, MIGRATIONS].map((migrations) => {
      const database = new DatabaseSync(':memory:');
      migrate(database, ':memory:', migrations);
      const schema = schemaOf(database);
      database.close();
      return schema;
    });
    for (const schema of atOnce) assert.deepEqual(schema, stepwise);
  });

  test('are numbered up to the latest version', () => {
    const connection = openConnection(':memory:');
    assert.equal(connection.prepare('PRAGMA user_version').get()?.user_version, MIGRATIONS.length);
    connection.close();
  });
});

describe('free space', () => {
  const bodies = 5000;

  /** Fills a file with ended runs and removes them; returns its size in bytes before and after. */
  async function fillAndRemove(file: string): Promise<{ readonly full: number; readonly released: number }> {
    const store = await openSqliteStore({ file });
    const payload = { body: new Uint8Array(4096).fill(97), contentType: null, forwardHeaders: {} };
    for (let n = 0; n < bodies; n += 500) {
      const units = Array.from({ length: 500 }, (_, i) => {
        const run = sampleRun(n + i);
        const end = { kind: 'end-run', runKey: run.key, outcome: { status: 'canceled' }, completedAt: run.createdAt } as const;
        return unit([creation(run, payload), end]);
      });
      await store.commit(units);
    }
    await store.close();
    const full = (await stat(file)).size;

    const again = await openSqliteStore({ file });
    const query = { instanceId: INSTANCE, state: 'canceled', endedBefore: T0 * 2, keepNewest: null, limit: 200 } as const;
    let removed = 0;
    for (let count = -1; count !== 0; removed += count) count = await again.removeEndedRuns(query);
    assert.equal(removed, bodies);
    let steps = 1;
    while (await again.releaseSpace()) steps++;
    assert.ok(steps > 10, `in ${steps} steps`);
    assert.equal(await again.releaseSpace(), false);
    await again.close();
    return { full, released: (await stat(file)).size };
  }

  test('is released step by step, and the file becomes smaller by most of what was removed', async () => {
    const file = join(directory, 'released.db');
    const { full, released } = await fillAndRemove(file);
    assert.ok(full > bodies * 4096, `${full} bytes`);
    assert.ok(released < full / 20, `${released} of ${full} bytes`);
    assert.equal(integrityOf(file), 'ok');
  });

  test('is also released by a file of an early version, which is rewritten when it is opened', async () => {
    const file = join(directory, 'early.db');
    const early = new DatabaseSync(file);
    migrate(early, file, MIGRATIONS.slice(0, 1));
    early.exec("INSERT INTO secret (name, value) VALUES ('cursor', 'kept')");
    assert.equal(early.prepare('PRAGMA auto_vacuum').get()?.auto_vacuum, 0);
    early.close();
    const { full, released } = await fillAndRemove(file);
    assert.ok(released < full / 20, `${released} of ${full} bytes`);
    assert.equal(integrityOf(file), 'ok');
    const store = await openSqliteStore({ file });
    assert.equal(await store.accounts.findOrCreateSecret({ name: 'cursor', value: 'new' }), 'kept');
    await store.close();
  });
});
