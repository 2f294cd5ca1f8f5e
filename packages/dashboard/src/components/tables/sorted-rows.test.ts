import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readSort, sortAfterClick, sortRows } from './sorted-rows.js';

interface Key {
  readonly name: string;
  readonly waiting: number | null;
}
const KEYS: readonly Key[] = [
  { name: 'user-10', waiting: 3 },
  { name: 'user-9', waiting: null },
  { name: 'User-1', waiting: 12 },
  { name: 'user-2', waiting: 3 },
];
const names = (keys: readonly Key[]) => keys.map(({ name }) => name).join(' ');

test('numbers are sorted by size, missing values are last in both directions, and equal rows keep their order', () => {
  assert.equal(names(sortRows(KEYS, ({ waiting }) => waiting, 'descending')), 'User-1 user-10 user-2 user-9');
  assert.equal(names(sortRows(KEYS, ({ waiting }) => waiting, 'ascending')), 'user-10 user-2 User-1 user-9');
});

test('texts are sorted as people read them: without case, and numbers in them by size', () => {
  assert.equal(names(sortRows(KEYS, ({ name }) => name, 'ascending')), 'User-1 user-2 user-9 user-10');
});

test('clicks on a header sort by the column, reverse the order, and restore the order of the list', () => {
  const first = sortAfterClick(null, 'waiting', 'descending');
  assert.equal(first, '-waiting');
  const second = sortAfterClick(readSort(first), 'waiting', 'descending');
  assert.equal(second, 'waiting');
  assert.equal(sortAfterClick(readSort(second), 'waiting', 'descending'), '');
  assert.equal(sortAfterClick(readSort(second), 'name', 'ascending'), 'name');
});

test('a sort in a URL that names nothing is ignored', () => {
  for (const text of [undefined, '', '-']) assert.equal(readSort(text), null);
  assert.deepEqual(readSort('-count'), { columnId: 'count', direction: 'descending' });
});
