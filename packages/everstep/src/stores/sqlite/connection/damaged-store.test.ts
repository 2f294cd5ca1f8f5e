import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { appendFile, cp, mkdir, mkdtemp, open, readdir, readFile, rename, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, test } from 'node:test';
import { creation, sampleRun, unit } from '../../conformance/samples.js';
import { openSqliteStore, type SqliteStoreOptions } from '../index.js';
import { StoreOpenError } from './connection.js';
import { readLog } from './log-reader.js';
import { openStoreAtRest } from './store-at-rest.js';
import type { StoreNotice } from './store-loss.js';
import { openStoreReader } from './store-reader.js';

const RUNS = 60;
/** Size in SQLite's log format. */
const HEADER_BYTES = 32;
const FRAME_BYTES = 24 + 2048;

let directory = '';
let copies = 0;
/** The files of a store as a killed process leaves them, with 60 acknowledged runs in its log. */
let killed = '';

before(async () => {
  directory = await mkdtemp(join(tmpdir(), 'everstep-damaged-'));
  killed = await killedStore(join(directory, 'live'));
});
after(() => rm(directory, { recursive: true }));

/** Copies the files of an open store, which is what a killed process leaves. */
async function killedStore(live: string, options: Partial<SqliteStoreOptions> = {}): Promise<string> {
  await mkdir(live, { recursive: true });
  const store = await openSqliteStore({ file: join(live, 'store.db'), ...options });
  for (let n = 1; n <= RUNS; n++) await store.commit([unit([creation(sampleRun(n))])]);
  const copy = `${live}-killed`;
  await cp(live, copy, { recursive: true });
  await store.close();
  return copy;
}

async function copyOf(files = killed): Promise<string> {
  const copy = join(directory, `copy-${++copies}`);
  await cp(files, copy, { recursive: true });
  return join(copy, 'store.db');
}

async function flip(path: string, at: number, bit = 1): Promise<void> {
  const file = await open(path, 'r+');
  const { buffer } = await file.read(Buffer.alloc(1), 0, 1, at);
  await file.write(Buffer.from([(buffer[0] ?? 0) ^ bit]), 0, 1, at);
  await file.close();
}

const part = async (path: string, share: number): Promise<number> => Math.floor((await stat(path)).size * share);

interface Opened {
  readonly runs: number;
  readonly notices: readonly StoreNotice[];
}

/** Opens the store and counts how many of the 60 runs it has. */
async function opened(file: string, options: Partial<SqliteStoreOptions> = {}): Promise<Opened> {
  const notices: StoreNotice[] = [];
  const store = await openSqliteStore({ file, onNotice: (notice) => notices.push(notice), ...options });
  let runs = 0;
  for (let n = 1; n <= RUNS; n++) if (await store.loadRun({ runKey: sampleRun(n).key })) runs++;
  await store.close();
  return { runs, notices };
}

const isDamaged = (words: RegExp) => (error: unknown) => {
  assert.ok(error instanceof StoreOpenError, String(error));
  assert.equal(error.code, 'damaged', error.message);
  assert.match(error.message, words);
  assert.match(error.message, /--accept-loss/);
  return true;
};

const damages: readonly (readonly [what: string, damage: (file: string) => Promise<void>, words: RegExp])[] = [
  [
    'one flipped bit at 30% of its log',
    async (file) => flip(`${file}-wal`, await part(`${file}-wal`, 0.3)),
    /lost acknowledged changes: \d+ commits were on the disk, \d+ are left. .*damaged in frame \d+; \d+ valid frames follow/,
  ],
  [
    'one flipped bit at 70% of its log',
    async (file) => flip(`${file}-wal`, await part(`${file}-wal`, 0.7)),
    /damaged in frame \d+; \d+ valid frames follow/,
  ],
  ['a flipped bit in the header of its log', (file) => flip(`${file}-wal`, 17), /The header of its log .* is damaged/],
  [
    'half of its log',
    async (file) => truncate(`${file}-wal`, await part(`${file}-wal`, 0.5)),
    /Its log store\.db-wal ends after frame \d+/,
  ],
  [
    'a log that ends exactly before the last commit',
    async (file) => truncate(`${file}-wal`, HEADER_BYTES + ((await framesBefore(file)) ?? 0) * FRAME_BYTES),
    /ends after frame \d+/,
  ],
  ['an empty log', (file) => truncate(`${file}-wal`, 0), /Its log store\.db-wal is missing/],
  ['no log', (file) => rm(`${file}-wal`), /Its log store\.db-wal is missing/],
  ['an empty database', (file) => truncate(file, 0), /store\.db is empty, but .*store\.db-mark shows that there was a store/],
  ['no database', (file) => rm(file), /store\.db is missing, but .*store\.db-mark shows that there was a store/],
  [
    'neither a database nor a log',
    (file) => rm(file).then(() => rm(`${file}-wal`)),
    /store\.db is missing, but .*store\.db-mark/,
  ],
  [
    'a log, but neither a database nor a mark',
    (file) => rm(file).then(() => rm(`${file}-mark`)),
    /store\.db is missing, but .*store\.db-wal/,
  ],
];

/** Returns the number of frames up to the second-to-last commit. */
async function framesBefore(file: string): Promise<number | null> {
  const log = readLog(`${file}-wal`);
  if (!log) return null;
  const bytes = await readFile(`${file}-wal`);
  for (let frame = log.committedFrames - 1; frame > 0; frame--)
    if (bytes.readUInt32BE(HEADER_BYTES + (frame - 1) * FRAME_BYTES + 4) !== 0) return frame;
  return 0;
}

describe('a store that was in use', () => {
  test('opens with all runs after its process was killed, without a notice', async () => {
    assert.deepEqual(await opened(await copyOf()), { runs: RUNS, notices: [] });
  });

  for (const [what, damage, words] of damages) {
    test(`with ${what} is refused each time, and its files stay unchanged`, async () => {
      const file = await copyOf();
      await damage(file);
      const contents = async () => {
        const names = (await readdir(join(file, '..'))).filter((name) => !name.endsWith('-shm')).sort();
        return Promise.all(names.map(async (name) => [name, await readFile(join(file, '..', name))] as const));
      };
      const before = await contents();
      await assert.rejects(openSqliteStore({ file }), isDamaged(words));
      await assert.rejects(openSqliteStore({ file }), isDamaged(words));
      if (existsSync(file)) {
        assert.throws(() => openStoreAtRest(file), isDamaged(words), 'no backup of it is made either');
        assert.throws(() => openStoreReader({ file, isImmutable: false }), isDamaged(words), 'no copy either');
      }
      assert.deepEqual(await contents(), before);
    });

    test(`with ${what} continues when the loss is accepted, beside a copy of its files, and then opens as usual`, async () => {
      const file = await copyOf();
      await damage(file);
      const names = (await readdir(join(file, '..'))).sort();
      const damaged = await Promise.all(names.map((name) => readFile(join(file, '..', name))));
      const { runs, notices } = await opened(file, { acceptLoss: true });
      assert.ok(runs < RUNS);
      const [accepted] = notices;
      assert.equal(accepted?.event, 'opened a damaged store because --accept-loss is set');
      assert.match(String(accepted?.fields.loss), words);
      const keptIn = String(accepted?.fields.keptIn);
      assert.match(keptIn, /store\.db\.damaged-\d{4}-\d\d-\d\dT/);
      assert.deepEqual((await readdir(keptIn)).sort(), names);
      assert.deepEqual(await Promise.all(names.map((name) => readFile(join(keptIn, name)))), damaged);
      assert.deepEqual(await opened(file), { runs, notices: [] });
    });
  }

  test('is refused if only files that belong to it are left; a new store is not', async () => {
    const place = join(directory, 'left');
    const credentials = join(place, 'credentials.json');
    const file = join(place, 'store.db');
    await mkdir(place);
    const options = { file, companionFiles: [credentials] };
    await writeFile(file, '');
    await (await openSqliteStore(options)).close();
    await writeFile(credentials, '{}');
    await (await openSqliteStore(options)).close();
    for (const name of await readdir(place)) if (name !== 'credentials.json') await rm(join(place, name));
    await assert.rejects(openSqliteStore(options), isDamaged(/store\.db is missing, but .*credentials\.json/));
    new DatabaseSync(file).close();
    await writeFile(file, '');
    await assert.rejects(openSqliteStore(options), isDamaged(/store\.db is empty, but .*credentials\.json/));
    const database = new DatabaseSync(file);
    database.exec('PRAGMA journal_mode = WAL');
    database.close();
    assert.ok((await stat(file)).size > 0);
    await assert.rejects(openSqliteStore(options), isDamaged(/store\.db is empty, but .*credentials\.json/));
  });

  test('is refused if its database was replaced by an older copy', async () => {
    const file = await copyOf();
    const older = `${file}.older`;
    assert.equal((await opened(file)).runs, RUNS);
    await cp(file, older);
    const store = await openSqliteStore({ file });
    await store.commit([unit([creation(sampleRun(RUNS + 1))])]);
    await store.close();
    await rename(older, file);
    await assert.rejects(openSqliteStore({ file }), isDamaged(/or the database is an older copy/));
  });

  test('is also refused by the lock holder, where its files cannot be read before they are locked', async () => {
    const file = await copyOf();
    await rm(`${file}-wal`);
    // A journal that may require a rollback, which only a writer can detect.
    const journal = () => writeFile(`${file}-journal`, 'x'.repeat(4096));
    await journal();
    await assert.rejects(openSqliteStore({ file }), isDamaged(/lost acknowledged changes/));
    await journal();
    const { runs, notices } = await opened(file, { acceptLoss: true });
    assert.ok(runs < RUNS);
    assert.match(String(notices[0]?.fields.keptIn), /damaged/);
    assert.deepEqual((await opened(file)).notices, []);
  });

  test('reports an accepted loss only if there is one', async () => {
    const { runs, notices } = await opened(await copyOf(), { acceptLoss: true });
    assert.equal(runs, RUNS);
    assert.deepEqual(
      notices.map(({ event }) => event),
      ['store has no known loss, remove --accept-loss'],
    );
  });

  test('opens after another tool has moved its log into the database', async () => {
    const file = await copyOf();
    const tool = new DatabaseSync(file);
    tool.prepare('SELECT count(*) FROM run').get();
    tool.close();
    assert.ok(!existsSync(`${file}-wal`));
    assert.deepEqual(await opened(file), { runs: RUNS, notices: [] });
  });

  test('opens without a mark, as an earlier version wrote it or as it was moved without its mark', async () => {
    const file = await copyOf();
    await rm(`${file}-mark`);
    assert.deepEqual(await opened(file), { runs: RUNS, notices: [] });
  });

  test('opens if its mark was created and never written, as when a process is killed at its first start', async () => {
    const file = await copyOf();
    const { size } = await stat(`${file}-mark`);
    await writeFile(`${file}-mark`, Buffer.alloc(size));
    assert.deepEqual(await opened(file), { runs: RUNS, notices: [] });
  });

  test('opens if a power failure during its first commit left nothing but an unwritten mark', async () => {
    for (const state of ['missing', 'empty', 'without tables']) {
      const place = join(directory, `first-${state}`);
      const file = join(place, 'store.db');
      await mkdir(place);
      const store = await openSqliteStore({ file });
      await store.commit([unit([creation(sampleRun(1))])]);
      await store.close();
      const { size } = await stat(`${file}-mark`);
      for (const name of await readdir(place)) await rm(join(place, name));
      await writeFile(`${file}-mark`, Buffer.alloc(size));
      if (state === 'empty') await writeFile(file, '');
      if (state === 'without tables') {
        const database = new DatabaseSync(file);
        database.exec('PRAGMA journal_mode = WAL');
        database.close();
        assert.ok((await stat(file)).size > 0);
      }
      assert.deepEqual(await opened(file), { runs: 0, notices: [] }, state);
    }
  });

  test('without a mark opens with a notice if commits follow a damaged frame', async () => {
    const file = await copyOf();
    await rm(`${file}-mark`);
    await flip(`${file}-wal`, await part(`${file}-wal`, 0.3));
    const { runs, notices } = await opened(file);
    assert.ok(runs < RUNS);
    assert.deepEqual(
      notices.map(({ event }) => event),
      ['write-ahead log has commits after a damaged frame'],
    );
  });

  test('opens with a notice if its mark is damaged; the mark is then rewritten', async () => {
    for (const damage of [
      (mark: string) => flip(mark, 30),
      (mark: string) => truncate(mark, 0),
      (mark: string) => appendFile(mark, 'x'.repeat(100)),
    ]) {
      const file = await copyOf();
      await damage(`${file}-mark`);
      const { runs, notices } = await opened(file);
      assert.equal(runs, RUNS);
      assert.deepEqual(
        notices.map(({ event }) => event),
        ['durable mark is damaged, lost commits cannot be detected'],
      );
      const store = await openSqliteStore({ file });
      await store.commit([unit([creation(sampleRun(RUNS + 1))])]);
      await store.close();
      assert.deepEqual((await opened(file)).notices, []);
    }
  });

  test('opens with a notice beside the mark of another store', async () => {
    const other = await killedStore(join(directory, 'other'));
    const file = await copyOf();
    await cp(join(other, 'store.db-mark'), `${file}-mark`);
    const { runs, notices } = await opened(file);
    assert.equal(runs, RUNS);
    assert.deepEqual(
      notices.map(({ event }) => event),
      ['durable mark belongs to another store, lost commits cannot be detected'],
    );
  });
});
