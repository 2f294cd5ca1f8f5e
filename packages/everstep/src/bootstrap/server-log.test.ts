import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createServerLog } from './server-log.js';
import { fileError, listenError, StartError } from './start-error.js';

function logged(format: 'json' | 'text'): string {
  let written = '';
  const log = createServerLog({
    level: 'info',
    format,
    write: (line) => {
      written += line;
    },
  });
  log.debug({ hidden: 1 }, 'not shown');
  log.warn({ url: 'http://x', count: 2 }, 'something is slow');
  return written;
}

test('the JSON format writes one object per line with level, time, message and fields', () => {
  const entry = JSON.parse(logged('json'));
  assert.deepEqual([entry.level, entry.msg, entry.url, entry.count], [40, 'something is slow', 'http://x', 2]);
  assert.equal(typeof entry.time, 'number');
});

test('the text format writes one readable line per entry', () => {
  assert.match(logged('text'), /^\d\d:\d\d:\d\d WARN something is slow url=http:\/\/x count=2\n$/);
});

test('the text format escapes control characters', () => {
  const lines: string[] = [];
  const log = createServerLog({ level: 'info', format: 'text', write: (line) => lines.push(line) });
  log.warn({ url: 'a\n12:00:00 ERROR forged', x: '\u001b[2J\u2028', 'k\r': 1 }, 'one\ttwo');
  assert.equal(lines.length, 1);
  assert.match(lines[0] ?? '', / WARN one\\ttwo url=a\\n12:00:00 ERROR forged x=\\u001b\[2J\\u2028 k\\r=1\n$/);
});

const failure = (code: string): Error => Object.assign(new Error('raw'), { code });

test('a start error is one sentence', () => {
  assert.match(String(listenError('127.0.0.1', 80, failure('EADDRINUSE'))), /127\.0\.0\.1:80 is in use by another program/);
  assert.match(String(listenError('::1', 80, failure('EACCES'))), /\[::1\]:80/);
  assert.match(String(listenError('10.9.9.9', 80, failure('EADDRNOTAVAIL'))), /not an address of this machine/);
  assert.match(fileError('The data directory /x is not usable', failure('EROFS')).message, /read-only/);
  const other = failure('EOTHER');
  assert.equal(listenError('h', 1, other), other);
  assert.ok(fileError('x', other) instanceof StartError);
});
