import assert from 'node:assert/strict';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, test } from 'node:test';
import { type LogContents, readLog } from './log-reader.js';

const HEADER_BYTES = 32;
const FRAME_HEADER_BYTES = 24;
const PAGE_BYTES = 4096;
const FRAME_BYTES = FRAME_HEADER_BYTES + PAGE_BYTES;
const COMMITS = 20;

let directory = '';
/** A database in which each commit has a row, and its log. */
let database: Buffer;
let log: Buffer;
let whole: LogContents;
/** Number of the frame that ends each commit, from 1. */
let ends: readonly number[] = [];

function endsOf(bytes: Buffer): number[] {
  const found: number[] = [];
  for (let frame = 1; HEADER_BYTES + frame * FRAME_BYTES <= bytes.length; frame++)
    if (bytes.readUInt32BE(HEADER_BYTES + (frame - 1) * FRAME_BYTES + 4) !== 0) found.push(frame);
  return found;
}

/** Creates a database with `commits` rows in `n`, one row per commit, and returns its files while it is open. */
async function filesOf(name: string, prepare: string, commits = COMMITS) {
  const file = join(directory, `${name}.db`);
  const open = new DatabaseSync(file);
  open.exec(`PRAGMA page_size = ${PAGE_BYTES}; PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL;
    PRAGMA synchronous = NORMAL; CREATE TABLE n (value INTEGER, filler TEXT); ${prepare}`);
  const insert = open.prepare('INSERT INTO n VALUES (?, ?)');
  for (let value = 1; value <= commits; value++) insert.run(value, 'x'.repeat(3000));
  const files = [await readFile(file), await readFile(`${file}-wal`)] as const;
  open.close();
  return files;
}

async function contentsOf(bytes: Buffer): Promise<LogContents | null> {
  const path = join(directory, 'changed-wal');
  await writeFile(path, bytes);
  return readLog(path);
}

const flipped = (at: number): Buffer => {
  const bytes = Buffer.from(log);
  bytes[at] = (bytes[at] ?? 0) ^ 4;
  return bytes;
};

const frameAt = (frame: number): number => HEADER_BYTES + (frame - 1) * FRAME_BYTES;

/** Returns how many of the rows SQLite finds with this log. */
async function rowsWith(bytes: Buffer): Promise<number> {
  const file = join(directory, 'recovered.db');
  await writeFile(file, database);
  await writeFile(`${file}-wal`, bytes);
  const open = new DatabaseSync(file);
  try {
    const hasTable = open.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'n'").get() !== undefined;
    return hasTable ? Number(open.prepare('SELECT count(*) AS rows FROM n').get()?.rows) : 0;
  } finally {
    open.close();
  }
}

before(async () => {
  directory = await mkdtemp(join(tmpdir(), 'everstep-log-reader-'));
  [database, log] = await filesOf('whole', '');
  ends = endsOf(log);
  const contents = await contentsOf(log);
  assert.ok(contents);
  whole = contents;
});
after(() => rm(directory, { recursive: true }));

describe('the reader of a log', () => {
  test('counts the frames and commits of a whole log', () => {
    const frames = (log.length - HEADER_BYTES) / FRAME_BYTES;
    assert.deepEqual(whole, {
      isHeaderValid: true,
      frames,
      committedFrames: frames,
      commits: ends.length,
      framesBehind: 0,
      commitsBehind: 0,
    });
    assert.ok(ends.length > COMMITS);
  });

  test('finds no log if there is no file, or less than a header', async () => {
    assert.equal(readLog(join(directory, 'nowhere')), null);
    assert.equal(await contentsOf(Buffer.alloc(0)), null);
    assert.equal(await contentsOf(log.subarray(0, HEADER_BYTES - 1)), null);
  });

  test('finds the frames after a frame whose page or numbers are damaged', async () => {
    const middle = ends[10] ?? 0;
    for (const offset of [FRAME_HEADER_BYTES, FRAME_HEADER_BYTES + 2000, FRAME_BYTES - 1, 0, 4]) {
      const found = await contentsOf(flipped(frameAt(middle) + offset));
      assert.deepEqual(
        [found?.frames, found?.framesBehind, found?.commitsBehind],
        [middle - 1, whole.frames - middle, whole.commits - 11],
        `offset ${offset}`,
      );
      assert.equal(found?.committedFrames, ends[9]);
    }
  });

  test('finds all frames except one after a frame whose own checksum is damaged', async () => {
    const middle = ends[10] ?? 0;
    const found = await contentsOf(flipped(frameAt(middle) + 17));
    assert.deepEqual([found?.frames, found?.framesBehind], [middle - 1, whole.frames - middle - 1]);
  });

  test('finds frames after a header that is damaged anywhere', async () => {
    for (let at = 0; at < HEADER_BYTES; at++) {
      const found = await contentsOf(flipped(at));
      assert.equal(found?.isHeaderValid, false, `byte ${at}`);
      assert.equal(found?.frames, 0);
      // Without the page size nothing can be found; in the other byte order all checksums differ.
      if (at !== 3 && (at < 8 || at >= 12)) assert.ok((found?.framesBehind ?? 0) >= whole.frames - 2, `byte ${at}`);
    }
  });

  test('agrees with SQLite about a log that is truncated at any byte of its last frames, and finds nothing after it', async () => {
    const lastTwo = log.subarray(0, frameAt((ends.at(-3) ?? 0) + 1)).length;
    for (let bytes = lastTwo; bytes <= log.length; bytes += 61) {
      const found = await contentsOf(log.subarray(0, bytes));
      assert.deepEqual([found?.framesBehind, found?.commitsBehind], [0, 0], `${bytes} bytes`);
      const kept = ends.filter((end) => frameAt(end + 1) <= bytes).length;
      assert.equal(found?.commits, kept, `${bytes} bytes`);
    }
  });

  test('agrees with SQLite about which commits are left after a bit is flipped', async () => {
    const without = ends.length - COMMITS;
    for (let i = 0; i < 40; i++) {
      const at = HEADER_BYTES + Math.floor(((log.length - HEADER_BYTES) * i) / 40);
      const bytes = flipped(at);
      const found = await contentsOf(bytes);
      assert.equal(await rowsWith(bytes), Math.max(0, (found?.commits ?? 0) - without), `byte ${at}`);
    }
  });

  test('recognizes frames of an earlier generation', async () => {
    // The second generation overwrites the start of the log, and leaves the rest of the first one after it.
    const file = join(directory, 'restarted.db');
    const open = new DatabaseSync(file);
    open.exec('PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; CREATE TABLE n (value INTEGER, filler TEXT)');
    const insert = open.prepare('INSERT INTO n VALUES (?, ?)');
    for (let value = 1; value <= COMMITS; value++) insert.run(value, 'x'.repeat(3000));
    open.exec('PRAGMA wal_checkpoint(PASSIVE)');
    insert.run(0, 'y');
    await cp(`${file}-wal`, join(directory, 'restarted-wal'));
    open.close();
    const found = readLog(join(directory, 'restarted-wal'));
    assert.equal(found?.commits, 1);
    assert.deepEqual([found?.framesBehind, found?.commitsBehind], [0, 0]);
  });

  test('reads a log that is larger than its buffer', async () => {
    const [, large] = await filesOf('large', 'PRAGMA wal_autocheckpoint = 0', 700);
    assert.ok(large.length > 3 * 1024 * 1024, `${large.length} bytes`);
    const found = await contentsOf(large);
    assert.equal(found?.frames, (large.length - HEADER_BYTES) / FRAME_BYTES);
    assert.equal(found?.framesBehind, 0);
  });
});
