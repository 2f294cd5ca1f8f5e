import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { stableRows } from './stable-rows.js';

const row = (id: string, state = 'old') => ({ id, state });
const idOf = ({ id }: { readonly id: string }) => id;

describe('rows of a live list', () => {
  test('known rows are updated in place', () => {
    const { rows, newCount } = stableRows([row('b'), row('a')], [row('b', 'new'), row('a')], idOf);
    assert.deepEqual(rows, [row('b', 'new'), row('a')]);
    assert.equal(newCount, 0);
  });

  test('new rows are counted but not shown', () => {
    const { rows, newCount } = stableRows([row('b'), row('a')], [row('d'), row('c'), row('b')], idOf);
    assert.deepEqual(rows.map(idOf), ['b', 'a']);
    assert.equal(newCount, 2);
  });

  test('older rows that move up because others left do not count as new', () => {
    assert.equal(stableRows([row('c'), row('b')], [row('c'), row('a')], idOf).newCount, 0);
  });

  test('new rows at the end count only if the whole list is known', () => {
    assert.equal(stableRows([row('a'), row('b')], [row('a'), row('b'), row('c')], idOf, true).newCount, 1);
    assert.equal(stableRows([row('a'), row('b')], [row('a'), row('b'), row('c')], idOf).newCount, 0);
  });

  test('removed rows are reported only if the whole list is known', () => {
    assert.deepEqual([...stableRows([row('b'), row('a')], [row('a')], idOf, true).removedIds], ['b']);
    assert.deepEqual([...stableRows([row('b'), row('a')], [row('a')], idOf).removedIds], []);
  });

  test('all rows count as new when none is known, and there may be more', () => {
    const { newCount, hasMoreNew } = stableRows([row('a')], [row('c'), row('b')], idOf);
    assert.deepEqual([newCount, hasMoreNew], [2, true]);
    assert.equal(stableRows([row('a')], [row('b'), row('a')], idOf).hasMoreNew, false);
    assert.equal(stableRows([row('a')], [], idOf, true).hasMoreNew, false);
  });
});
