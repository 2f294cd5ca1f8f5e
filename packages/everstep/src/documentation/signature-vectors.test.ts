/** The test vectors in the documentation match the signatures of the server and of the SDK. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type PublicSigningKey, type SignatureClaims, verifySignature } from '@everstep/sdk';
import { messageKeyOf } from '../accounts/instances/message-keys.js';
import { signWithSharedKey } from '../step-calls/signatures/signature.js';
import { pageOf, read } from './pages.fixture.js';

interface Vectors {
  readonly signingKey: string;
  readonly messageKey: string;
  readonly body: string;
  readonly claims: SignatureClaims;
  readonly signature: string;
  readonly publicKey: PublicSigningKey;
  readonly ed25519Signature: string;
}

const [text = '{}'] = pageOf(read('docs/guides/signing-keys.md')).blocks.flatMap((block) =>
  block.language === 'json' ? [block.text] : [],
);
const vectors: Vectors = JSON.parse(text);
const now = vectors.claims.iat * 1000;

test('the server creates the signatures in the vectors', () => {
  const segment = Buffer.from(JSON.stringify(vectors.claims)).toString('base64url');
  assert.equal(signWithSharedKey(segment, vectors.signingKey), vectors.signature);
  assert.equal(messageKeyOf(vectors.signingKey), vectors.messageKey);
});

test('the SDK accepts the vectors with either key', async () => {
  const { body, signature, ed25519Signature, publicKey, signingKey: currentSigningKey, claims } = vectors;
  const url = claims.sub;
  assert.deepEqual(await verifySignature({ body, signature, currentSigningKey, url, now, kinds: ['step'] }), {
    ok: true,
    claims,
  });
  const byPublicKey = { body, signature: ed25519Signature, publicKeys: [publicKey], url, now };
  assert.deepEqual(await verifySignature(byPublicKey), { ok: true, claims });
  assert.equal((await verifySignature({ ...byPublicKey, body: `${body} ` })).ok, false);
});
