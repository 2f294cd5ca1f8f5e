import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { seededNumbers } from '../../../conformance/samples.js';
import { BLOCK_SIZE, BLOCK_WORDS, BlockSet, largestOffset, orEncoded } from './block-set.js';

/** Returns the offsets as they are in the second block of a window of two. */
function offsetsOf(encoded: Uint8Array): readonly number[] {
  const window = new Uint32Array(2 * BLOCK_WORDS);
  orEncoded(encoded, window, BLOCK_WORDS);
  const offsets: number[] = [];
  for (let bit = 0; bit < 2 * BLOCK_SIZE; bit++) {
    if (((window[bit >> 5] ?? 0) >>> (bit & 31)) & 1) offsets.push(bit - BLOCK_SIZE);
  }
  return offsets;
}

describe('a set of offsets in a block', () => {
  for (const size of [0, 1, 2, 255, 256, 257, 1000, BLOCK_SIZE]) {
    test(`of ${size} is read back from its bytes, which never exceed a bitmap`, () => {
      const numbers = seededNumbers(size);
      const wanted = new Set<number>();
      while (wanted.size < size) wanted.add(numbers(BLOCK_SIZE));
      const set = new BlockSet();
      for (const offset of wanted) set.add(offset);
      const sorted = [...wanted].sort((a, b) => a - b);
      const encoded = set.encode();
      assert.equal(set.size, size);
      assert.ok(encoded.length <= 512);
      assert.deepEqual(offsetsOf(encoded), sorted);
      assert.equal(BlockSet.decode(encoded).size, size);
      assert.deepEqual(BlockSet.decode(encoded).encode(), encoded);
      if (size > 0) assert.equal(largestOffset(encoded), sorted.at(-1));
    });
  }

  test('supports any order of adding and deleting, in both of its forms', () => {
    const numbers = seededNumbers(1);
    const model = new Set<number>();
    let set = new BlockSet();
    for (let step = 0; step < 6000; step++) {
      const offset = numbers(600);
      const growing = step % 3000 < 1500;
      if (numbers(10) < (growing ? 8 : 2)) {
        set.add(offset);
        model.add(offset);
      } else {
        set.delete(offset);
        model.delete(offset);
      }
      assert.equal(set.size, model.size);
      if (step % 250 === 0) {
        const encoded = set.encode();
        assert.deepEqual(
          offsetsOf(encoded),
          [...model].sort((a, b) => a - b),
        );
        set = BlockSet.decode(encoded);
      }
    }
  });
});
