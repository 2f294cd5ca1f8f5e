import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ancestorsOf, type JsonNode, MAX_DEPTH, MAX_NODES, matchesIn, treeOf } from './json-tree.js';

const TREE = treeOf('{"order":{"id":"o-1","lines":[{"product":"book"},{"product":"chair"}]},"a b":true}');

test('a search finds names and values, ignoring case, and the nodes that contain them', () => {
  assert.ok(TREE);
  assert.deepEqual(matchesIn(TREE, 'BOOK'), ['$.order.lines[0].product']);
  assert.deepEqual(matchesIn(TREE, 'product'), ['$.order.lines[0].product', '$.order.lines[1].product']);
  assert.deepEqual(matchesIn(TREE, 'a b'), ['$["a b"]']);
  assert.deepEqual(matchesIn(TREE, ''), []);
  assert.deepEqual([...ancestorsOf(TREE, ['$.order.lines[0].product'])].sort(), [
    '$',
    '$.order',
    '$.order.lines',
    '$.order.lines[0]',
  ]);
});

/** Returns the path of each node, with its value if it is a scalar. */
const linesOf = ({ path, scalar, children }: JsonNode): readonly string[] => [
  scalar === null ? path : `${path} = ${scalar}`,
  ...children.flatMap(linesOf),
];

test('a tree has every number and every field of the text', () => {
  const tree = treeOf('{"id":12345678901234567890,"a":[{}, 1e400],"a":"\\u00e9","2":[],"b c":null}');
  assert.ok(tree);
  assert.deepEqual(linesOf(tree), [
    '$',
    '$.id = 12345678901234567890',
    '$.a',
    '$.a[0]',
    '$.a[1] = 1e400',
    '$.a(2) = "é"',
    '$["2"]',
    '$["b c"] = null',
  ]);
});

test('text, scalars and very large or deep values are not shown as a tree', () => {
  const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);
  for (const text of ['', 'text', '1', '"a"', 'null', JSON.stringify(Array(MAX_NODES).fill(0)), nested(MAX_DEPTH + 1)])
    assert.equal(treeOf(text), null);
  for (const text of ['[]', JSON.stringify(Array(MAX_NODES - 1).fill({})), nested(MAX_DEPTH)])
    assert.notEqual(treeOf(text), null);
});
