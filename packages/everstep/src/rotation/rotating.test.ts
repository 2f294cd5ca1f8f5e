import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import { createAuthority } from '../accounts/tokens/authority.js';
import { createCursorSeal } from '../http-api/requests/cursor.js';
import type { AccountStore, QueueInstance } from '../ports/stores/account-store.js';
import { SEARCH_TOKEN_KEY } from '../search/search-tokens.js';
import { sealAccounts, sealStored } from '../secrets/sealed-accounts.js';
import { createSealer, isSealed } from '../secrets/sealed-values.js';
import { openSqliteStore } from '../stores/sqlite/index.js';
import { rotateSecrets } from './rotating.js';

const T0 = Date.UTC(2026, 0);
const MINUTE_MS = 60_000;
const region = 'eu-central-1';
const INSTANCE: QueueInstance = {
  instanceId: 'qi_1',
  region,
  name: 'one',
  createdAt: T0,
  currentSigningKey: 'sig_current',
  nextSigningKey: 'sig_next',
};

async function openHarness(t: TestContext) {
  const store = await openSqliteStore({ file: ':memory:' });
  t.after(() => store.close());
  const sealer = createSealer([randomBytes(32)]);
  const accounts = sealAccounts(store.accounts, sealer);
  await accounts.createInstance(INSTANCE);
  let [now, elapsed] = [T0, 0];
  const cacheCoordinator = { elapsedMs: () => elapsed, notifyChanged: () => {} };
  const node = () => createAuthority({ store: { accounts }, now: () => now, cacheCoordinator });
  const request = { store, sealer, endTokens: false, onlyEncrypt: false };
  const rotate = (changed: Partial<typeof request> = {}) => rotateSecrets({ ...request, ...changed, now });
  const advance = (ms: number) => {
    now += ms;
    elapsed += ms;
  };
  return { store, accounts, sealer, node, rotate, advance };
}

const issue = (authority: Awaited<ReturnType<typeof createAuthority>>) =>
  authority.issueToken({ instanceId: 'qi_1', access: 'read-write' });

test('after a rotation, tokens stay valid and unchanged on every node, and later tokens use the new key', async (t) => {
  const { accounts, node, rotate, advance } = await openHarness(t);
  const [one, two] = [await node(), await node()];
  const oldToken = await issue(one);
  const oldValue = await accounts.findSecret({ name: 'token-signing-key' });
  assert.deepEqual((await rotate()).replaced, ['token-signing-key']);
  // A node that has not read the new key yet still issues tokens that all nodes accept.
  const staleNodeToken = await issue(two);
  advance(MINUTE_MS);
  const newToken = await issue(two);
  for (const authority of [one, two, await node()]) {
    for (const token of [oldToken, staleNodeToken, newToken]) assert.ok(await authority.isValid(token, 'qi_1'));
    const [first, , last] = await accounts.listTokens({ instanceId: 'qi_1' });
    assert.deepEqual(first && last && [await authority.tokenOf(first), await authority.tokenOf(last)], [oldToken, newToken]);
  }
  // The old key cannot sign later tokens.
  const forger = await createAuthority({
    store: { accounts: { ...accounts, findOrCreateSecret: async () => oldValue ?? '' } },
    now: () => T0,
  });
  const [, , last] = await accounts.listTokens({ instanceId: 'qi_1' });
  assert.equal(last && (await (await node()).isValid(await forger.tokenOf(last), 'qi_1')), false);
});

test('if tokens are ended, they are refused within seconds, and their records get new tokens', async (t) => {
  const { accounts, node, rotate, advance } = await openHarness(t);
  const authority = await node();
  const oldToken = await issue(authority);
  assert.ok(await authority.isValid(oldToken, 'qi_1'));
  await rotate({ endTokens: true });
  advance(3_000);
  assert.equal(await authority.isValid(oldToken, 'qi_1'), false);
  const [record] = await accounts.listTokens({ instanceId: 'qi_1' });
  assert.ok(record && (await authority.isValid(await authority.tokenOf(record), 'qi_1')));
});

test('a cursor stays valid across one rotation but not two', async (t) => {
  const { accounts, rotate } = await openHarness(t);
  const scope = { operation: 'logs', instanceId: 'qi_1', filters: {} };
  const state = { after: '1', horizon: null, remaining: null };
  const cursor = await createCursorSeal(accounts).seal(scope, state);
  await rotate();
  assert.deepEqual(await createCursorSeal(accounts).open(scope, cursor), state);
  await rotate();
  await assert.rejects(createCursorSeal(accounts).open(scope, cursor), /cursor is invalid/);
});

test('a rotation encrypts plain secrets under the current key, and replaces only the keys that exist', async (t) => {
  const { store, accounts, rotate } = await openHarness(t);
  await accounts.findOrCreateSecret({ name: 'cursor-key', value: 'one' });
  await accounts.findOrCreateSecret({ name: SEARCH_TOKEN_KEY, value: 'derives tokens' });
  const sealer = createSealer([randomBytes(32), randomBytes(32)]);
  await assert.rejects(rotate({ sealer }), /\(secrets-key-wrong\)$/);
  assert.deepEqual(await rotate({ onlyEncrypt: true }), { replaced: [], encrypted: 0 });
  assert.equal(await accounts.findSecret({ name: 'cursor-key' }), 'one');
  const plain: AccountStore = store.accounts;
  await plain.replaceSecret({ name: 'cursor-key', from: (await plain.findSecret({ name: 'cursor-key' })) ?? '', to: 'plain' });
  assert.deepEqual(await rotate(), { replaced: ['cursor-key'], encrypted: 1 });
  const secrets = await plain.listSecrets();
  assert.deepEqual(
    secrets.map(({ name, value }) => [name, isSealed(value)]),
    [['cursor-key', true]],
  );
});

test('two concurrent rotations of a database lose no key', async (t) => {
  const { accounts, node, rotate, sealer, store } = await openHarness(t);
  const token = await issue(await node());
  await Promise.all([rotate(), rotate(), sealStored(store.accounts, sealer)]);
  const ring: readonly unknown[] = JSON.parse((await accounts.findSecret({ name: 'token-signing-key' })) ?? '[]');
  assert.equal(ring.length, 3);
  assert.ok(await (await node()).isValid(token, 'qi_1'));
});
