import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkJsonBounds, endOfJsonString, JsonBoundsError, MAX_JSON_DEPTH, MAX_JSON_NODES, parseJson } from './bounded-json.js';

const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);

test('parses values up to the depth limit like JSON.parse', () => {
  for (const text of ['1', '"["', '{"a":[1,{"b":"\\"{"}]}', nested(MAX_JSON_DEPTH), `{"a":${nested(MAX_JSON_DEPTH - 1)}}`])
    assert.deepEqual(parseJson(text), JSON.parse(text));
});

test('rejects one level more than the depth limit', () => {
  for (const text of [nested(MAX_JSON_DEPTH + 1), `{"a":${nested(MAX_JSON_DEPTH)}}`])
    assert.throws(() => parseJson(text), { name: 'JsonBoundsError', message: 'nested deeper than 256 levels' });
});

test('rejects brackets that never close at the depth limit', () => {
  for (const bracket of ['[', '{', '{"a":', '[{"":'])
    assert.throws(() => parseJson(bracket.repeat(1_000_000)), JsonBoundsError, bracket);
});

test('ignores brackets inside strings', () => {
  const brackets = '['.repeat(1_000);
  assert.equal(parseJson(JSON.stringify(brackets)), brackets);
  assert.equal(parseJson(JSON.stringify(`\\"${brackets}`)), `\\"${brackets}`);
  assert.throws(() => parseJson(`["\\\\",${brackets}`), JsonBoundsError);
});

test('rejects more objects, arrays and fields than the limit', () => {
  assert.doesNotThrow(() => checkJsonBounds(`[${'[],'.repeat(MAX_JSON_NODES - 2)}[]]`));
  for (const item of ['[]', '{}', '"a":1'])
    assert.throws(() => checkJsonBounds(`[${`${item},`.repeat(MAX_JSON_NODES)}1]`), {
      name: 'JsonBoundsError',
      message: 'more than 2000000 objects, arrays and fields',
    });
});

test('throws SyntaxError, not JsonBoundsError, for text that is not JSON', () => {
  for (const text of ['', '{', `"${'x'.repeat(300)}`, '}'.repeat(1_000)])
    assert.throws(
      () => parseJson(text),
      (error) => error instanceof SyntaxError && !(error instanceof JsonBoundsError),
    );
});

test('finds the end of a string after escaped quotes', () => {
  assert.equal(endOfJsonString('"a"', 1), 2);
  assert.equal(endOfJsonString('"a\\"b"', 1), 5);
  assert.equal(endOfJsonString('"\\\\"', 1), 3);
  assert.equal(endOfJsonString('"open', 1), -1);
});
