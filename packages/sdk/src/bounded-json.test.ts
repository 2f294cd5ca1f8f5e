import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkJsonBounds, endOfJsonString, JsonBoundsError, MAX_JSON_DEPTH, MAX_JSON_NODES, parseJson } from './bounded-json.js';

const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);

test('values up to the depth limit are parsed as JSON.parse parses them', () => {
  for (const text of ['1', '"["', '{"a":[1,{"b":"\\"{"}]}', nested(MAX_JSON_DEPTH), `{"a":${nested(MAX_JSON_DEPTH - 1)}}`])
    assert.deepEqual(parseJson(text), JSON.parse(text));
});

test('one level more is rejected', () => {
  for (const text of [nested(MAX_JSON_DEPTH + 1), `{"a":${nested(MAX_JSON_DEPTH)}}`])
    assert.throws(() => parseJson(text), { name: 'JsonBoundsError', message: 'it is nested deeper than 256 levels' });
});

test('brackets that never close are rejected at the depth limit', () => {
  for (const bracket of ['[', '{', '{"a":', '[{"":'])
    assert.throws(() => parseJson(bracket.repeat(1_000_000)), JsonBoundsError, bracket);
});

test('brackets inside of strings do not count', () => {
  const brackets = '['.repeat(1_000);
  assert.equal(parseJson(JSON.stringify(brackets)), brackets);
  assert.equal(parseJson(JSON.stringify(`\\"${brackets}`)), `\\"${brackets}`);
  assert.throws(() => parseJson(`["\\\\",${brackets}`), JsonBoundsError);
});

test('more objects, arrays and fields than the limit are rejected', () => {
  assert.doesNotThrow(() => checkJsonBounds(`[${'[],'.repeat(MAX_JSON_NODES - 2)}[]]`));
  for (const item of ['[]', '{}', '"a":1'])
    assert.throws(() => checkJsonBounds(`[${`${item},`.repeat(MAX_JSON_NODES)}1]`), {
      name: 'JsonBoundsError',
      message: 'it has more than 2000000 objects, arrays and fields',
    });
});

test('a text that is not JSON is a SyntaxError and not a JsonBoundsError', () => {
  for (const text of ['', '{', `"${'x'.repeat(300)}`, '}'.repeat(1_000)])
    assert.throws(
      () => parseJson(text),
      (error) => error instanceof SyntaxError && !(error instanceof JsonBoundsError),
    );
});

test('the end of a string is found behind escaped quotes', () => {
  assert.equal(endOfJsonString('"a"', 1), 2);
  assert.equal(endOfJsonString('"a\\"b"', 1), 5);
  assert.equal(endOfJsonString('"\\\\"', 1), 3);
  assert.equal(endOfJsonString('"open', 1), -1);
});
