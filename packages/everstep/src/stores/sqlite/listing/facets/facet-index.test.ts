import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { seededNumbers } from '../../../conformance/samples.js';
import { openConnection } from '../../connection/connection.js';
import { BLOCK_SIZE } from './block-set.js';
import { FacetIndex } from './facet-index.js';
import { FACET } from './facets.js';
import { intersect } from './intersect.js';
import { type Direction, FacetReader, membersFromSeqs } from './members.js';

const TENANT = 1;
const label = (value: string) => ({ facet: FACET.runLabel, value });
const everything = { from: 1, to: Number.MAX_SAFE_INTEGER };

function openIndex() {
  const connection = openConnection(':memory:');
  const index = new FacetIndex(connection);
  const reader = new FacetReader(connection);
  const rows = connection.prepare('SELECT count(*) AS rows FROM facet');
  return {
    index,
    reader,
    rowCount: () => rows.get()?.rows,
    walk: (values: readonly string[], direction: Direction = 'up') => [
      ...intersect([reader.anyOf(TENANT, FACET.runLabel, values, direction)], everything, direction),
    ],
    prefixed: (prefix: string, direction: Direction) => {
      const members = reader.withPrefix(TENANT, FACET.runLabel, prefix, direction);
      return members && [...intersect([members], everything, direction)];
    },
    close: () => connection.close(),
  };
}

describe('the facet index', () => {
  test('keeps one row for a value in a block, and none when the last member is removed', () => {
    const { index, rowCount, walk, close } = openIndex();
    for (let seq = 1; seq <= 500; seq++) index.add(TENANT, label('a'), seq);
    index.flush();
    assert.equal(rowCount(), 1);
    for (let seq = 1; seq <= 500; seq++) index.remove(TENANT, label('a'), seq);
    index.add(TENANT, label('b'), 1);
    index.remove(TENANT, label('b'), 1);
    index.flush();
    assert.equal(rowCount(), 0);
    assert.deepEqual(walk(['a', 'b']), []);
    close();
  });

  test('knows the newest member, in whichever block it is', () => {
    const { index, close } = openIndex();
    assert.equal(index.newest(TENANT, label('a')), null);
    for (const seq of [5, BLOCK_SIZE * 70_000_000_000 + 17, 900]) index.add(TENANT, label('a'), seq);
    index.flush();
    assert.equal(index.newest(TENANT, label('a')), BLOCK_SIZE * 70_000_000_000 + 17);
    close();
  });

  test('keeps its members over many more blocks than are kept in memory', () => {
    const { index, walk, close } = openIndex();
    const numbers = seededNumbers(3);
    const model = new Set<number>();
    for (let round = 0; round < 5; round++) {
      for (let i = 0; i < 2500; i++) {
        const seq = 1 + numbers(1500) * BLOCK_SIZE + numbers(3);
        if (numbers(3) === 0) {
          index.remove(TENANT, label('a'), seq);
          model.delete(seq);
        } else {
          index.add(TENANT, label('a'), seq);
          model.add(seq);
        }
        if (numbers(10) === 0) index.flush();
      }
      index.flush();
      const sorted = [...model].sort((a, b) => a - b);
      assert.deepEqual(walk(['a']), sorted);
      assert.deepEqual(walk(['a'], 'down'), sorted.reverse());
    }
    close();
  });

  test('forgets unflushed changes', () => {
    const { index, walk, close } = openIndex();
    index.add(TENANT, label('a'), 1);
    index.flush();
    index.add(TENANT, label('a'), 2);
    index.forget();
    index.add(TENANT, label('a'), 3);
    index.flush();
    assert.deepEqual(walk(['a']), [1, 3]);
    close();
  });

  test('finds rows by the prefix of a value, whether few, many or too many values have it', () => {
    const { index, prefixed, close } = openIndex();
    const seqsOf: Record<'few' | 'many' | 'most', number[]> = { few: [], many: [], most: [] };
    for (let n = 0; n < 55_000; n++) {
      const group = n < 3 ? 'few' : n < 3000 ? 'many' : 'most';
      index.add(TENANT, label(`${group}-${n}`), n * 40 + 1);
      seqsOf[group].push(n * 40 + 1);
    }
    index.add(TENANT, label('many'), 7);
    index.flush();
    assert.deepEqual(prefixed('few', 'up'), seqsOf.few);
    assert.deepEqual(prefixed('many-', 'up'), seqsOf.many);
    assert.deepEqual(
      prefixed('many', 'down'),
      [...seqsOf.many, 7].sort((a, b) => b - a),
    );
    assert.deepEqual(prefixed('nothing', 'up'), []);
    assert.equal(prefixed('m', 'up'), null);
    assert.equal(prefixed('most', 'up'), null);
    close();
  });

  test('skips blocks that the sources do not share', () => {
    const { index, reader, close } = openIndex();
    for (let block = 0; block < 3000; block++) index.add(TENANT, label(block < 1500 ? 'early' : 'late'), block * BLOCK_SIZE + 9);
    index.add(TENANT, label('both'), 2000 * BLOCK_SIZE + 9);
    index.add(TENANT, label('both'), 1);
    index.flush();
    const shared = (values: readonly string[], direction: Direction) => [
      ...intersect(
        values.map((value) => reader.anyOf(TENANT, FACET.runLabel, [value], direction)),
        everything,
        direction,
      ),
    ];
    for (const direction of ['up', 'down'] as const) {
      assert.deepEqual(shared(['early', 'late'], direction), []);
      assert.deepEqual(shared(['both', 'late'], direction), [2000 * BLOCK_SIZE + 9]);
      assert.deepEqual(shared(['early', 'both'], direction), []);
    }
    close();
  });

  test('individually named rows are returned in order, once each', () => {
    const seqs = [BLOCK_SIZE * 3 + 1, 4, BLOCK_SIZE * 500_000_000, 4, 31, 32];
    const sorted = [4, 31, 32, BLOCK_SIZE * 3 + 1, BLOCK_SIZE * 500_000_000];
    assert.deepEqual([...intersect([membersFromSeqs(seqs, 'up')], everything, 'up')], sorted);
    assert.deepEqual([...intersect([membersFromSeqs(seqs, 'down')], everything, 'down')], sorted.toReversed());
    assert.deepEqual([...intersect([membersFromSeqs(seqs, 'up')], { from: 5, to: 32 }, 'up')], [31, 32]);
    assert.deepEqual([...intersect([membersFromSeqs([], 'up')], everything, 'up')], []);
  });
});
