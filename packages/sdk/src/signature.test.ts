import assert from 'node:assert/strict';
import { createHash, createHmac } from 'node:crypto';
import { describe, it } from 'node:test';
import { createEndpoint } from './endpoint.js';
import { FakeService } from './executor/fake-service.fixture.js';
import { type SignatureInput, signatureChecks, verifySignature } from './signature.js';

const NOW = 1_800_000_000_000;
const URL_SIGNED = 'http://app.example/flow';
const BODY = '{"a":"ü"}';
const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');

interface Forged {
  readonly key?: string;
  readonly header?: object;
  readonly claims?: object;
  readonly body?: string;
  readonly now?: number;
}

function sign({ key = 'current', header = {}, claims = {}, body = BODY, now = NOW }: Forged = {}): string {
  const iat = Math.floor(now / 1000);
  const hash = createHash('sha256').update(body).digest('base64url');
  const full = { iss: 'Everstep', sub: URL_SIGNED, iat, nbf: iat, exp: iat + 300, jti: 'j', body: hash, ...claims };
  const signed = `${encode({ alg: 'HS256', typ: 'JWT', ...header })}.${encode(full)}`;
  return `${signed}.${createHmac('sha256', key).update(signed).digest('base64url')}`;
}

const nowS = NOW / 1000;
const cases: readonly (readonly [string, Partial<SignatureInput>, RegExp | null])[] = [
  ['one of the current key', { signature: sign() }, null],
  ['one of the next key', { signature: sign({ key: 'next' }) }, null],
  ['the receiver that is asked for', { signature: sign(), url: URL_SIGNED }, null],
  [
    'a padded hash of the body',
    { signature: sign({ claims: { body: `${createHash('sha256').update(BODY).digest('base64url')}=` } }) },
    null,
  ],
  ['bytes as the body', { signature: sign(), body: Buffer.from(BODY) }, null],
  ['a clock a little behind', { signature: sign({ now: NOW + 20_000 }) }, null],
  ['a clock a little ahead', { signature: sign({ now: NOW - 320_000 }) }, null],
  ['no signature', { signature: undefined }, /no Svc-Signature header/],
  ['text', { signature: 'abc' }, /not a JWT/],
  ['four parts', { signature: `${sign()}.x` }, /not a JWT/],
  ['a key that is not ours', { signature: sign({ key: 'other' }) }, /another key: check that EVERSTEP_CURRENT_SIGNING_KEY/],
  ['an empty seal', { signature: `${sign().split('.').slice(0, 2).join('.')}.AA` }, /another key/],
  ['algorithm none', { signature: sign({ header: { alg: 'none' } }) }, /algorithm HS256/],
  ['another issuer', { signature: sign({ claims: { iss: 'Other' } }) }, /issued by "Other"/],
  ['a missing claim', { signature: sign({ claims: { jti: undefined } }) }, /lacks one of the claims/],
  ['one that has expired', { signature: sign({ claims: { exp: nowS - 60 } }) }, /has expired: check the clocks/],
  ['one that is not valid yet', { signature: sign({ claims: { nbf: nowS + 60 } }) }, /not valid yet: check the clocks/],
  ['another receiver', { signature: sign(), url: 'http://other/flow' }, /is for "http:\/\/app.example\/flow", not for/],
  ['another body', { signature: sign({ body: '{}' }) }, /not the one that was signed/],
];

for (const [kind, check] of Object.entries(signatureChecks)) {
  describe(`a signature checked with ${kind} crypto`, () => {
    for (const [name, input, message] of cases) {
      it(`${message ? 'is refused' : 'is accepted'}: ${name}`, async () => {
        assert.ok(check, 'this runtime has node:crypto');
        const result = await check({
          signature: undefined,
          body: BODY,
          currentSigningKey: 'current',
          nextSigningKey: 'next',
          now: NOW,
          ...input,
        });
        if (message) assert.match(result.ok ? 'accepted' : result.message, message);
        else assert.ok(result.ok, JSON.stringify(result));
      });
    }

    it('does not accept the next key where there is none', async () => {
      const signature = sign({ key: 'next' });
      const result = await check?.({ signature, body: BODY, currentSigningKey: 'current', now: NOW });
      assert.equal(result?.ok, false);
    });
  });
}

it('other receivers can check signatures too', async () => {
  const signature = sign({ now: Date.now() });
  const result = await verifySignature({ signature, body: BODY, currentSigningKey: 'current' });
  assert.ok(result.ok);
  assert.equal(result.claims.sub, URL_SIGNED);
});

describe('an endpoint with signing keys', () => {
  const service = new FakeService('k');
  const request = (() => {
    const [open] = service.tasks.values();
    assert.ok(open);
    return JSON.stringify(service.request(open));
  })();
  const endpoint = createEndpoint((context) => context.run('a', () => 1), {
    signingKeys: { current: 'current', next: 'next' },
  });
  const handle = (headers: Record<string, string>, body: Uint8Array | { parsed: unknown } = Buffer.from(request)) =>
    endpoint.handle({ method: 'POST', url: '/', headers: { 'svc-workflow-protocol': '1', ...headers }, body });

  it('answers what is signed', async () => {
    assert.equal((await handle({ 'svc-signature': sign({ body: request, now: Date.now() }) })).status, 200);
  });

  it('refuses what is not, in a way that can be retried once it is mended', async () => {
    const response = await handle({});
    assert.equal(response.status, 401);
    const reply = JSON.parse(response.body);
    assert.deepEqual([reply.kind, reply.error.name, reply.retry], ['failed', 'SignatureError', { kind: 'backoff' }]);
    assert.equal(response.headers['Svc-Workflow-Protocol'], '1');
  });

  it('says what to configure when the bytes are gone', async () => {
    const response = await handle({ 'svc-signature': sign({ body: request, now: Date.now() }) }, { parsed: JSON.parse(request) });
    assert.equal(response.status, 401);
    assert.match(JSON.parse(response.body).error.message, /before express\.json\(\).*toFastifyPlugin/);
  });

  it('takes keys from the environment, and the option before it', async (test) => {
    const { env } = process;
    env.EVERSTEP_CURRENT_SIGNING_KEY = 'from-env';
    test.after(() => delete env.EVERSTEP_CURRENT_SIGNING_KEY);
    const signature = sign({ key: 'from-env', body: request, now: Date.now() });
    const byEnvironment = createEndpoint((context) => context.run('a', () => 1));
    const message = {
      method: 'POST',
      url: '/',
      headers: { 'svc-workflow-protocol': '1', 'svc-signature': signature },
      body: Buffer.from(request),
    };
    assert.equal((await byEnvironment.handle(message)).status, 200);
    assert.equal((await endpoint.handle(message)).status, 401);
  });
});
