import assert from 'node:assert/strict';
import { createHash, createHmac } from 'node:crypto';
import { describe, it } from 'node:test';
import { cryptographies } from './cryptography.js';
import { type CheckedSignature, checkSignature, verifySignature } from './signature.js';
import { newPrivateKey, publicPart, type SignatureOverrides, sign as signed } from './signed.fixture.js';

const NOW = 1_800_000_000_000;
const URL_SIGNED = 'http://app.example/flow';
const BODY = '{"a":"ü"}';

const sign = ({ claims = {}, ...forged }: SignatureOverrides = {}): string =>
  signed({ body: BODY, now: NOW, ...forged, claims: { sub: URL_SIGNED, ...claims } });

const nowS = NOW / 1000;
const [ours, next, stranger] = [newPrivateKey('k1'), newPrivateKey('k2'), newPrivateKey('k1')];
const publicKeys = [publicPart(ours), publicPart(next)];
/** Replaces the shared keys. */
const byPublicKeys = { currentSigningKey: undefined, nextSigningKey: undefined, publicKeys };
const messageKey = `sig_${createHmac('sha256', 'next').update('everstep.message-key.1').digest('base64url')}`;

type Changes = { readonly [Name in keyof CheckedSignature]?: CheckedSignature[Name] | undefined };
const cases: readonly (readonly [string, Changes, RegExp | null])[] = [
  ['a signature of the current key', { signature: sign() }, null],
  ['a signature of the next key', { signature: sign({ key: 'next' }) }, null],
  ['the expected receiver', { signature: sign(), url: URL_SIGNED }, null],
  [
    'a padded hash of the body',
    { signature: sign({ claims: { body: `${createHash('sha256').update(BODY).digest('base64url')}=` } }) },
    null,
  ],
  ['bytes as the body', { signature: sign(), body: Buffer.from(BODY) }, null],
  ['a clock that is slightly behind', { signature: sign({ now: NOW + 20_000 }) }, null],
  ['a clock that is slightly ahead', { signature: sign({ now: NOW - 320_000 }) }, null],
  ['no signature', { signature: undefined }, /no Svc-Signature header/],
  ['text', { signature: 'abc' }, /not a JWT/],
  ['four parts', { signature: `${sign()}.x` }, /not a JWT/],
  ['a signature that is too long', { signature: `${sign()}${'x'.repeat(20_000)}` }, /too long/],
  ['an unknown key', { signature: sign({ key: 'other' }) }, /another key: check that EVERSTEP_CURRENT_SIGNING_KEY/],
  ['an empty signature', { signature: `${sign().split('.').slice(0, 2).join('.')}.AA` }, /another key/],
  ['algorithm none', { signature: sign({ header: { alg: 'none' } }) }, /algorithm HS256/],
  ['another issuer', { signature: sign({ claims: { iss: 'Other' } }) }, /issued by "Other"/],
  ['a missing claim', { signature: sign({ claims: { jti: undefined } }) }, /lacks one of the claims/],
  ['a kind that is not text', { signature: sign({ claims: { kind: 1 } }) }, /lacks one of the claims/],
  ['an expired signature', { signature: sign({ claims: { exp: nowS - 60 } }) }, /has expired: check the clocks/],
  ['a signature that is not valid yet', { signature: sign({ claims: { nbf: nowS + 60 } }) }, /not valid yet: check the clocks/],
  ['another receiver', { signature: sign(), url: 'http://other/flow' }, /is for "http:\/\/app.example\/flow", not for/],
  ['another body', { signature: sign({ body: '{}' }) }, /not the one that was signed/],

  ['the expected path on another host', { signature: sign(), path: '/flow' }, null],
  ['another path', { signature: sign(), path: '/other' }, /the path "\/flow", .* to "\/other".* set the url option/],
  ['the expected kind', { signature: sign({ claims: { kind: 'step' } }), kinds: ['step'] }, null],
  ['no kind, from an older server', { signature: sign(), kinds: ['step'] }, null],
  ['another kind', { signature: sign({ claims: { kind: 'message' } }), kinds: ['step'] }, /the kind "message", not for "step"/],
  ['an unknown kind', { signature: sign({ claims: { kind: 'new' } }), kinds: ['step', 'call'] }, /"step" or "call"/],
  ['a message key where it is allowed', { signature: sign({ key: messageKey }), messageKeys: true }, null],
  ['a message key where it is not allowed', { signature: sign({ key: messageKey }), messageKeys: false }, /another key/],

  ['a signature of a private key', { signature: sign({ key: ours }), ...byPublicKeys }, null],
  ['a signature of the next private key', { signature: sign({ key: next }), ...byPublicKeys }, null],
  ['no signature, with public keys', { signature: null, ...byPublicKeys }, /no Svc-Signature-Ed25519 header/],
  [
    'an unknown private key with a known name',
    { signature: sign({ key: stranger }), ...byPublicKeys },
    /not made with the private key/,
  ],
  [
    'a private key with an unknown name',
    { signature: sign({ key: newPrivateKey('k3') }), ...byPublicKeys },
    /"k3", which is not one of the/,
  ],
  [
    'a private key without a name',
    { signature: sign({ key: ours, header: { kid: undefined } }), ...byPublicKeys },
    /name its key/,
  ],
  ['a private key, with shared keys', { signature: sign({ key: ours }) }, /has no public keys/],
  ['a shared key, with public keys', { signature: sign(), ...byPublicKeys }, /has only public keys/],
  [
    'a public key used as a shared key',
    { signature: sign({ key: ours.x, header: { alg: 'HS256', kid: 'k1' } }), ...byPublicKeys },
    /has only public keys/,
  ],
  [
    'a public key of another curve',
    { signature: sign({ key: ours }), ...byPublicKeys, publicKeys: [{ ...publicPart(ours), crv: 'X25519' }] },
    /not made with the private key/,
  ],
  [
    'a public key that is not a point',
    { signature: sign({ key: ours }), ...byPublicKeys, publicKeys: [{ ...publicPart(ours), x: 'AA' }] },
    /not made with the private key/,
  ],
];

for (const [kind, crypto] of Object.entries(cryptographies)) {
  describe(`a signature checked with ${kind} crypto`, () => {
    for (const [name, changes, message] of cases) {
      it(`${message ? 'is rejected' : 'is accepted'}: ${name}`, async () => {
        assert.ok(crypto, 'this runtime has node:crypto');
        const keys = { currentSigningKey: 'current', nextSigningKey: 'next', messageKeys: false };
        const input = { signature: undefined, body: BODY, now: NOW, ...keys, ...changes };
        const given = Object.fromEntries(Object.entries(input).filter(([, value]) => value !== undefined));
        const result = await checkSignature(
          { ...given, signature: input.signature, body: input.body } as CheckedSignature,
          crypto,
        );
        if (message) assert.match(result.ok ? 'accepted' : result.message, message);
        else assert.ok(result.ok, JSON.stringify(result));
      });
    }

    it('does not accept the next key if none is configured', async () => {
      const signature = sign({ key: 'next' });
      const input = { signature, body: BODY, currentSigningKey: 'current', now: NOW, messageKeys: true };
      assert.equal((await checkSignature(input, crypto ?? undefined)).ok, false);
    });

    it('is accepted once, or any number of times without that option', async () => {
      const input = { signature: sign(), body: BODY, currentSigningKey: 'current', now: NOW, messageKeys: false };
      const check = async (once: boolean) => (await checkSignature({ ...input, once }, crypto ?? undefined)).ok;
      assert.deepEqual([await check(false), await check(true), await check(true), await check(false)], [true, true, false, true]);
    });

    it('is not used up by a rejected request', async () => {
      const input = { signature: sign(), currentSigningKey: 'current', now: NOW, once: true, messageKeys: false };
      const check = async (body: string) => (await checkSignature({ ...input, body }, crypto ?? undefined)).ok;
      assert.deepEqual([await check('{}'), await check(BODY), await check(BODY)], [false, true, false]);
    });
  });
}

it('other receivers can verify signatures, including those of message keys', async () => {
  const [currentSigningKey, nextSigningKey] = ['current', 'next'];
  for (const key of ['current', 'next', messageKey]) {
    const signature = sign({ key, now: Date.now(), claims: { kind: 'message' } });
    const result = await verifySignature({ signature, body: BODY, currentSigningKey, nextSigningKey });
    assert.ok(result.ok, key);
    assert.deepEqual([result.claims.sub, result.claims.kind], [URL_SIGNED, 'message']);
  }
});
