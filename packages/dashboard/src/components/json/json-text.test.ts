import assert from 'node:assert/strict';
import { test } from 'node:test';
import { prettyJson } from './json-text.js';

test('indents JSON like JSON.stringify', () => {
  const value = { a: 1, 'b c': [true, null, 'x, {y}: "z"', [], {}, [[1, -2.5e-7]]], é: { '': '\u0007\\' } };
  for (const compact of [value, [], {}, 'text', 0, null, ['']]) {
    const indented = JSON.stringify(compact, null, 2);
    assert.equal(prettyJson(JSON.stringify(compact)), indented);
    assert.equal(prettyJson(` ${indented.replaceAll('\n', '\r\n\t')} `), indented);
  }
});

test('keeps every number and every field of the text', () => {
  assert.equal(
    prettyJson('{"id":12345678901234567890,"big":1e400,"n":[1.0,-0,1E+2],"a":1,"a":2,"2":0,"1":0}'),
    '{\n  "id": 12345678901234567890,\n  "big": 1e400,\n  "n": [\n    1.0,\n    -0,\n    1E+2\n  ],\n  "a": 1,\n  "a": 2,\n  "2": 0,\n  "1": 0\n}',
  );
});

test('decodes the escapes of readable characters', () => {
  assert.equal(prettyJson('["\\u6771\\u4eac \\/ \\ud800\\n"]'), '[\n  "東京 / \\ud800\\n"\n]');
});

test('leaves other text unchanged, and JSON that is too long or too deep to indent', () => {
  for (const text of ['not json', '', '{"a":1', '[1,]', `[${'0,'.repeat(2_000_000)}0]`, '['.repeat(9_000) + ']'.repeat(9_000)])
    assert.equal(prettyJson(text) === text, true, text.slice(0, 20));
});
