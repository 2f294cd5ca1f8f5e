import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Static } from 'typebox';
import type { KeySetSchema, SignatureSettingsSchema } from '../../../contract/signatures.js';
import { ApiHarness } from '../../testing/api-harness.js';

let harness: ApiHarness;
before(async () => {
  harness = await ApiHarness.open({ publicUrl: () => 'https://everstep.test' });
});
after(() => harness.close());

type Settings = Static<typeof SignatureSettingsSchema>;
const json = { 'content-type': 'application/json' };
const get = async () => (await harness.call<Settings>('GET', '/v2/signatures')).body;
const put = (change: unknown) =>
  harness.call<Settings & { readonly error: string }>('PUT', '/v2/signatures', { headers: json, body: JSON.stringify(change) });
const keySet = (instanceId = 'qi_1') =>
  harness.send<Static<typeof KeySetSchema>>({ method: 'GET', url: `/v2/jwks/${instanceId}` });

test('normalizes origins, removes duplicates, and allows unsetting them', async () => {
  const { origins, workflowOrigins, messageKeys, ed25519 } = await get();
  assert.deepEqual([origins, workflowOrigins, ed25519], [null, [], null]);
  assert.match(messageKeys.current, /^sig_[\w-]{43}$/);
  assert.notEqual(messageKeys.current, messageKeys.next);

  const given = ['https://App.test/', 'https://app.test:443', 'https://*.in.test', '*'];
  const { body } = await put({ origins: given });
  assert.deepEqual(body.origins, ['https://app.test', 'https://*.in.test', '*']);
  assert.deepEqual((await put({})).body.origins, body.origins, 'absent fields keep their value');
  assert.deepEqual(await get(), body);
  assert.deepEqual((await put({ origins: [] })).body.origins, []);
  assert.equal((await put({ origins: null })).body.origins, null);
});

test('rejects an invalid origin with its index and changes nothing', async () => {
  const before = await get();
  for (const wrong of ['https://app.test/path', 'app.test', 'ftp://app.test', 'https://*', '']) {
    const { status, body } = await put({ origins: ['https://ok.test', wrong], ed25519: true });
    assert.equal(status, 400, wrong);
    assert.match(body.error, /"origins\[1\]" must be an origin such as "https:\/\/app.example.com"/);
  }
  for (const wrong of [
    { origins: 'https://a.test' },
    { origins: Array(101).fill('*') },
    { origins: ['x'.repeat(301)] },
    { ed25519: 1 },
    { x: 1 },
  ])
    assert.equal((await put(wrong)).status, 400, JSON.stringify(wrong).slice(0, 40));
  assert.deepEqual(await get(), before);
});

test('publishes the public keys of an instance with Ed25519 signatures, and rotates them with an overlap', async () => {
  assert.equal((await keySet()).status, 404);
  assert.equal((await harness.call('POST', '/v2/signatures/rotate')).status, 409);
  const { ed25519 } = (await put({ ed25519: true })).body;
  assert.ok(ed25519);
  assert.equal(ed25519.jwksUrl, 'https://everstep.test/v2/jwks/qi_1');
  assert.deepEqual((await put({ ed25519: true })).body.ed25519, ed25519, 'existing keys stay');

  const answered = await keySet();
  assert.equal(answered.status, 200);
  assert.equal(answered.headers['cache-control'], 'public, max-age=300');
  const { keys } = answered.body;
  assert.deepEqual(keys, [ed25519.current, ed25519.next]);
  assert.deepEqual(
    Object.keys(keys[0] ?? {}).sort(),
    ['alg', 'crv', 'kid', 'kty', 'use', 'x'],
    'the private part is not published',
  );

  const rotated = (await harness.call<Settings>('POST', '/v2/signatures/rotate')).body.ed25519;
  assert.deepEqual(rotated?.current, ed25519.next);
  assert.equal(new Set([ed25519.current.kid, ed25519.next.kid, rotated?.next.kid]).size, 3);
  assert.deepEqual((await keySet()).body.keys, [rotated?.current, rotated?.next]);

  for (const nobody of ['qi_2', 'qi_none', 'x'.repeat(200)]) assert.notEqual((await keySet(nobody)).status, 200, nobody);
  assert.equal((await put({ ed25519: false })).body.ed25519, null);
  assert.equal((await keySet()).status, 404);
});
