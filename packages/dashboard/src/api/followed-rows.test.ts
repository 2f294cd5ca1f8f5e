import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { followedRows, MAX_FOLLOWED, nextRowsToRequest } from './followed-rows.js';

interface Row {
  readonly id: string;
  readonly ended?: true;
}
const idOf = ({ id }: Row) => id;
const rule = { isFinal: ({ ended }: Row) => ended === true, sizeOf: ({ id }: Row) => id.length };
const row = (id: string): Row => ({ id });
const ids = (rows: readonly Row[]) => rows.map(idOf);

describe('rows that newer ones have pushed out of the first page', () => {
  test('are followed until they end', () => {
    const shown = [row('fresh'), row('pushed out'), { id: 'over', ended: true } as const];
    assert.deepEqual(ids(followedRows(shown, [row('new'), row('fresh')], idOf, rule).rows), ['pushed out']);
  });

  test('are followed up to a limit; the others are reported as outdated', () => {
    const shown = Array.from({ length: MAX_FOLLOWED + 5 }, (_, n) => row(String(n)));
    const { rows, followedUntil } = followedRows(shown, [row('0')], idOf, rule);
    assert.deepEqual([rows.length, followedUntil], [MAX_FOLLOWED, MAX_FOLLOWED + 1]);
    assert.equal(followedRows(shown.slice(0, MAX_FOLLOWED), [], idOf, rule).followedUntil, null);
  });

  test('take turns when they do not fit into one request', () => {
    const rows = Array.from({ length: 60 }, (_, n) => row(String(n)));
    const asked = new Map<string, number>();
    const first = nextRowsToRequest(rows, idOf, asked, rule);
    assert.equal(first.length, 50);
    for (const { id } of first) asked.set(id, 1);
    assert.deepEqual(ids(nextRowsToRequest(rows, idOf, asked, rule)).slice(0, 11), [
      '50',
      '51',
      '52',
      '53',
      '54',
      '55',
      '56',
      '57',
      '58',
      '59',
      '0',
    ]);
  });

  test('with long ids are requested in more requests', () => {
    const rows = Array.from({ length: 10 }, (_, n) => row(`${n}${'x'.repeat(2_000)}`));
    assert.equal(nextRowsToRequest(rows, idOf, new Map(), rule).length, 2);
    assert.equal(nextRowsToRequest([row('y'.repeat(9_000))], idOf, new Map(), rule).length, 1);
  });
});
