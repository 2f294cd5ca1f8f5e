import assert from 'node:assert/strict';
import { test } from 'node:test';
import { calculateJwkThumbprint } from 'jose/jwk/thumbprint';
import { newKeyPairs, publicKeyOf, rotateKeyPairs } from './key-pairs.js';

/** Key pair from RFC 8037, appendix A. */
const D = 'nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A';
const PKCS8 = Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), Buffer.from(D, 'base64url')]);

test('the public key and its thumbprint match RFC 8037', () => {
  assert.deepEqual(publicKeyOf(PKCS8.toString('base64url')), {
    kty: 'OKP',
    crv: 'Ed25519',
    x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo',
    kid: 'kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k',
    use: 'sig',
    alg: 'EdDSA',
  });
});

test('all new keys differ, and rotation makes the next key the current one', async () => {
  const first = newKeyPairs();
  const second = rotateKeyPairs(first);
  assert.equal(second.current, first.next);
  const kids = [first.current, first.next, second.next].map((key) => publicKeyOf(key).kid);
  assert.equal(new Set(kids).size, 3);
  assert.equal(await calculateJwkThumbprint(publicKeyOf(first.current)), kids[0]);
});
