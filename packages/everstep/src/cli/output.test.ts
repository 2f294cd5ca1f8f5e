import assert from 'node:assert/strict';
import { test } from 'node:test';
import { displayPath, duration, instant, json, jsonLine, printable, shorten, styled, table } from './output.js';

const plain = { write: () => {}, hasColors: false, isTerminal: false };

test('a table column is as wide as its widest cell', () => {
  assert.equal(
    table(
      plain,
      ['RUN', 'STATE', 'N'],
      [
        ['wfr_1', 'RUN_SUCCESS', 1],
        ['x', null, undefined],
      ],
    ),
    'RUN    STATE        N\nwfr_1  RUN_SUCCESS  1\nx      -            -\n',
  );
});

test('control characters cannot move the cursor or break table rows', () => {
  assert.equal(printable('a\u001b[2Jb\nc\td\u0007\u009b'), 'a\\x1b[2Jb\\nc\\td\\x07\\x9b');
  assert.equal(table(plain, ['A', 'B'], [['x\ny', 'z']]).split('\n').length, 3);
});

test('JSON contains no control characters that a terminal interprets', () => {
  const value = { a: '\u001b[2J\u007f\u009b2J\u00a0' };
  assert.equal(json(value), '{\n  "a": "\\u001b[2J\\u007f\\u009b2J\u00a0"\n}\n');
  assert.equal(jsonLine(value), '{"a":"\\u001b[2J\\u007f\\u009b2J\u00a0"}\n');
  assert.deepEqual([JSON.parse(json(value)), JSON.parse(jsonLine(value))], [value, value]);
});

test('colors are used only on terminals', () => {
  assert.equal(styled(plain, 'red', 'x'), 'x');
  assert.equal(styled({ ...plain, hasColors: true }, 'red', 'x'), '\u001b[31mx\u001b[39m');
});

test('a path is shown relative inside the working directory and absolute elsewhere', () => {
  const paths = ['/srv/app/data/x.json', '/srv/app', '/var/lib/x.json', '/srv', '/srv/app/..data'];
  assert.deepEqual(
    paths.map((path) => displayPath(path, '/srv/app')),
    ['data/x.json', '.', '/var/lib/x.json', '/srv', '..data'],
  );
});

test('instants and durations are formatted', () => {
  assert.deepEqual([0, 999, 1000, 59_940, 65_000].map(duration), ['0 ms', '999 ms', '1.0 s', '59.9 s', '1 m 05 s']);
  assert.deepEqual([3_600_000, 86_399_000, 86_400_000, 649_000_000].map(duration), [
    '1 h 00 m',
    '23 h 59 m',
    '1 d 00 h',
    '7 d 12 h',
  ]);
  assert.deepEqual([instant(0), instant(null)], ['1970-01-01 00:00:00', '-']);
  assert.deepEqual([shorten('abcdef', 5), shorten('abcde', 5)], ['ab...', 'abcde']);
});
