import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { steady } from './steady.js';

const row = (id: string, state = 'old') => ({ id, state });
const idOf = ({ id }: { readonly id: string }) => id;

describe('a list that does not move under its reader', () => {
  test('known rows are brought up to date where they stand', () => {
    const { rows, newCount } = steady([row('b'), row('a')], [row('b', 'new'), row('a')], idOf);
    assert.deepEqual(rows, [row('b', 'new'), row('a')]);
    assert.equal(newCount, 0);
  });

  test('rows that came since are counted, and not shown', () => {
    const { rows, newCount } = steady([row('b'), row('a')], [row('d'), row('c'), row('b')], idOf);
    assert.deepEqual(rows.map(idOf), ['b', 'a']);
    assert.equal(newCount, 2);
  });

  test('rows that come into view at the end because others left are no news', () => {
    assert.equal(steady([row('c'), row('b')], [row('c'), row('a')], idOf).newCount, 0);
  });

  test('where the list is known as a whole, what is new at its end is news too', () => {
    assert.equal(steady([row('a'), row('b')], [row('a'), row('b'), row('c')], idOf, true).newCount, 1);
    assert.equal(steady([row('a'), row('b')], [row('a'), row('b'), row('c')], idOf).newCount, 0);
  });

  test('where the list is known as a whole, rows that left it are told', () => {
    assert.deepEqual([...steady([row('b'), row('a')], [row('a')], idOf, true).gone], ['b']);
    assert.deepEqual([...steady([row('b'), row('a')], [row('a')], idOf).gone], []);
  });

  test('rows that are all new are all counted', () => {
    assert.equal(steady([row('a')], [row('c'), row('b')], idOf).newCount, 2);
  });
});
