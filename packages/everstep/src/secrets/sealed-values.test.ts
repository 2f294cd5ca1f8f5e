import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { createSealer, isSealed, PLAIN_SEALER, SecretsError, type SecretsErrorCode } from './sealed-values.js';

const [first, second] = [randomBytes(32), randomBytes(32)];
const isError = (code: SecretsErrorCode) => (error: unknown) =>
  error instanceof SecretsError && error.code === code && error.message.endsWith(`(${code})`);

test('a value is sealed under the first key and can be opened with any of them', () => {
  const old = createSealer([first]);
  const sealed = old.seal('secret/a', 'plain');
  assert.ok(isSealed(sealed) && !sealed.includes('plain'));
  assert.notEqual(old.seal('secret/a', 'plain'), sealed, 'the nonce is random');
  const replaced = createSealer([second, first]);
  assert.equal(replaced.open('secret/a', sealed), 'plain');
  assert.deepEqual([old.isCurrent(sealed), replaced.isCurrent(sealed)], [true, false]);
  assert.ok(replaced.isCurrent(replaced.seal('secret/a', 'plain')));
  assert.equal(replaced.open('secret/a', 'plain'), 'plain', 'a value of an earlier version is plain');
});

test('a wrong key, an altered value and a value of another row are refused', () => {
  const sealer = createSealer([first]);
  const sealed = sealer.seal('secret/a', 'plain');
  assert.throws(() => createSealer([second]).open('secret/a', sealed), isError('secrets-key-wrong'));
  assert.throws(() => PLAIN_SEALER.open('secret/a', sealed), isError('secrets-key-missing'));
  assert.throws(() => sealer.open('secret/b', sealed), isError('secret-damaged'));
  const last = sealed.at(-3) === 'A' ? 'B' : 'A';
  for (const altered of [`${sealed.slice(0, -3)}${last}${sealed.slice(-2)}`, sealed.slice(0, 30), sealed.slice(0, 19)])
    assert.throws(() => sealer.open('secret/a', altered), isError('secret-damaged'));
});
