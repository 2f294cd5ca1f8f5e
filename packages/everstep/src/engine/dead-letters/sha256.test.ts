import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import fc from 'fast-check';
import { sha256 } from './sha256.js';

const expected = (text: string): string => createHash('sha256').update(text, 'utf8').digest('hex');

test('digests match SHA-256 at every length around the edges of a block', () => {
  for (let length = 0; length <= 200; length++) assert.equal(sha256('a'.repeat(length)), expected('a'.repeat(length)));
});

test('digests match SHA-256 for any text', () => {
  fc.assert(fc.property(fc.string({ unit: 'binary', maxLength: 300 }), (text) => sha256(text) === expected(text)));
});
