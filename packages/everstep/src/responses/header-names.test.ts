/** Header names are shown in one form, whatever form they were sent in. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { canonicalHeaderName, canonicalHeaders } from './header-names.js';

test('a canonical header name has capital letters at the start of each word and lower case elsewhere', () => {
  const names = {
    'content-length': 'Content-Length',
    'X-REQUEST-ID': 'X-Request-Id',
    ETag: 'Etag',
    'www-authenticate': 'Www-Authenticate',
    'Svc-Workflow-RunId': 'Svc-Workflow-Runid',
    'x--a': 'X--A',
    '-x-': '-X-',
    'x_y.z-1a': 'X_y.z-1a',
    a: 'A',
  };
  for (const [given, canonical] of Object.entries(names)) {
    assert.equal(canonicalHeaderName(given), canonical);
    assert.equal(canonicalHeaderName(canonical), canonical);
  }
});

test('a text that is not a header name does not change', () => {
  for (const text of ['', 'two words', 'größe', 'a:b', 'a\nb']) assert.equal(canonicalHeaderName(text), text);
});

test('of two header names that differ only in case, the later one wins', () => {
  assert.deepEqual(canonicalHeaders({ 'x-a': ['1'], 'X-A': ['2'], 'set-cookie': ['a', 'b'] }), {
    'X-A': ['2'],
    'Set-Cookie': ['a', 'b'],
  });
});
