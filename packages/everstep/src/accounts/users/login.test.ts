import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { LIMITS } from '../../config/limits.js';
import type { AccountStore } from '../../ports/stores/account-store.js';
import type { Store } from '../../ports/stores/store.js';
import { openSqliteStore } from '../../stores/sqlite/index.js';
import { AccountRules } from '../account-rules.js';
import type { AccountService } from '../account-service.js';
import { hashOfApiKey } from './api-key-hash.js';
import { isPrivateAddress, networkOf } from './client-network.js';
import { createFailedLogins, FailedLogins } from './failed-logins.js';
import { createLogin } from './login.js';

const EMAIL = 'ann@w.test';
const KEY = 'ek_good';
const HERE = '192.0.2.1';
const THERE = '192.0.2.2';
const WINDOW_MS = LIMITS.failedLoginWindowMs;

let store: Store;
let logIn: AccountService['logIn'];
let at = 0;
/** Queries sent to the store, and the method that fails. */
let asked: { readonly method: string; readonly query: unknown }[] = [];
let failing: string | null = null;
let warned: unknown[] = [];
/** Starts another process on the same store. */
let restart: () => void;

const askedFor = (method: string) => asked.filter((request) => request.method === method).map(({ query }) => query);

beforeEach(async () => {
  at = 1_700_000_000_000;
  store = await openSqliteStore({ file: ':memory:' });
  let seed = 0;
  const random = { bytes: (count: number) => new Uint8Array(count).fill(seed++) };
  [asked, failing, warned] = [[], null, []];
  const accounts: AccountStore = new Proxy(store.accounts, {
    get(target, method: keyof AccountStore & string) {
      const ask = target[method] as (query: unknown) => Promise<unknown>;
      return (query: unknown) => {
        asked.push({ method, query });
        return method === failing ? Promise.reject(new Error('the disk is full')) : ask(query);
      };
    },
  });
  const log = { warn: (details: unknown) => warned.push(details) };
  restart = () => {
    ({ logIn } = createLogin({
      rules: new AccountRules({ accounts, now: () => at, random }),
      failedLogins: createFailedLogins(),
      log,
    }));
  };
  restart();
  const key = { apiKeyId: 'key_1', userId: 'usr_ann', name: 'first', keyHash: hashOfApiKey(KEY), createdAt: at };
  await store.accounts.createUser({ user: { userId: 'usr_ann', email: EMAIL, createdAt: at }, apiKey: key });
});

const attempt = async (apiKey: string, { email = EMAIL, address = HERE } = {}) => (await logIn({ email, apiKey, address })).kind;

test('a user logs in with each valid key, with any case of the email', async () => {
  const key = { apiKeyId: 'key_2', userId: 'usr_ann', name: 'second', keyHash: hashOfApiKey('ek_second'), createdAt: at };
  await store.accounts.createApiKey({ apiKey: key });
  const login = await logIn({ email: 'Ann@W.Test', apiKey: KEY, address: HERE });
  assert.ok(login.kind === 'in');
  assert.deepEqual([login.principal.user.userId, login.principal.address], ['usr_ann', HERE]);
  assert.equal(await attempt('ek_second'), 'in');
  await store.accounts.revokeApiKey({ apiKeyId: 'key_2', userId: 'usr_ann', at });
  assert.equal(await attempt('ek_second'), 'refused');
});

test('a wrong key, the hash of the key, no key, and an unknown email are refused alike', async () => {
  for (const key of ['ek_wrong', '', KEY.slice(0, -1), `${KEY} `, hashOfApiKey(KEY)])
    assert.equal(await attempt(key), 'refused', key);
  for (const email of ['bob@w.test', '', `${'a'.repeat(300)}@w.test`])
    assert.equal(await attempt(KEY, { email }), 'refused', email);
});

test('failed logins of an account from an address are limited in a sliding window, even for the valid key', async () => {
  for (let i = 0; i < LIMITS.maxFailedLogins; i++) {
    assert.equal(await attempt('ek_wrong'), 'refused');
    at += 100;
  }
  const login = await logIn({ email: EMAIL, apiKey: KEY, address: HERE });
  assert.deepEqual(login, { kind: 'wait', retryAfterMs: WINDOW_MS - LIMITS.maxFailedLogins * 100 });
  assert.equal(await attempt(KEY, { address: THERE }), 'in', 'from another address the user is not locked out');
  assert.equal(await attempt('ek_wrong', { email: 'bob@w.test' }), 'refused', 'another account');
  at += login.kind === 'wait' ? login.retryAfterMs : 0;
  assert.equal(await attempt('ek_wrong'), 'refused', 'one attempt is available again');
  assert.equal(await attempt(KEY), 'wait');
  at += WINDOW_MS;
  assert.equal(await attempt(KEY), 'in');
});

test('concurrent attempts are counted one by one', async () => {
  const kinds = await Promise.all(Array.from({ length: 30 }, () => attempt('ek_wrong')));
  assert.equal(kinds.filter((kind) => kind === 'refused').length, LIMITS.maxFailedLogins);
});

test('failed logins of an account from all addresses are limited, and so are those of an address', async () => {
  for (let i = 0; i < LIMITS.maxFailedLoginsTotal; i++) {
    assert.equal(await attempt('ek_wrong', { address: `198.51.100.${i}` }), 'refused');
    assert.equal(await attempt('ek_wrong', { email: `user${i}@w.test` }), 'refused');
  }
  assert.equal(await attempt(KEY, { address: THERE }), 'wait', 'the account');
  assert.equal(await attempt(KEY, { email: 'new@w.test' }), 'wait', 'the address');
});

test('failed logins elsewhere do not lock out a user at an address of an earlier login', async () => {
  assert.equal(await attempt(KEY), 'in');
  for (let i = 0; i < LIMITS.maxFailedLoginsTotal; i++) await attempt('ek_wrong', { address: `198.51.100.${i}` });
  assert.equal(await attempt(KEY, { address: THERE }), 'wait', 'an address without an earlier login');
  assert.equal(await attempt(KEY), 'in');
  for (let i = 0; i < LIMITS.maxFailedLogins; i++) assert.equal(await attempt('ek_wrong'), 'refused');
  assert.equal(await attempt(KEY), 'wait', 'failures at this address still count');
});

test('failed logins for other accounts do not lock out a user at an address of an earlier login', async () => {
  assert.equal(await attempt(KEY), 'in');
  for (let i = 0; i < LIMITS.maxFailedLoginsTotal; i++) await attempt('ek_wrong', { email: `user${i}@w.test` });
  assert.equal(await attempt('ek_wrong', { email: 'one-more@w.test' }), 'wait');
  assert.equal(await attempt(KEY), 'in');
});

test('at a private address, which may be a proxy or gateway, failures of some accounts do not delay others', async () => {
  for (const address of [
    '10.0.0.2',
    '172.16.0.1',
    '192.168.1.1',
    '127.0.0.1',
    '100.64.0.1',
    '169.254.1.1',
    '::1',
    'fd00::2',
    'fe80::1',
  ]) {
    restart();
    for (let i = 0; i <= LIMITS.maxFailedLoginsTotal; i++)
      assert.equal(await attempt('ek_wrong', { email: `user${i}@w.test`, address }), 'refused', address);
    assert.equal(await attempt(KEY, { address }), 'in', address);
    for (let i = 0; i < LIMITS.maxFailedLogins; i++) await attempt('ek_wrong', { address });
    assert.equal(await attempt(KEY, { address }), 'wait', 'failures of one account are limited there as well');
    at += WINDOW_MS;
  }
});

test('at an address shared by two users, failures of other accounts delay no one', async () => {
  const key = { apiKeyId: 'key_2', userId: 'usr_bob', name: 'first', keyHash: hashOfApiKey('ek_bob'), createdAt: at };
  await store.accounts.createUser({ user: { userId: 'usr_bob', email: 'bob@w.test', createdAt: at }, apiKey: key });
  for (let i = 0; i < LIMITS.maxFailedLoginsTotal; i++) await attempt('ek_wrong', { email: `user${i}@w.test` });
  assert.equal(await attempt('ek_bob', { email: 'bob@w.test' }), 'wait', 'no one has logged in there yet');
  at += WINDOW_MS;
  for (const email of [EMAIL, EMAIL]) assert.equal(await attempt(KEY, { email }), 'in');
  for (let i = 0; i < LIMITS.maxFailedLoginsTotal; i++) await attempt('ek_wrong', { email: `user${i}@w.test` });
  assert.equal(await attempt('ek_bob', { email: 'bob@w.test' }), 'wait', 'a single user does not make it shared');
  at += WINDOW_MS;
  assert.equal(await attempt('ek_bob', { email: 'bob@w.test' }), 'in');
  for (let i = 0; i <= LIMITS.maxFailedLoginsTotal; i++)
    assert.equal(await attempt('ek_wrong', { email: `user${i}@w.test` }), 'refused');
});

test('networks of earlier logins are known after a restart during an attack', async () => {
  assert.equal(await attempt(KEY), 'in');
  restart();
  for (let i = 0; i < LIMITS.maxFailedLoginsTotal; i++) await attempt('ek_wrong', { address: `198.51.100.${i}` });
  assert.equal(await attempt(KEY, { address: THERE }), 'wait', 'an address without an earlier login');
  assert.equal(await attempt(KEY), 'in');
  await attempt('ek_wrong', { address: THERE });
  assert.equal(await attempt(KEY, { address: THERE }), 'wait', 'a failure does not record a network');
});

test('a network is recorded once a day, and the store receives neither the address nor the network', async () => {
  const address = '2001:db8:0:7::1';
  for (let i = 0; i < 3; i++) assert.equal(await attempt(KEY, { address }), 'in');
  assert.equal(askedFor('recordLogin').length, 1);
  assert.ok(!JSON.stringify(askedFor('recordLogin')).includes('2001:db8'));
  at += 86_400_000;
  assert.equal(await attempt(KEY, { address: '2001:db8:0:7::2' }), 'in');
  const [first, second] = askedFor('recordLogin').map((query) => JSON.stringify({ ...Object(query), at: 0 }));
  assert.equal(first, second);
  restart();
  assert.equal(await attempt(KEY, { address }), 'in');
  assert.equal(askedFor('recordLogin').length, 2);
});

test('a login with a valid key succeeds even if it cannot be recorded', async () => {
  failing = 'recordLogin';
  assert.equal(await attempt(KEY), 'in');
  failing = null;
  assert.equal(await attempt(KEY), 'in');
  assert.equal(askedFor('recordLogin').length, 2);
});

test('failed logins with unknown emails are counted by day and are not in the audit log', async () => {
  for (let i = 0; i < 5; i++) await attempt(KEY, { email: `nobody${i}@w.test` });
  await attempt('ek_wrong');
  assert.equal(askedFor('addAudit').length, 1);
  const count = { instanceId: '', what: 'unknown-login', day: Math.floor(at / 86_400_000), count: 5, lastAt: at };
  assert.deepEqual(await store.accounts.countsByDay({ instanceId: '', fromDay: 0 }), [count]);
});

test('known and unknown emails cause the same number of queries and durable writes', async () => {
  await attempt('ek_wrong');
  const known = asked.map(({ method }) => method);
  restart();
  asked = [];
  await attempt('ek_wrong', { email: 'nobody@w.test' });
  const unknown = asked.map(({ method }) => method);
  assert.equal(known.at(-1), 'addAudit');
  assert.equal(unknown.at(-1), 'countOfDay');
  assert.deepEqual(unknown.slice(0, -1), known.slice(0, -1));
});

test('failed logins with unknown emails are logged at most once a minute and without the emails', async () => {
  for (let i = 0; i < 5; i++) await attempt(KEY, { email: `nobody${i}@w.test` });
  assert.deepEqual(warned, [{ failures: 1 }]);
  at += 60_000;
  await attempt(KEY, { email: 'nobody@w.test' });
  assert.deepEqual(warned, [{ failures: 1 }, { failures: 5 }]);
});

test('all addresses of an IPv6 network count as one', async () => {
  for (let i = 0; i < LIMITS.maxFailedLogins; i++)
    assert.equal(await attempt('ek_wrong', { address: `2001:db8:0:7::${i.toString(16)}` }), 'refused');
  assert.equal(await attempt(KEY, { address: '2001:db8:0:7:ffff:1:2:3' }), 'wait');
  assert.equal(await attempt(KEY, { address: '2001:db8:0:8::1' }), 'in', 'the adjacent network');
});

test('successful logins are not counted', async () => {
  for (let i = 0; i < 3 * LIMITS.maxFailedLogins; i++) assert.equal(await attempt(KEY), 'in');
});

test('a failed login is in the audit log of the account, without the submitted credentials', async () => {
  await attempt('ek_secret-typo', { address: THERE });
  await attempt(KEY, { email: 'ek_the-key-in-the-wrong-field' });
  const entries = await store.accounts.listAudit({ accountIds: ['usr_ann'], after: null, limit: 10 });
  assert.deepEqual(
    entries.map(({ actor, action, subject, address }) => ({ actor, action, subject, address })),
    [{ actor: EMAIL, action: 'login.fail', subject: 'usr_ann', address: THERE }],
  );
  assert.ok(!JSON.stringify(entries).includes('secret-typo'));
});

test('the memory for failures is limited, and the oldest entries are dropped first', () => {
  const failed = new FailedLogins({ perUserAndAddress: 1, perUserOrAddress: 1, windowMs: 1_000, maxEntries: 6 });
  const attempts = ['a', 'b', 'c'].map((name) => ({ email: name, address: name }));
  for (const attempt of attempts) failed.recordFailure(attempt, 0);
  assert.equal(failed.size, 6);
  for (const attempt of attempts) failed.recordSuccess(attempt);
  for (let n = 0; n < 20; n++) failed.recordSuccess({ email: `u${n}`, address: `198.51.100.${n}` });
  assert.ok(failed.size <= 12);
  assert.deepEqual(
    attempts.map((attempt) => failed.waitMs(attempt, false, 400)),
    [0, 600, 600],
  );
});

test('exactly the addresses of private networks and of the machine itself are private', () => {
  for (const address of [
    '10.1.2.3',
    '172.31.0.1',
    '192.168.0.9',
    '127.0.0.1',
    '::1',
    'fc00::1',
    'fe80::1%eth0',
    '::ffff:10.0.0.1',
  ])
    assert.ok(isPrivateAddress(address), address);
  for (const address of ['192.0.2.1', '172.32.0.1', '8.8.8.8', '2001:db8::1', '::ffff:8.8.8.8', 'no address', ''])
    assert.ok(!isPrivateAddress(address), address);
});

test('a network is an IPv4 address or the first 64 bits of an IPv6 address', () => {
  const networks = {
    '192.0.2.1': '192.0.2.1',
    '::1': '0:0:0:0',
    '2001:DB8::1': '2001:db8:0:0',
    '2001:db8:1:2:3:4:5:6': '2001:db8:1:2',
    '2001:db8:0:0:1::': '2001:db8:0:0',
    '64:ff9b::192.0.2.1': '64:ff9b:0:0',
    'fe80::1%eth0': 'fe80:0:0:0',
    '1:2:3:4:5:6:192.0.2.1': '1:2:3:4',
    'no address': 'no address',
  };
  for (const [address, network] of Object.entries(networks)) assert.equal(networkOf(address), network, address);
});
