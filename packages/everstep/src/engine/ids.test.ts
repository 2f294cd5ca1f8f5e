import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { newId, newKey, nextVersion } from './ids.js';

const at = (now: number) => ({ now, random: { bytes: (count: number) => randomBytes(count) } });

test('ids are prefixed, sort by creation, and do not repeat', () => {
  const ids = [1, 2, 1_700_000_000_000, 1_700_000_000_001, 2 ** 47].map((now) => newId('wfr', at(now)));
  assert.deepEqual([...ids].sort(), ids);
  for (const id of ids) assert.match(id, /^wfr_[0-9A-HJKMNP-TV-Z]{26}$/);
  const many = new Set(Array.from({ length: 10_000 }, () => newKey(at(5))));
  assert.equal(many.size, 10_000);
});

test('every random bit is used in the id', () => {
  const key = (byte: number) => newKey({ now: 0, random: { bytes: (count) => new Uint8Array(count).fill(byte) } });
  assert.equal(key(0), '0'.repeat(26));
  assert.equal(key(255), `${'0'.repeat(10)}${'Z'.repeat(16)}`);
});

test('a version is greater than the previous one, and differs between decisions on the same version', () => {
  let version = 0;
  for (let n = 0; n < 100; n++) {
    const next = [1, 2, 3, 4].map(() => nextVersion(version, at(0)));
    assert.ok(next.every((one) => one > version && Number.isSafeInteger(one)));
    assert.equal(new Set(next).size, next.length);
    version = Math.max(...next);
  }
  assert.ok(nextVersion(14, at(0)) > 14);
});
