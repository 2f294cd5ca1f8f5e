import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { createAuthority } from '../accounts/authority.js';
import { createSystemClock } from '../clock/system-clock.js';
import { createSystemRandom } from '../clock/system-random.js';
import { openSqliteStore } from '../stores/sqlite/index.js';
import { credentialsFile, readCredentials } from './credentials.js';
import { writeEnvFile } from './env-file.js';
import { hashOfApiKey, startAccounts } from './first-start.js';

async function temporaryDirectory(t: TestContext): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'everstep-first-'));
  t.after(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

/** One start of the service on `file`, up to the accounts. */
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
      tokens: await accounts.listTokens({ instanceId }),
      access: [await authority.verify(token, 'eu-central-1'), await authority.verify(readOnlyToken, 'eu-central-1')],
    };
  } finally {
    await store.close();
  }
}

const permissions = async (path: string): Promise<number> => (await stat(path)).mode & 0o777;

test('the first start makes a user, a queue instance and working tokens, and keeps them for their owner alone', async (t) => {
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
  assert.equal(instances.length, 1);
  assert.equal(tokens.length, 2);
  assert.deepEqual(
    access.map((verdict) => verdict.ok && verdict.caller.access),
    ['read-write', 'read-only'],
  );
  assert.equal(await permissions(credentialsFile(directory)), 0o600);
  assert.deepEqual(await readCredentials(directory), credentials);
});

test('the store keeps no API key in the clear', async (t) => {
  const directory = await temporaryDirectory(t);
  const { credentials } = await start(directory, join(directory, 'a.db'));
  for (const name of (await readdir(directory)).filter((file) => file.startsWith('a.db'))) {
    const content = await readFile(join(directory, name));
    assert.equal(content.includes(credentials.adminApiKey), false, name);
  }
  assert.match(hashOfApiKey(credentials.adminApiKey), /^[0-9a-f]{64}$/);
});

test('later starts find the same credentials', async (t) => {
  const directory = await temporaryDirectory(t);
  const file = join(directory, 'a.db');
  const first = await start(directory, file);
  const second = await start(directory, file);
  assert.equal(second.kind, 'known');
  assert.deepEqual(second.credentials, first.credentials);
  assert.deepEqual([second.users.length, second.instances.length, second.tokens.length], [1, 1, 2]);
});

for (const [name, spoil] of [
  ['lost', (path: string) => rm(path)],
  ['unreadable', (path: string) => writeFile(path, '{"instanceId": 3')],
] as const) {
  test(`when the credentials are ${name}, new ones are made for the queue instance that is there`, async (t) => {
    const directory = await temporaryDirectory(t);
    const file = join(directory, 'a.db');
    const first = await start(directory, file);
    await spoil(credentialsFile(directory));
    const second = await start(directory, file);
    assert.equal(second.kind, 'reissued');
    assert.equal(second.credentials.instanceId, first.credentials.instanceId);
    assert.equal(second.credentials.currentSigningKey, first.credentials.currentSigningKey);
    assert.notEqual(second.credentials.adminEmail, first.credentials.adminEmail);
    assert.equal(second.instances.length, 1);
    assert.ok(second.access.every(({ ok }) => ok));
  });
}

test('credentials of another store in the data directory are put aside, not lost', async (t) => {
  const directory = await temporaryDirectory(t);
  const first = await start(directory, join(directory, 'a.db'));
  const second = await start(directory, join(directory, 'b.db'));
  assert.equal(second.kind, 'first');
  assert.notEqual(second.credentials.instanceId, first.credentials.instanceId);
  assert.ok(second.setAside);
  assert.deepEqual(JSON.parse(await readFile(second.setAside, 'utf8')), first.credentials);
});

test('the first user has the e-mail that was asked for', async (t) => {
  const directory = await temporaryDirectory(t);
  const { credentials } = await start(directory, join(directory, 'a.db'), 'me@example.com');
  assert.equal(credentials.adminEmail, 'me@example.com');
});

test('the env file replaces what was there, for its owner alone', async (t) => {
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
      '',
    ].join('\n'),
  );
  assert.equal(await permissions(path), 0o600);
  assert.deepEqual(await readdir(join(directory, 'new')), ['everstep.env']);
});
