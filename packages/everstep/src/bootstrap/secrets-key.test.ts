import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { newKeyPairs } from '../accounts/instances/key-pairs.js';
import { parseSecretKeys } from '../config/secret-keys.js';
import type { AccountStore, QueueInstance } from '../ports/stores/account-store.js';
import { sealAccounts, sealStored } from '../secrets/sealed-accounts.js';
import { createSealer, isSealed } from '../secrets/sealed-values.js';
import { openSqliteStore } from '../stores/sqlite/index.js';
import { openSecrets, type SecretsKeySettings, secretsKeyFile } from './secrets-key.js';

const KEY_PAIRS = newKeyPairs();
const INSTANCE: QueueInstance = {
  instanceId: 'qi_1',
  region: 'eu-central-1',
  name: 'one',
  createdAt: 1,
  currentSigningKey: 'sig_current',
  nextSigningKey: 'sig_next',
  keyPairs: KEY_PAIRS,
};

interface Place {
  readonly accounts: AccountStore;
  readonly dataDir: string;
  readonly settings: SecretsKeySettings;
}

async function place(t: TestContext): Promise<Place> {
  const dataDir = await mkdtemp(join(tmpdir(), 'everstep-secrets-'));
  const store = await openSqliteStore({ file: ':memory:' });
  t.after(async () => {
    await store.close();
    await rm(dataDir, { recursive: true });
  });
  const settings = { dataDir, secretsKeys: null, mode: 'serve', store: { kind: 'file', file: ':memory:' } } as const;
  return { accounts: store.accounts, dataDir, settings };
}

const onDatabase = { kind: 'postgres', url: 'postgres://db/everstep' } as const;
const newKeys = () => parseSecretKeys(randomBytes(32).toString('base64'));

/** Returns every secret as it is stored. */
async function stored(accounts: AccountStore): Promise<readonly string[]> {
  const secrets = (await accounts.listSecrets()).map(({ value }) => value);
  const keys = (await accounts.listInstances()).flatMap(({ currentSigningKey, nextSigningKey, keyPairs }) => {
    return [currentSigningKey, nextSigningKey, keyPairs?.current ?? '', keyPairs?.next ?? ''];
  });
  return [...secrets, ...keys];
}

test('the first start of an embedded store creates a private key and encrypts secrets of an earlier version', async (t) => {
  const { accounts, dataDir, settings } = await place(t);
  await accounts.findOrCreateSecret({ name: 'token-signing-key', value: 'plain' });
  await accounts.createInstance(INSTANCE);
  const opened = await openSecrets(accounts, settings);
  assert.equal(opened.areEncrypted, true);
  assert.equal((await stat(secretsKeyFile(dataDir))).mode & 0o777, 0o600);
  assert.ok((await stored(accounts)).every(isSealed));
  assert.equal(await opened.accounts.findOrCreateSecret({ name: 'token-signing-key', value: 'other' }), 'plain');
  assert.deepEqual(await opened.accounts.listInstances(), [INSTANCE]);
  const again = await openSecrets(accounts, settings);
  assert.deepEqual(await again.accounts.findInstance({ instanceId: 'qi_1' }), INSTANCE);
});

test('later secrets are encrypted and read back unchanged', async (t) => {
  const { accounts, settings } = await place(t);
  const sealed = (await openSecrets(accounts, settings)).accounts;
  assert.equal(await sealed.findOrCreateSecret({ name: 'a', value: 'one' }), 'one');
  assert.equal(await sealed.findOrCreateSecret({ name: 'a', value: 'two' }), 'one');
  const { keyPairs: _, ...plain } = INSTANCE;
  await sealed.createInstance(plain);
  await sealed.setSigningKeys({ instanceId: 'qi_1', current: 'sig_next', next: 'sig_new' });
  const changed = await sealed.changeInstance({ instanceId: 'qi_1', change: { keyPairs: KEY_PAIRS } });
  assert.deepEqual(changed, { ...INSTANCE, currentSigningKey: 'sig_next', nextSigningKey: 'sig_new' });
  assert.deepEqual(await sealed.findInstance({ instanceId: 'qi_1' }), changed);
  assert.equal(await sealed.replaceSecret({ name: 'a', from: 'two', to: 'three' }), false);
  assert.equal(await sealed.replaceSecret({ name: 'a', from: 'one', to: 'three' }), true);
  assert.deepEqual(await sealed.listSecrets(), [{ name: 'a', value: 'three' }]);
  assert.ok((await stored(accounts)).every(isSealed));
});

test('an interrupted start is completed by the next one', async (t) => {
  const { accounts, settings } = await place(t);
  const secretsKeys = newKeys();
  for (const name of ['a', 'b']) await accounts.findOrCreateSecret({ name, value: name });
  await accounts.createInstance(INSTANCE);
  let writes = 0;
  const replaceSecret: AccountStore['replaceSecret'] = async (query) => {
    if (++writes > 1) throw new Error('the power failed');
    return accounts.replaceSecret(query);
  };
  await assert.rejects(openSecrets({ ...accounts, replaceSecret }, { ...settings, secretsKeys }), /the power failed/);
  assert.equal((await stored(accounts)).filter(isSealed).length, 1);
  await openSecrets(accounts, { ...settings, secretsKeys });
  assert.ok((await stored(accounts)).every(isSealed));
});

test('several nodes can encrypt at once during a key rotation without losing secrets', async (t) => {
  const { accounts, settings } = await place(t);
  const secretsKeys = newKeys();
  for (const name of ['a', 'b', 'c']) await accounts.findOrCreateSecret({ name, value: name });
  await accounts.createInstance(INSTANCE);
  const rotating = sealAccounts(accounts, createSealer(secretsKeys));
  const nodes = [1, 2, 3].map(() => openSecrets(accounts, { ...settings, store: onDatabase, secretsKeys }));
  await rotating.setSigningKeys({ instanceId: 'qi_1', current: 'sig_next', next: 'sig_new' });
  for (const { accounts: opened } of await Promise.all(nodes)) {
    assert.deepEqual(
      await opened.listSecrets(),
      ['a', 'b', 'c'].map((name) => ({ name, value: name })),
    );
    const found = await opened.findInstance({ instanceId: 'qi_1' });
    assert.deepEqual([found?.currentSigningKey, found?.nextSigningKey], ['sig_next', 'sig_new']);
  }
  assert.ok((await stored(accounts)).every(isSealed));
});

test('a wrong key, a missing key and a damaged key file fail the start and change nothing', async (t) => {
  const { accounts, dataDir, settings } = await place(t);
  const sealed = (await openSecrets(accounts, settings)).accounts;
  await sealed.findOrCreateSecret({ name: 'a', value: 'one' });
  const before = await stored(accounts);
  await assert.rejects(openSecrets(accounts, { ...settings, secretsKeys: newKeys() }), /\(secrets-key-wrong\)$/);
  const kept = await readFile(secretsKeyFile(dataDir), 'utf8');
  await writeFile(secretsKeyFile(dataDir), 'not a key');
  await assert.rejects(openSecrets(accounts, settings), /\(secrets-key-file\)$/);
  await rm(secretsKeyFile(dataDir));
  for (const store of [settings.store, onDatabase])
    await assert.rejects(openSecrets(accounts, { ...settings, store }), /\(secrets-key-missing\)$/);
  await assert.rejects(readFile(secretsKeyFile(dataDir)), /ENOENT/);
  assert.deepEqual(await stored(accounts), before);
  const secretsKeys = parseSecretKeys(kept);
  assert.equal(await (await openSecrets(accounts, { ...settings, secretsKeys })).accounts.findSecret({ name: 'a' }), 'one');
});

test('after a key replacement everything is encrypted with the new key and the earlier key still decrypts', async (t) => {
  const { accounts, settings } = await place(t);
  const [[old], [current]] = [newKeys(), newKeys()];
  await (await openSecrets(accounts, { ...settings, secretsKeys: [old] })).accounts.createInstance(INSTANCE);
  await openSecrets(accounts, { ...settings, secretsKeys: [current, old] });
  const { accounts: opened } = await openSecrets(accounts, { ...settings, secretsKeys: [current] });
  assert.deepEqual(await opened.listInstances(), [INSTANCE]);
  assert.equal(await sealStored(accounts, createSealer([current])), 0);
});

test('serve requires a key for a new database; a database with plain secrets is used with a warning', async (t) => {
  const { accounts, dataDir, settings } = await place(t);
  const database = { ...settings, store: onDatabase };
  await assert.rejects(openSecrets(accounts, database), /\(secrets-key-required\)$/);
  assert.equal((await openSecrets(accounts, { ...database, mode: 'dev' })).areEncrypted, false);
  await accounts.findOrCreateSecret({ name: 'a', value: 'plain' });
  const opened = await openSecrets(accounts, database);
  assert.equal(opened.areEncrypted, false);
  assert.equal(await opened.accounts.findSecret({ name: 'a' }), 'plain');
  await assert.rejects(stat(secretsKeyFile(dataDir)), /ENOENT/);
  await openSecrets(accounts, { ...database, secretsKeys: newKeys() });
  await assert.rejects(opened.accounts.findSecret({ name: 'a' }), /\(secrets-key-missing\)/);
});
