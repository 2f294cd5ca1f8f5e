import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { createAuthority } from '../accounts/tokens/authority.js';
import { hashOfApiKey } from '../accounts/users/api-key-hash.js';
import { createSystemClock } from '../clock/system-clock.js';
import { createSystemRandom } from '../clock/system-random.js';
import type { AccountStore, QueueInstance } from '../ports/stores/store.js';
import { openSqliteStore } from '../stores/sqlite/index.js';
import { type Credentials, credentialsFile, readCredentials, storeCredentials } from './credentials.js';
import { writeEnvFile } from './env-file.js';
import { startAccounts } from './first-start.js';

async function temporaryDirectory(t: TestContext): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'everstep-first-'));
  t.after(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

/** Opens the store between two starts, to read or change its accounts. */
async function withAccounts<Result>(file: string, work: (accounts: AccountStore) => Promise<Result>): Promise<Result> {
  const store = await openSqliteStore({ file });
  try {
    return await work(store.accounts);
  } finally {
    await store.close();
  }
}

/** Removes all owners, as in a store written by an early version, which had none. */
function removeOwners(file: string): void {
  const database = new DatabaseSync(file);
  database.exec('UPDATE queue_instance SET account_id = NULL');
  database.close();
}

/** Returns whether the API key in the credentials is a valid key of their user. */
async function isValidKey(file: string, { adminEmail, adminApiKey }: Credentials): Promise<boolean> {
  return withAccounts(file, async (accounts) => {
    const user = await accounts.findUserByEmail({ email: adminEmail });
    const keys = user ? await accounts.listApiKeys({ userId: user.userId }) : [];
    return keys.some(({ keyHash, revokedAt }) => keyHash === hashOfApiKey(adminApiKey) && revokedAt === undefined);
  });
}

const idsOf = async (accounts: AccountStore) => (await accounts.listUsers()).map(({ userId }) => userId);
const owners = (instances: readonly QueueInstance[]) => instances.map(({ accountId }) => accountId);

/** Simulates one start of the server on `file`, up to the accounts. */
async function start(dataDir: string, file: string, email = 'admin@localhost') {
  const store = await openSqliteStore({ file });
  try {
    const clock = createSystemClock();
    const authority = await createAuthority({ store, now: clock.now });
    const { accounts } = store;
    const options = { dataDir, region: 'eu-central-1', adminEmail: email, accounts, authority, clock };
    const started = await startAccounts({ ...options, random: createSystemRandom() });
    const { instanceId, token, readOnlyToken } = started.credentials;
    return {
      ...started,
      users: await accounts.listUsers(),
      instances: await accounts.listInstances(),
      audit: (await accounts.listAudit({ accountIds: await idsOf(accounts), after: null, limit: 100 })).toReversed(),
      tokens: await accounts.listTokens({ instanceId }),
      access: [await authority.verify(token, 'eu-central-1'), await authority.verify(readOnlyToken, 'eu-central-1')],
    };
  } finally {
    await store.close();
  }
}

const permissions = async (path: string): Promise<number> => (await stat(path)).mode & 0o777;

test('the first start creates a user, a queue instance and valid tokens in a private file', async (t) => {
  const directory = await temporaryDirectory(t);
  const { kind, credentials, users, instances, tokens, access } = await start(directory, join(directory, 'a.db'));
  assert.equal(kind, 'first');
  assert.match(credentials.instanceId, /^qi_[0-9A-Z]{26}$/);
  assert.match(credentials.adminApiKey, /^ek_.{43}$/);
  assert.match(credentials.currentSigningKey, /^sig_.{43}$/);
  assert.notEqual(credentials.currentSigningKey, credentials.nextSigningKey);
  assert.deepEqual(
    users.map(({ email }) => email),
    ['admin@localhost'],
  );
  assert.deepEqual(owners(instances), [users[0]?.userId]);
  assert.equal(tokens.length, 2);
  assert.deepEqual(
    access.map((verdict) => verdict.ok && verdict.caller.access),
    ['read-write', 'read-only'],
  );
  assert.equal(await permissions(credentialsFile(directory)), 0o600);
  assert.deepEqual(await readCredentials(directory), credentials);
});

test('the store contains no plain API key', async (t) => {
  const directory = await temporaryDirectory(t);
  const { credentials } = await start(directory, join(directory, 'a.db'));
  for (const name of (await readdir(directory)).filter((file) => file.startsWith('a.db'))) {
    const content = await readFile(join(directory, name));
    assert.equal(content.includes(credentials.adminApiKey), false, name);
  }
  assert.match(hashOfApiKey(credentials.adminApiKey), /^[0-9a-f]{64}$/);
});

test('later starts use the same credentials', async (t) => {
  const directory = await temporaryDirectory(t);
  const file = join(directory, 'a.db');
  const first = await start(directory, file);
  const second = await start(directory, file);
  assert.equal(second.kind, 'existing');
  assert.deepEqual(second.credentials, first.credentials);
  assert.deepEqual([second.users.length, second.instances.length, second.tokens.length], [1, 1, 2]);
});

for (const [name, damage] of [
  ['lost', (path: string) => rm(path)],
  ['unreadable', (path: string) => writeFile(path, '{"instanceId": 3')],
] as const) {
  test(`when the credentials are ${name}, new ones are created for the existing queue instance`, async (t) => {
    const directory = await temporaryDirectory(t);
    const file = join(directory, 'a.db');
    const first = await start(directory, file);
    await damage(credentialsFile(directory));
    const second = await start(directory, file);
    assert.equal(second.kind, 'reissued');
    assert.equal(second.credentials.instanceId, first.credentials.instanceId);
    assert.equal(second.credentials.currentSigningKey, first.credentials.currentSigningKey);
    assert.equal(second.instances.length, 1);
    assert.ok(second.access.every(({ ok }) => ok));
  });

  test(`when the credentials are ${name}, the existing user gets another API key and the previous ones stay valid`, async (t) => {
    const directory = await temporaryDirectory(t);
    const file = join(directory, 'a.db');
    const first = await start(directory, file);
    await damage(credentialsFile(directory));
    const second = await start(directory, file, 'another@localhost');
    assert.deepEqual(second.users, first.users);
    assert.equal(second.credentials.adminEmail, first.credentials.adminEmail);
    assert.notEqual(second.credentials.adminApiKey, first.credentials.adminApiKey);
    assert.ok(await isValidKey(file, first.credentials));
    assert.ok(await isValidKey(file, second.credentials));
    assert.equal((await start(directory, file)).kind, 'existing');
  });
}

test('when the credentials are lost, the owner of the queue instance gets the new key', async (t) => {
  const directory = await temporaryDirectory(t);
  const file = join(directory, 'a.db');
  const first = await start(directory, file);
  const user = { userId: 'usr_2', email: 'second@localhost', createdAt: 1 };
  const apiKey = { apiKeyId: 'key_2', userId: 'usr_2', name: 'first', keyHash: 'ab', createdAt: 1 };
  await withAccounts(file, async (accounts) => {
    await accounts.createUser({ user, apiKey });
    await accounts.changeInstance({ instanceId: first.credentials.instanceId, change: { accountId: 'usr_2' } });
  });
  await rm(credentialsFile(directory));
  const second = await start(directory, file);
  assert.equal(second.credentials.adminEmail, 'second@localhost');
  assert.deepEqual(owners(second.instances), ['usr_2']);
});

test('if the first queue instance was deleted and its owner is disabled, the first enabled operator gets the key', async (t) => {
  const directory = await temporaryDirectory(t);
  const file = join(directory, 'a.db');
  const first = await start(directory, file);
  const operator = { userId: 'usr_2', email: 'second@localhost', createdAt: 1, isOperator: true } as const;
  const apiKey = { apiKeyId: 'key_2', userId: 'usr_2', name: 'first', keyHash: 'ab', createdAt: 1 };
  const firstUserId = first.users[0]?.userId ?? '';
  const { instanceId } = first.credentials;
  await withAccounts(file, async (accounts) => {
    await accounts.createUser({ user: operator, apiKey });
    const [instance] = await accounts.listInstances();
    assert.ok(instance);
    await accounts.createInstance({ ...instance, instanceId: 'qi_2' });
    await accounts.deleteInstance({ instanceId, at: 2 });
    assert.equal(await accounts.setUserDisabled({ userId: firstUserId, at: 3 }), 'done');
  });
  const second = await start(directory, file);
  assert.deepEqual([second.credentials.instanceId, second.credentials.adminEmail], ['qi_2', operator.email]);
  assert.ok(second.setAsidePath?.includes(instanceId));
  const keys = await withAccounts(file, (accounts) => accounts.listApiKeys({ userId: firstUserId }));
  assert.equal(keys.length, 1);
});

test('the audit log has one entry for each object that a start creates', async (t) => {
  const directory = await temporaryDirectory(t);
  const file = join(directory, 'a.db');
  const { users, instances } = await start(directory, file, 'Me@Example.com');
  const { audit } = await start(directory, file);
  const [userId, instanceId] = [users[0]?.userId, instances[0]?.instanceId];
  assert.deepEqual(
    audit.map(({ actor, action, subject, details, address }) => [actor, action, subject, details, address]),
    [
      ['operator', 'user.create', userId, { email: 'me@example.com' }, 'start'],
      ['operator', 'queue.create', instanceId, { name: 'default', region: 'eu-central-1' }, 'start'],
    ],
  );
  await rm(credentialsFile(directory));
  const later = (await start(directory, file)).audit.slice(audit.length);
  assert.deepEqual(
    later.map(({ action, details }) => [action, details]),
    [['api-key.create', { name: 'created at startup' }]],
  );
});

test('a queue instance without an owner is assigned to the user of the stored key', async (t) => {
  const directory = await temporaryDirectory(t);
  const file = join(directory, 'a.db');
  const first = await start(directory, file);
  // An early version created another user when credentials were lost, and stored the key of that user.
  const user = { userId: 'usr_2', email: 'admin+2@localhost', createdAt: 1 };
  const apiKey = { apiKeyId: 'key_2', userId: 'usr_2', name: 'first', keyHash: hashOfApiKey('ek_2'), createdAt: 1 };
  await withAccounts(file, (accounts) => accounts.createUser({ user, apiKey }));
  const kept = { ...first.credentials, adminEmail: 'Admin+2@localhost', adminApiKey: 'ek_2' };
  await storeCredentials(directory, kept);
  removeOwners(file);
  const second = await start(directory, file);
  assert.deepEqual(owners(second.instances), ['usr_2']);
  assert.deepEqual(second.credentials, { ...kept, adminEmail: user.email });
  assert.equal(second.kind, 'existing');
  const { instanceId } = first.credentials;
  const given = second.audit.filter(({ action }) => action === 'queue.give');
  assert.deepEqual(
    given.map(({ subject, details, accountIds }) => [subject, details, accountIds]),
    [[instanceId, { to: 'usr_2' }, ['usr_2']]],
  );
});

test('a queue instance without an owner is assigned to the first user when the credentials are lost', async (t) => {
  const directory = await temporaryDirectory(t);
  const file = join(directory, 'a.db');
  const first = await start(directory, file);
  removeOwners(file);
  await rm(credentialsFile(directory));
  const second = await start(directory, file);
  assert.deepEqual(owners(second.instances), [first.users[0]?.userId]);
  assert.equal(second.credentials.instanceId, first.credentials.instanceId);
});

test('a queue instance with an owner keeps its owner', async (t) => {
  const directory = await temporaryDirectory(t);
  const file = join(directory, 'a.db');
  const first = await start(directory, file);
  await withAccounts(file, async (accounts) => {
    const [userId = ''] = await idsOf(accounts);
    const team = { teamId: 'team_1', name: 'kin', createdAt: 1 };
    await accounts.createTeam({ team, owner: { teamId: 'team_1', userId, email: '', role: 'owner', addedAt: 1 } });
    await accounts.changeInstance({ instanceId: first.credentials.instanceId, change: { accountId: 'team_1' } });
  });
  assert.deepEqual(owners((await start(directory, file)).instances), ['team_1']);
  await rm(credentialsFile(directory));
  assert.deepEqual(owners((await start(directory, file)).instances), ['team_1']);
});

test('a start that ended before it stored its credentials is completed by the next one', async (t) => {
  const directory = await temporaryDirectory(t);
  const file = join(directory, 'a.db');
  const user = { userId: 'usr_1', email: 'admin@localhost', createdAt: 1 };
  const apiKey = { apiKeyId: 'key_1', userId: 'usr_1', name: 'first', keyHash: 'ab', createdAt: 1 };
  await withAccounts(file, (accounts) => accounts.createUser({ user, apiKey }));
  const { kind, users, instances, credentials } = await start(directory, file);
  assert.equal(kind, 'first');
  assert.deepEqual(users, [user]);
  assert.deepEqual(owners(instances), ['usr_1']);
  assert.ok(await isValidKey(file, credentials));
});

test('credentials of another store in the data directory are moved aside', async (t) => {
  const directory = await temporaryDirectory(t);
  const first = await start(directory, join(directory, 'a.db'));
  const second = await start(directory, join(directory, 'b.db'));
  assert.equal(second.kind, 'first');
  assert.notEqual(second.credentials.instanceId, first.credentials.instanceId);
  assert.ok(second.setAsidePath);
  assert.deepEqual(JSON.parse(await readFile(second.setAsidePath, 'utf8')), first.credentials);
});

test('the first user has the configured email in lower case', async (t) => {
  const directory = await temporaryDirectory(t);
  const { credentials } = await start(directory, join(directory, 'a.db'), 'Me@example.com');
  assert.equal(credentials.adminEmail, 'me@example.com');
});

test('the env file replaces an existing file and is private', async (t) => {
  const directory = await temporaryDirectory(t);
  const path = join(directory, 'new', 'everstep.env');
  await mkdir(join(directory, 'new'));
  await writeFile(path, 'OLD=1\n', { mode: 0o644 });
  await writeEnvFile(path, {
    instanceId: 'qi_1',
    region: 'eu-central-1',
    token: 't.o.k',
    readOnlyToken: 'r.o.t',
    currentSigningKey: 'sig_1',
    nextSigningKey: 'sig_2',
    adminEmail: 'admin@localhost',
    adminApiKey: 'ek_1',
    url: 'http://127.0.0.1:1',
    managementUrl: 'http://127.0.0.1:1',
  });
  assert.equal(
    await readFile(path, 'utf8'),
    [
      'EVERSTEP_URL=http://127.0.0.1:1',
      'EVERSTEP_MANAGEMENT_URL=http://127.0.0.1:1',
      'EVERSTEP_TOKEN=t.o.k',
      'EVERSTEP_READONLY_TOKEN=r.o.t',
      'EVERSTEP_CURRENT_SIGNING_KEY=sig_1',
      'EVERSTEP_NEXT_SIGNING_KEY=sig_2',
      'EVERSTEP_ADMIN_EMAIL=admin@localhost',
      'EVERSTEP_ADMIN_API_KEY=ek_1',
      'QSTASH_URL=http://127.0.0.1:1',
      `QSTASH_TOKEN=${Buffer.from('{"UserID":"qi_1","Password":"t.o.k"}').toString('base64')}`,
      'QSTASH_CURRENT_SIGNING_KEY=sig_1',
      'QSTASH_NEXT_SIGNING_KEY=sig_2',
      '',
    ].join('\n'),
  );
  assert.equal(await permissions(path), 0o600);
  assert.deepEqual(await readdir(join(directory, 'new')), ['everstep.env']);
});
