import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSystemRandom } from '../../clock/system-random.js';
import { openSqliteStore } from '../../stores/sqlite/index.js';
import { AccountRules } from '../account-rules.js';
import { createSessions, isCsrfToken } from './sessions.js';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

async function open() {
  const store = await openSqliteStore({ file: ':memory:' });
  const { accounts } = store;
  const user = { userId: 'usr_1', email: 'a@w.test', createdAt: 1 };
  await accounts.createUser({ user, apiKey: { apiKeyId: 'key_1', userId: 'usr_1', name: 'first', keyHash: 'a', createdAt: 1 } });
  const time = { now: 1_000 * HOUR_MS };
  const rules = new AccountRules({ accounts, now: () => time.now, random: createSystemRandom() });
  const login = { kind: 'in', principal: { user, address: '192.0.2.1' }, apiKeyId: 'key_1' } as const;
  const sessions = createSessions(rules, async () => login);
  async function begin() {
    const login = await sessions.beginSession({ email: '', apiKey: '', address: '' });
    return login.kind === 'in' ? login : assert.fail(login.kind);
  }
  const find = (secret: string) => sessions.findSession({ secret, address: '192.0.2.2' });
  return { store, accounts, time, sessions, begin, find };
}

test('a session ends after 12 hours without use and is removed', async () => {
  const { store, accounts, time, begin, find } = await open();
  const { secret, session } = await begin();
  assert.equal(session.expiresAt, time.now + 12 * HOUR_MS);
  time.now += 5 * 60_000;
  assert.equal((await find(secret))?.expiresAt, session.expiresAt, 'not every use of a session is written');
  time.now = session.expiresAt - 1;
  const found = await find(secret);
  assert.deepEqual([found?.expiresAt, found?.principal.address], [time.now + 12 * HOUR_MS, '192.0.2.2']);
  time.now += 12 * HOUR_MS;
  assert.equal(await find(secret), null);
  assert.equal(await accounts.findSession({ sessionHash: session.sessionHash }), null);
  await store.close();
});

test('a session ends after 7 days, however much it is used', async () => {
  const { store, time, begin, find } = await open();
  const { secret } = await begin();
  const [began, last] = [time.now, time.now + 7 * DAY_MS];
  for (time.now = began + HOUR_MS; time.now < last; time.now += HOUR_MS)
    assert.equal((await find(secret))?.expiresAt, Math.min(time.now + 12 * HOUR_MS, last));
  assert.equal(await find(secret), null);
  await store.close();
});

test('the secret is not stored, and each session has its own CSRF token', async () => {
  const { store, accounts, begin, find } = await open();
  const [one, two] = [await begin(), await begin()];
  const kept = await accounts.findSession({ sessionHash: one.session.sessionHash });
  const { csrfToken } = one.session;
  for (const text of [csrfToken, JSON.stringify(kept)]) assert.ok(!text.includes(one.secret));
  assert.ok(!JSON.stringify(kept).includes(csrfToken));
  assert.equal((await find(one.secret))?.csrfToken, csrfToken);
  assert.deepEqual(
    [csrfToken, two.session.csrfToken, '', undefined, `${csrfToken}x`].map((given) => isCsrfToken(one.session, given)),
    [true, false, false, false, false],
  );
  await store.close();
});

test('invalid secrets find no session', async () => {
  const { store, begin, find } = await open();
  const { secret } = await begin();
  for (const other of ['', 'es_', secret.slice(0, -1), `${secret}x`, ` ${secret}`, secret.replace('es_', 'ek_')])
    assert.equal(await find(other), null, other);
  await store.close();
});

test('logins and logouts are in the audit log of the user', async () => {
  const { store, accounts, sessions, begin } = await open();
  const { session } = await begin();
  await sessions.endSession(session);
  const entries = await accounts.listAudit({ accountIds: ['usr_1'], after: null, limit: 9 });
  assert.deepEqual(
    entries.map(({ action, actor }) => [action, actor]),
    [
      ['session.end', 'a@w.test'],
      ['session.begin', 'a@w.test'],
    ],
  );
  await store.close();
});
