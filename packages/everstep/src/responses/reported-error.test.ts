import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ERROR_BOUNDS } from '@everstep/sdk/protocol';
import { detailsOf } from '../engine/failures/error-details.js';
import { errorIn, readError } from './reported-error.js';

const body = (value: unknown) => Buffer.from(JSON.stringify(value));
const STACK = 'Error: no stock\n    at query (/app/node_modules/pg/index.js:1:1)\n    at charge (file:///srv/app/charge.js:7:13)';
const SOURCE = { file: '/srv/app/charge.js', line: 7, column: 13, function: 'charge' };

test('an error is read from the response of each SDK', () => {
  const native = errorIn(body({ kind: 'failed', error: { name: 'TypeError', message: 'no stock', stack: STACK } }));
  const published = errorIn(body({ error: 'TypeError', message: 'no stock', stack: STACK }));
  assert.deepEqual(native, { name: 'TypeError', message: 'no stock', stack: STACK });
  assert.deepEqual(published, native);
});

test('an SDK that reports no source has the first own frame of its stack', () => {
  const details = detailsOf(readError('Error', 'no stock', { stack: STACK }));
  assert.deepEqual(details, {
    stack: 'at query (/app/node_modules/pg/index.js:1:1)\nat charge (file:///srv/app/charge.js:7:13)',
    source: SOURCE,
  });
  assert.equal(detailsOf(readError('Error', 'no stock', {})), undefined);
});

test('other bodies contain no error', () => {
  for (const other of ['', 'x', '[]', '{', '{}', '{"error":"x"}', '{"message":7}', `{"message":"x"${'['.repeat(9_999)}`])
    assert.equal(errorIn(Buffer.from(other)), null, other.slice(0, 20));
});

test('invalid parts are omitted, and long ones are shortened', () => {
  const wrong = { stack: 7, code: {}, causes: [null, { message: 1 }, { message: 'real' }], source: { file: 'x.js', line: -1 } };
  assert.deepEqual(readError('E', 'm', wrong), { name: 'E', message: 'm', causes: [{ name: 'Error', message: 'real' }] });
  const long = 'x'.repeat(100_000);
  const cause = { name: long, message: long, stack: long, code: long };
  const read = readError(long, long, {
    stack: long,
    causes: Array.from({ length: 99 }, () => cause),
    source: { file: long, line: 1, function: long, code: long },
  });
  assert.equal(read.causes?.length, ERROR_BOUNDS.causes);
  assert.ok(JSON.stringify({ ...read, stack: '' }).length < 40_000);
});

test('an error is shortened between characters, so that it is valid in JSON', () => {
  const long = `x${'😀'.repeat(50_000)}`;
  const cause = { name: long, message: long, stack: long, code: long };
  const read = readError(long, long, {
    ...cause,
    causes: [cause],
    source: { file: `${long}x`, line: 1, function: long, code: long },
  });
  assert.doesNotMatch(JSON.stringify(read), /\\ud/);
});
