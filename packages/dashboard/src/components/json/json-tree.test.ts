import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ancestorsOf, MAX_NODES, matchesIn, treeOf } from './json-tree.js';

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

test('text, scalars and very large values are not shown as a tree', () => {
  for (const text of ['', 'text', '1', '"a"', 'null', JSON.stringify(Array(MAX_NODES).fill(0))]) assert.equal(treeOf(text), null);
  assert.notEqual(treeOf('[]'), null);
});
