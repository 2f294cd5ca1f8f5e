import assert from 'node:assert/strict';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { openConnection } from '../connection/connection.js';
import { copyOnline } from './online-copy.js';

async function opened(t: TestContext) {
  const directory = await mkdtemp(join(tmpdir(), 'everstep-copy-'));
  t.after(() => rm(directory, { recursive: true, force: true }));
  const connection = openConnection(join(directory, 'everstep.db'));
  t.after(() => connection.close());
  connection.exec('CREATE TABLE pair (a INTEGER, b INTEGER, filler BLOB)');
  const insert = connection.prepare('INSERT INTO pair VALUES (?, ?, randomblob(2000))');
  const write = (from: number, count: number): void => {
    connection.exec('BEGIN IMMEDIATE');
    for (let i = from; i < from + count; i++) insert.run(i, i);
    connection.exec('COMMIT');
  };
  return { copy: join(directory, 'copy.db'), connection, write };
}

function read(file: string) {
  const database = new DatabaseSync(file, { readOnly: true });
  try {
    const row = database.prepare('SELECT count(*) AS rows, max(a) AS last FROM pair WHERE a = b').get();
    return { sound: database.prepare('PRAGMA integrity_check').get()?.integrity_check, rows: row?.rows, last: row?.last };
  } finally {
    database.close();
  }
}

test('a copy made while transactions are committed contains whole transactions, and all of those from before it', async (t) => {
  const { connection, copy, write } = await opened(t);
  write(0, 5000);
  let copying = true;
  const copied = connection.copyTo({ file: copy }).finally(() => {
    copying = false;
  });
  let next = 5000;
  let transactions = 0;
  while (copying) {
    write(next, 10);
    next += 10;
    transactions++;
    await new Promise((resolve) => setImmediate(resolve));
  }
  await copied;
  const found = read(copy);
  assert.equal(found.sound, 'ok');
  assert.ok(transactions > 1, 'something was written during the copy');
  assert.ok(Number(found.rows) >= 5000 && Number(found.rows) <= next);
  assert.equal(Number(found.rows) % 10, 0, 'no part of a transaction');
  assert.equal(found.last, Number(found.rows) - 1, 'nothing is missing in between');
});

test('a copy waits for an open transaction before it starts', async (t) => {
  const { connection, copy, write } = await opened(t);
  write(0, 10);
  connection.exec('BEGIN IMMEDIATE');
  const copied = connection.copyTo({ file: copy });
  for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve));
  connection.exec('INSERT INTO pair VALUES (10, 10, NULL); COMMIT');
  await copied;
  assert.deepEqual(read(copy), { sound: 'ok', rows: 11, last: 10 });
});

test('an aborted copy rejects with the reason, and the connection continues', async (t) => {
  const { connection, copy, write } = await opened(t);
  write(0, 5000);
  const end = new AbortController();
  const copied = connection.copyTo({ file: copy, signal: end.signal });
  end.abort(new Error('enough'));
  await assert.rejects(copied, /enough/);
  write(5000, 10);
  await connection.waitUntilDurable();
});

test('a copy never overwrites a file, and only its owner can read it', async (t) => {
  const { connection, copy } = await opened(t);
  await connection.copyTo({ file: copy });
  assert.equal((await stat(copy)).mode & 0o777, 0o600);
  await assert.rejects(connection.copyTo({ file: copy }), /copy\.db already exists/);
});

test('a fault of the source is reported', async (t) => {
  const { copy } = await opened(t);
  const closed = new DatabaseSync(':memory:');
  closed.close();
  await assert.rejects(copyOnline(closed, { file: copy }), /database is not open/);
});
