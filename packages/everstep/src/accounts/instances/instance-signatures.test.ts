/** Tests the signature settings of instances with one and with several processes. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { LIMITS } from '../../config/limits.js';
import { openSqliteStore } from '../../stores/sqlite/index.js';
import type { CacheCoordinator } from '../cache-coordinator.js';
import { createAuthority } from '../tokens/authority.js';

const NOW = 1_700_000_000_000;
const ID = 'qi_1';
const BY = { actor: 'token tok', address: '192.0.2.7' };
const [APP, CUSTOMER] = ['https://app.test', 'https://customer.test'];

async function open(t: TestContext) {
  const store = await openSqliteStore({ file: ':memory:' });
  t.after(() => store.close());
  const { accounts } = store;
  const user = { userId: 'usr_ann', email: 'ann@example.com', createdAt: NOW };
  const apiKey = { apiKeyId: 'key_ann', userId: 'usr_ann', name: 'ann', keyHash: 'x', createdAt: NOW };
  await accounts.createUser({ user, apiKey });
  const keys = { currentSigningKey: 'sig_current', nextSigningKey: 'sig_next' };
  await accounts.createInstance({
    instanceId: ID,
    region: 'eu-central-1',
    name: 'a',
    createdAt: NOW,
    accountId: 'usr_ann',
    ...keys,
  });
  const authority = (cacheCoordinator?: CacheCoordinator) =>
    createAuthority({ store, now: () => NOW, ...(cacheCoordinator ? { cacheCoordinator } : {}) });
  return { store, accounts, authority };
}

test('from the first step on, messages to other origins are signed with the message key, which rotates', async (t) => {
  const { authority } = await open(t);
  const one = await authority();
  assert.equal(one.messageKeyFor(ID, CUSTOMER), null);
  await one.recordWorkflowOrigin(ID, APP);
  const { messageKeys, workflowOrigins } = (await one.signatureSettings(ID)) ?? {};
  assert.deepEqual(workflowOrigins, [APP]);
  assert.equal(one.messageKeyFor(ID, APP), null);
  assert.equal(one.messageKeyFor(ID, CUSTOMER), messageKeys?.current);
  await one.rotateSigningKeys(ID);
  assert.equal(one.messageKeyFor(ID, CUSTOMER), messageKeys?.next);
  await one.changeSignatureSettings(ID, { origins: [CUSTOMER] }, BY);
  assert.equal(one.messageKeyFor(ID, CUSTOMER), null);
  assert.equal((await authority()).messageKeyFor(ID, CUSTOMER), null, 'also after a restart');
});

test('an origin is written once, whatever the number of steps, and the number of origins is limited', async (t) => {
  const { accounts, store } = await open(t);
  let writes = 0;
  const counting = {
    ...accounts,
    addWorkflowOrigin: (query: Parameters<typeof accounts.addWorkflowOrigin>[0]) => {
      writes++;
      return accounts.addWorkflowOrigin(query);
    },
  };
  const one = await createAuthority({ store: { ...store, accounts: counting }, now: () => NOW });
  await Promise.all(Array.from({ length: 20 }, () => one.recordWorkflowOrigin(ID, APP)));
  assert.deepEqual([writes, one.recordWorkflowOrigin(ID, APP)], [1, null]);
  for (let n = 1; n < LIMITS.maxWorkflowOrigins; n++) await one.recordWorkflowOrigin(ID, `https://${n}.test`);
  assert.equal(one.recordWorkflowOrigin(ID, 'https://one-more.test'), null);
  assert.equal(writes, LIMITS.maxWorkflowOrigins);
});

test('concurrent changes are all kept', async (t) => {
  const { authority } = await open(t);
  const one = await authority();
  await Promise.all([
    one.rotateSigningKeys(ID),
    one.recordWorkflowOrigin(ID, APP),
    one.changeSignatureSettings(ID, { ed25519: true }, BY),
    one.recordWorkflowOrigin(ID, CUSTOMER),
    one.changeSignatureSettings(ID, { origins: [] }, BY),
  ]);
  const settings = await one.signatureSettings(ID);
  assert.deepEqual([settings?.origins, [...(settings?.workflowOrigins ?? [])].sort()], [[], [APP, CUSTOMER]]);
  assert.equal(one.privateKey(ID)?.kid, settings?.publicKeys?.current.kid);
  assert.equal(one.signingKeys(ID).current, 'sig_next');
  assert.deepEqual(await (await authority()).signatureSettings(ID), settings);
});

test('concurrent rotations follow each other, so each returned next key becomes the current key', async (t) => {
  const { authority } = await open(t);
  const one = await authority();
  const [first, second] = await Promise.all([one.rotateSigningKeys(ID), one.rotateSigningKeys(ID)]);
  assert.deepEqual([first.current, second.current], ['sig_next', first.next]);
  assert.deepEqual(one.signingKeys(ID), second);

  const change = () => one.changeSignatureSettings(ID, { ed25519: true }, BY);
  const [made, repeated] = await Promise.all([change(), change()]);
  assert.deepEqual(repeated.publicKeys, made.publicKeys);
  const [third, fourth] = await Promise.all([one.rotateKeyPairs(ID, BY), one.rotateKeyPairs(ID, BY)]);
  assert.deepEqual(third?.publicKeys?.current, made.publicKeys?.next);
  assert.deepEqual(fourth?.publicKeys?.current, third?.publicKeys?.next);
});

test('a key pair is created once, rotated and deleted, and other instances have none', async (t) => {
  const { authority } = await open(t);
  const one = await authority();
  assert.deepEqual([one.privateKey(ID), await one.rotateKeyPairs(ID, BY)], [null, null]);
  const made = await one.changeSignatureSettings(ID, { ed25519: true }, BY);
  assert.deepEqual(await one.changeSignatureSettings(ID, { ed25519: true }, BY), made);
  assert.equal(one.privateKey(ID)?.kid, made.publicKeys?.current.kid);
  await one.rotateKeyPairs(ID, BY);
  assert.equal(one.privateKey(ID)?.kid, made.publicKeys?.next.kid);
  await one.changeSignatureSettings(ID, { ed25519: false }, BY);
  assert.equal(one.privateKey(ID), null);
  assert.equal(await one.signatureSettings('qi_none'), null);
  await assert.rejects(one.changeSignatureSettings('qi_none', { ed25519: true }, BY), /queue instance qi_none does not exist/);
});

test('another process learns of a workflow origin through a notification, or after a few seconds', async (t) => {
  const { authority } = await open(t);
  let elapsed = 0;
  const changed: string[] = [];
  const cacheCoordinator = { elapsedMs: () => elapsed, notifyChanged: (instanceId: string) => void changed.push(instanceId) };
  const [one, two] = [await authority(cacheCoordinator), await authority(cacheCoordinator)];
  await one.recordWorkflowOrigin(ID, APP);
  assert.deepEqual(changed, [ID]);
  assert.equal(two.messageKeyFor(ID, CUSTOMER), null);
  await two.forget(ID);
  assert.notEqual(two.messageKeyFor(ID, CUSTOMER), null);
  await one.changeSignatureSettings(ID, { origins: [CUSTOMER] }, BY);
  elapsed += 3_000;
  assert.notEqual(two.messageKeyFor(ID, CUSTOMER), null);
  await new Promise<void>((resolve) => setImmediate(resolve));
  assert.equal(two.messageKeyFor(ID, CUSTOMER), null);
});

test('changes are in the audit log, without keys', async (t) => {
  const { authority, accounts } = await open(t);
  const one = await authority();
  await one.changeSignatureSettings(ID, { origins: [APP, '*'], ed25519: true }, BY);
  await one.rotateKeyPairs(ID, BY);
  await one.changeSignatureSettings(ID, { origins: null, ed25519: false }, BY);
  const entries = await accounts.listAudit({ accountIds: ['usr_ann'], after: null, limit: 10 });
  assert.deepEqual(
    entries.map(({ actor, address, action, subject, details }) => [actor, address, action, subject, details]),
    [
      ['token tok', '192.0.2.7', 'queue.change-signatures', ID, { origins: null, ed25519: false }],
      ['token tok', '192.0.2.7', 'queue.rotate-key-pairs', ID, {}],
      ['token tok', '192.0.2.7', 'queue.change-signatures', ID, { origins: `${APP} *`, ed25519: true }],
    ],
  );
});
