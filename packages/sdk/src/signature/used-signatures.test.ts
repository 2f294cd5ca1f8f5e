import assert from 'node:assert/strict';
import { test } from 'node:test';
import { UsedSignatures } from './used-signatures.js';

test('a signature is valid once until it expires, and is then forgotten', () => {
  const used = new UsedSignatures(10);
  assert.deepEqual([used.use('a', 100, 0), used.use('a', 100, 99), used.use('a', 200, 100)], [true, false, true]);
  assert.equal(used.use('b', 300, 150), true);
  assert.equal(used.size, 2);
  assert.equal(used.use('c', 400, 350), true);
  assert.equal(used.size, 1, 'expired signatures use no memory');
});

test('the memory is limited, and the oldest signatures are forgotten first', () => {
  const used = new UsedSignatures(1_000);
  for (let n = 0; n < 5_000; n++) assert.equal(used.use(`s${n}`, 300, 0), true);
  assert.equal(used.size, 1_000);
  assert.equal(used.use('s4999', 300, 1), false);
  assert.equal(used.use('s4500', 300, 1), false);
  assert.equal(used.use('s10', 300, 1), true, 'forgotten');
});
