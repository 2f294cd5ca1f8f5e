/** No end of a log that a crash or a power failure can leave is mistaken for a loss. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { SeededRandom } from '../../../clock/testing/seeded-random.js';
import { creation, sampleRun, unit } from '../../conformance/samples.js';
import { openSqliteStore } from '../index.js';
import { findLoss } from './store-loss.js';

const FILES = ['', '-wal', '-mark'];
const MARKED_RUNS = 20;
const LATER_RUNS = 6;
const SECTOR_BYTES = 512;
/** Size in SQLite's log format. */
const HEADER_BYTES = 32;
const FRAME_BYTES = 24 + 2048;

let directory = '';
/** A store whose mark is older than its log, as a power failure leaves it. */
let file = '';
let log: Buffer;
/** Where the log ended when the mark was written. */
let markedBytes = 0;

before(async () => {
  directory = await mkdtemp(join(tmpdir(), 'everstep-torn-'));
  const live = join(directory, 'live.db');
  file = join(directory, 'cut.db');
  // Closing moves the schema from the log to the database, and a short log can be read many times quickly.
  await (await openSqliteStore({ file: live })).close();
  const store = await openSqliteStore({ file: live });
  const run = async (n: number) => store.commit([unit([creation(sampleRun(n))])]);
  for (let n = 1; n <= MARKED_RUNS; n++) await run(n);
  cpSync(`${live}-mark`, `${file}-mark`);
  markedBytes = readFileSync(`${live}-wal`).length;
  for (let n = 1; n <= LATER_RUNS; n++) await run(MARKED_RUNS + n);
  cpSync(live, file);
  log = readFileSync(`${live}-wal`);
  await store.close();
  assert.ok(log.length > markedBytes + LATER_RUNS * FRAME_BYTES);
});
after(() => rm(directory, { recursive: true }));

const lossWith = (bytes: Buffer): string | null => {
  writeFileSync(`${file}-wal`, bytes);
  return findLoss(file);
};

test('a log that is truncated anywhere after the mark is not a loss, and any byte before it is one', () => {
  for (let bytes = markedBytes; bytes < log.length; bytes += 509)
    assert.equal(lossWith(log.subarray(0, bytes)), null, `${bytes}`);
  for (const bytes of [markedBytes - 1, markedBytes - FRAME_BYTES, FRAME_BYTES, 32, 31, 0])
    assert.match(lossWith(log.subarray(0, bytes)) ?? '', /lost acknowledged changes/, `${bytes}`);
});

test('sectors after the mark that never reached the disk are not a loss, whichever they are', async () => {
  const random = new SeededRandom(7);
  for (let round = 0; round < 100; round++) {
    const bytes = Buffer.from(log);
    for (let at = Math.ceil(markedBytes / SECTOR_BYTES) * SECTOR_BYTES; at < bytes.length; at += SECTOR_BYTES)
      if (random.chance(0.1)) bytes.fill(0, at, Math.min(at + SECTOR_BYTES, bytes.length));
    assert.equal(lossWith(bytes), null, `round ${round}`);
    if (round % 20 > 0) continue;
    const store = await openSqliteStore({ file: copied(`round-${round}`) });
    for (let n = 1; n <= MARKED_RUNS; n++) assert.ok(await store.loadRun({ runKey: sampleRun(n).key }), `run ${n}`);
    await store.close();
  }
});

test('a flipped bit before the mark is a loss, wherever it is', () => {
  const random = new SeededRandom(8);
  // Of the fields of a header, only the number of the checkpoint is never used, but the checksum covers it.
  for (let round = 0; round < 100; round++) {
    const bytes = Buffer.from(log.subarray(0, markedBytes));
    const at = random.below(bytes.length);
    bytes[at] = (bytes[at] ?? 0) ^ (1 << random.below(8));
    assert.match(lossWith(bytes) ?? '', /lost acknowledged changes/, `byte ${at}`);
  }
});

/** Copies the files unchanged, under another name. */
function copied(name: string, from = file): string {
  const to = join(directory, `${name}.db`);
  for (const suffix of FILES) if (existsSync(from + suffix)) cpSync(from + suffix, to + suffix);
  return to;
}

async function holdsAll(path: string, acknowledged: number): Promise<void> {
  const notices: string[] = [];
  const store = await openSqliteStore({ file: path, onNotice: ({ event }) => notices.push(event) });
  for (let n = 1; n <= acknowledged; n++)
    assert.ok(await store.loadRun({ runKey: sampleRun(n).key }), `run ${n} of ${acknowledged}`);
  await store.close();
  assert.deepEqual(notices, []);
}

function startWriter(path: string): { readonly child: ChildProcess; acknowledged(): number } {
  const script = fileURLToPath(new URL('./killed-writer.fixture.js', import.meta.url));
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', script, path], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let acknowledged = 0;
  createInterface({ input: child.stdout }).on('line', (line) => {
    acknowledged = Number(line);
  });
  return { child, acknowledged: () => acknowledged };
}

/** A busy system stops a process later than requested. Without /proc the test can only wait. */
async function stopped({ pid }: ChildProcess): Promise<void> {
  const status = `/proc/${pid}/status`;
  do await pause(5);
  while (existsSync(status) && !/^State:\s*T/m.test(readFileSync(status, 'utf8')));
}

test('a process that is stopped or killed at any moment leaves a store that opens with every acknowledged write', async () => {
  const random = new SeededRandom(9);
  for (let life = 0; life < 12; life++) {
    const path = join(directory, `life-${life}.db`);
    const { child, acknowledged } = startWriter(path);
    if (life > 2) while (acknowledged() < 3) await pause(5);
    await pause(random.below(life > 2 ? 120 : 400));
    child.kill('SIGSTOP');
    await stopped(child);
    const seen = acknowledged();
    const frozen = copied(`life-${life}-frozen`, path);
    child.kill('SIGCONT');
    await pause(random.below(30));
    child.kill('SIGKILL');
    await once(child, 'close');
    await holdsAll(frozen, seen);
    await holdsAll(path, acknowledged());
  }
});

test('a process that is killed while it creates its store leaves one that opens', async () => {
  const created = join(directory, 'created.db');
  const store = await openSqliteStore({ file: created });
  const [database, wholeLog] = [readFileSync(created), readFileSync(`${created}-wal`)];
  await store.close();
  // The first commit is the number of its format, the second one its tables.
  for (const bytes of [
    1,
    HEADER_BYTES,
    HEADER_BYTES + FRAME_BYTES,
    HEADER_BYTES + 2 * FRAME_BYTES,
    HEADER_BYTES + 3.5 * FRAME_BYTES,
  ]) {
    const left = join(directory, `left-${bytes}.db`);
    writeFileSync(left, database);
    writeFileSync(`${left}-wal`, wholeLog.subarray(0, bytes));
    await holdsAll(left, 0);
  }
});

test('the mark of a killed process is exact: only the commit in progress can be removed without a loss', async () => {
  const path = join(directory, 'exact.db');
  const { child, acknowledged } = startWriter(path);
  while (acknowledged() < 30) await pause(5);
  child.kill('SIGKILL');
  await once(child, 'close');
  const bytes = readFileSync(`${path}-wal`);
  const ends: number[] = [];
  for (let end = HEADER_BYTES + FRAME_BYTES; end <= bytes.length; end += FRAME_BYTES)
    if (bytes.readUInt32BE(end - FRAME_BYTES + 4) !== 0) ends.push(end);
  assert.equal(findLoss(path), null);
  truncateSync(`${path}-wal`, ends.at(-3) ?? 0);
  assert.match(findLoss(path) ?? '', /lost acknowledged changes/);
});
