import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { decodeJwt, SignJWT } from 'jose';
import type { Store } from '../../ports/stores/store.js';
import { openSqliteStore } from '../../stores/sqlite/index.js';
import { type Authority, createAuthority } from './authority.js';
import { RecentTokens } from './recent-tokens.js';

const NOW = 1_700_000_000_000;
const EUROPE = 'eu-central-1';
const AMERICA = 'us-east-1';

let store: Store;
let authority: Authority;

async function createInstance(instanceId: string, region = EUROPE): Promise<void> {
  const keys = { currentSigningKey: `sig_current_${instanceId}`, nextSigningKey: `sig_next_${instanceId}` };
  await store.accounts.createInstance({ instanceId, region, name: instanceId, createdAt: NOW, ...keys });
}

beforeEach(async () => {
  store = await openSqliteStore({ file: ':memory:' });
  await createInstance('qi_1');
  authority = await createAuthority({ store, now: () => NOW });
});

test('an issued token identifies its instance and access, and contains the claims', async () => {
  const token = await authority.issueToken({ instanceId: 'qi_1', access: 'read-only' });
  const { jti, ...claims } = decodeJwt(token);
  assert.deepEqual(claims, { iss: 'Everstep', sub: 'qi_1', region: EUROPE, access: 'read-only', iat: NOW / 1000 });
  assert.equal(authority.recall(token, EUROPE), undefined, 'a token is not cached before it is verified');
  const verdict = await authority.verify(token, EUROPE);
  const caller = {
    actor: `token ${jti} (read-only token)`,
    instanceId: 'qi_1',
    region: EUROPE,
    access: 'read-only',
    scopes: ['read'],
  };
  assert.deepEqual(verdict, { ok: true, caller });
  assert.deepEqual(authority.recall(token, EUROPE), verdict);
});

test('a token can be rebuilt from its record', async () => {
  const token = await authority.issueToken({ instanceId: 'qi_1', access: 'read-only' });
  const [record] = await store.accounts.listTokens({ instanceId: 'qi_1' });
  assert.ok(record);
  assert.equal(await authority.tokenOf(record), token);
});

test('a token of another region is refused with an error that names both, even when cached', async () => {
  await createInstance('qi_us', AMERICA);
  const token = await authority.issueToken({ instanceId: 'qi_us', access: 'read-write' });
  const refused = await authority.verify(token, EUROPE);
  assert.ok(!refused.ok && refused.message.includes(EUROPE) && refused.message.includes(AMERICA));
  assert.equal(authority.recall(token, EUROPE)?.ok, false);
  assert.equal((await authority.verify(token, AMERICA)).ok, true);
});

test('a revoked token is refused immediately, even if it was cached', async () => {
  const token = await authority.issueToken({ instanceId: 'qi_1', access: 'read-write' });
  const other = await authority.issueToken({ instanceId: 'qi_1', access: 'read-write' });
  for (const each of [token, other]) assert.equal((await authority.verify(each, EUROPE)).ok, true);
  await authority.revoke(String(decodeJwt(token).jti));
  assert.equal(authority.recall(token, EUROPE), undefined);
  assert.equal((await authority.verify(token, EUROPE)).ok, false);
  assert.equal(authority.recall(other, EUROPE)?.ok, true);
});

test('a token revoked during its verification is not cached', async () => {
  const token = await authority.issueToken({ instanceId: 'qi_1', access: 'read-write' });
  const tokenId = String(decodeJwt(token).jti);
  const findToken = store.accounts.findToken.bind(store.accounts);
  store.accounts.findToken = async (query) => {
    const found = await findToken(query);
    // The revocation also reads the record, so it must not start another revocation.
    store.accounts.findToken = findToken;
    await authority.revoke(tokenId);
    return found;
  };
  await authority.verify(token, EUROPE);
  assert.equal(authority.recall(token, EUROPE), undefined);
  assert.equal((await authority.verify(token, EUROPE)).ok, false);
});

test('another authority accepts the tokens if it has the same store, but not if it has another store', async () => {
  const token = await authority.issueToken({ instanceId: 'qi_1', access: 'read-write' });
  const secondAuthority = await createAuthority({ store, now: () => NOW });
  assert.equal((await secondAuthority.verify(token, EUROPE)).ok, true);
  assert.equal(await secondAuthority.isValid(token, 'qi_1'), true);
  assert.equal(await secondAuthority.isValid(token, 'qi_2'), false);
  const otherStoreAuthority = await createAuthority({ store: await openSqliteStore({ file: ':memory:' }), now: () => NOW });
  assert.equal((await otherStoreAuthority.verify(token, EUROPE)).ok, false);
});

test('malformed, modified, unsigned and forged tokens are refused', async () => {
  const valid = await authority.issueToken({ instanceId: 'qi_1', access: 'read-only' });
  const [header = '', payload = '', signature = ''] = valid.split('.');
  const escalatedPayload = Buffer.from(JSON.stringify({ ...decodeJwt(valid), access: 'read-write' })).toString('base64url');
  const unsignedHeader = Buffer.from(JSON.stringify({ alg: 'none' })).toString('base64url');
  const otherKeyToken = await new SignJWT({ region: EUROPE, access: 'read-write' })
    .setProtectedHeader({ alg: 'HS256' })
    .setIssuer('Everstep')
    .setSubject('qi_1')
    .setJti('x')
    .sign(new TextEncoder().encode('a'.repeat(43)));
  const tokens = [
    '',
    'x',
    'a.b.c',
    'é',
    `${header}.${escalatedPayload}.${signature}`,
    `${unsignedHeader}.${payload}.`,
    valid.slice(0, -3),
    otherKeyToken,
    'a'.repeat(100_000),
  ];
  for (const token of tokens) assert.equal((await authority.verify(token, EUROPE)).ok, false, token.slice(0, 40));
});

test('a rotation of signing keys makes the next key the current one, and is durable', async () => {
  assert.deepEqual(authority.signingKeys('qi_1'), { current: 'sig_current_qi_1', next: 'sig_next_qi_1' });
  const rotated = await authority.rotateSigningKeys('qi_1');
  assert.equal(rotated.current, 'sig_next_qi_1');
  assert.match(rotated.next, /^sig_[\w-]{43}$/);
  assert.deepEqual(authority.signingKeys('qi_1'), rotated);
  assert.deepEqual((await createAuthority({ store, now: () => NOW })).signingKeys('qi_1'), rotated);
  await assert.rejects(authority.rotateSigningKeys('qi_none'));
  assert.throws(() => authority.signingKeys('qi_none'));
});

test('an instance created after the start is known once a token is issued for it', async () => {
  await createInstance('qi_late');
  await authority.issueToken({ instanceId: 'qi_late', access: 'read-write' });
  assert.equal(authority.signingKeys('qi_late').current, 'sig_current_qi_late');
  await assert.rejects(authority.issueToken({ instanceId: 'qi_none', access: 'read-write' }));
});

test('the token cache is limited and keeps recently used tokens', () => {
  const recent = new RecentTokens<{ tokenId: string }>(2);
  recent.set('a', { tokenId: '1' });
  recent.set('b', { tokenId: '2' });
  recent.get('a');
  recent.set('c', { tokenId: '3' });
  assert.deepEqual([recent.get('a')?.tokenId, recent.get('b'), recent.get('c')?.tokenId], ['1', undefined, '3']);
  assert.equal(recent.size, 2);
});

test("a rotation of signing keys is recorded in the owner's audit log with the token that requested it", async () => {
  const user = { userId: 'usr_1', email: 'a@w.test', createdAt: 1 };
  const apiKey = { apiKeyId: 'key_1', userId: 'usr_1', name: 'first', keyHash: 'a', createdAt: 1 };
  await store.accounts.createUser({ user, apiKey });
  await store.accounts.changeInstance({ instanceId: 'qi_1', change: { accountId: 'usr_1' } });
  const { current, next } = await authority.rotateSigningKeys('qi_1', { actor: 'token tok', address: '192.0.2.7' });
  const [entry, ...more] = await store.accounts.listAudit({ accountIds: ['usr_1'], after: null, limit: 9 });
  assert.deepEqual(more, []);
  const { action, actor, subject, address } = entry ?? assert.fail();
  assert.deepEqual([action, actor, subject, address], ['queue.rotate-signing-keys', 'token tok', 'qi_1', '192.0.2.7']);
  for (const key of [current, next]) assert.ok(!JSON.stringify(entry).includes(key));
});
