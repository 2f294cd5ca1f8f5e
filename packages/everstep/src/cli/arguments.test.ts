import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { collectHeader, durationMs, isJson, readBody, timestampMs, wholeNumber } from './arguments.js';
import { UsageError } from './exit-codes.js';
import { instant } from './output.js';

test('an instant is Unix ms or a date', () => {
  const read = timestampMs('--from');
  assert.equal(read('1700000000000'), 1_700_000_000_000);
  assert.equal(read('0'), 0);
  assert.equal(read('2026-05-01'), Date.UTC(2026, 4, 1));
  assert.equal(read('2026-05-01T12:30:00Z'), Date.UTC(2026, 4, 1, 12, 30));
  assert.equal(read('2026-05-01T12:30:00'), Date.UTC(2026, 4, 1, 12, 30));
  assert.equal(read('2026-05-01T12:30:00+02:00'), Date.UTC(2026, 4, 1, 10, 30));
  for (const bad of ['', 'yesterday', '-1', '1e3', '2026-13-01']) assert.throws(() => read(bad), UsageError, bad);
});

test('an instant without a time zone is UTC wherever the command runs', (t) => {
  const zone = process.env.TZ;
  process.env.TZ = 'America/New_York';
  t.after(() => {
    if (zone === undefined) delete process.env.TZ;
    else process.env.TZ = zone;
  });
  const read = timestampMs('--to');
  assert.equal(read(instant(Date.UTC(2026, 4, 1, 12, 0, 1))), Date.UTC(2026, 4, 1, 12, 0, 1), 'the form that tables print');
  for (const text of ['2026-05-01T12:30', '2026-05-01 12:30', '2026-05-01 12:30:00.0', '2026-05-01 12:30Z'])
    assert.equal(read(text), Date.UTC(2026, 4, 1, 12, 30), text);
  assert.equal(read('2026-05-01T12:30:00.250'), Date.UTC(2026, 4, 1, 12, 30, 0, 250));
  assert.equal(read('2026-05-01 12:30-0530'), Date.UTC(2026, 4, 1, 18, 0));
  assert.equal(read('2028-02-29'), Date.UTC(2028, 1, 29));
});

test('a date that does not exist, or in another form, is rejected', () => {
  const read = timestampMs('--to');
  for (const bad of [
    '2026-02-30',
    '2026-02-29T12:00:00Z',
    '2026-04-31 10:00',
    '2026-05-01T25:00',
    '2026-05-01T12:60',
    '2026-05-01T12:00:00+24:00',
    '2026-05-01T12:00:00 PST',
    '2026-05-01 12:00 (UTC)',
    '2026-05-01T12',
    '2026-05-01Z',
    '2026-05-01, 12:00',
    '2026-05-01  12:00',
    '2026',
    '20260501',
  ])
    assert.throws(() => read(bad), { name: 'UsageError', message: /^--to must be Unix milliseconds or a date such as / }, bad);
});

test('a whole number has no sign, point or exponent', () => {
  assert.equal(wholeNumber('--count', 1)('50'), 50);
  for (const bad of ['', '0', '-1', '1.5', '1e3', 'ten', '99999999999999999999']) {
    assert.throws(() => wholeNumber('--count', 1)(bad), UsageError, bad);
  }
});

test('a duration has units', () => {
  const read = durationMs('--age');
  assert.deepEqual(['500ms', '30s', '5m', '1d12h', '0s'].map(read), [500, 30_000, 300_000, 129_600_000, 0]);
  for (const bad of ['', '7', 'd', '-1d', '1.5h', '1 d', 'forever']) assert.throws(() => read(bad), UsageError, bad);
});

test('headers are collected', () => {
  assert.deepEqual(collectHeader('X-B: c: d', collectHeader('X-A:1', undefined)), { 'X-A': '1', 'X-B': 'c: d' });
  for (const bad of ['', 'x', ': y', 'a b: c']) assert.throws(() => collectHeader(bad, undefined), UsageError, bad);
});

test('a body is text or the content of a file', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'everstep-body-'));
  t.after(() => rm(directory, { recursive: true }));
  await writeFile(join(directory, 'b'), Uint8Array.of(0xff, 0));
  assert.equal(await readBody('{"a":1}'), '{"a":1}');
  assert.deepEqual(new Uint8Array(Buffer.from(await readBody(`@${join(directory, 'b')}`))), Uint8Array.of(0xff, 0));
  await assert.rejects(readBody(`@${join(directory, 'missing')}`), UsageError);
  assert.deepEqual(['{"a":1}', 'a', '3', ''].map(isJson), [true, false, true, false]);
  assert.equal(isJson(Uint8Array.of(0xff)), false);
});
