import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { createPeople, doneValue, type Person } from '../accounts/people.fixture.js';
import { BUILT_IN_PLANS } from '../accounts/plans/plans.js';
import { createAccountService } from '../accounts/service.js';
import { createAuthority } from '../accounts/tokens/authority.js';
import { createSystemRandom } from '../clock/system-random.js';
import type { SearchDocuments } from '../ports/stores/search-store.js';
import { openSqliteStore } from '../stores/sqlite/index.js';
import { openSearchDocuments } from '../stores/sqlite/search/index.js';
import { endDerivedTokens, SEARCH_TOKEN_KEY } from './search-tokens.js';
import { createSearchService } from './service.js';

const NOW = 1_700_000_000_000;
const random = createSystemRandom();
const now = () => NOW;

async function openHarness(t: TestContext, directory: string | null = null) {
  const errors: string[] = [];
  const log = { debug() {}, info() {}, warn() {}, error: (_details: object, message: string) => errors.push(message) };
  const store = await openSqliteStore({ file: ':memory:' });
  const { accounts } = store;
  const authority = await createAuthority({ store, now });
  const service = createAccountService({ accounts, authority, now, random, plans: BUILT_IN_PLANS, onInstanceChanged: () => {} });
  const people = await createPeople(accounts, service);
  const documents = openSearchDocuments({ directory });
  const publicUrl = () => 'http://everstep.test';
  const serviceOn = (used: SearchDocuments) =>
    createSearchService({ accounts, indexes: store.searchIndexes, documents: used, now, random, log, publicUrl });
  const search = serviceOn(documents);
  t.after(async () => {
    await search.stop();
    await documents.close();
    await store.close();
  });
  const as = (person: Person) => people.principals[person];
  const create = async (person: Person, teamId?: string) =>
    doneValue(
      await search.create(as(person), { name: 'films', region: 'eu-central-1', type: 'payg', ...(teamId ? { teamId } : {}) }),
    );
  return { store, accounts, service, people, documents, search, serviceOn, as, create, errors };
}

test('an index is shown with its endpoint, and with tokens only when they are created', async (t) => {
  const { store, search, people, as, create } = await openHarness(t);
  const made = await create('owner', people.teamId);
  const { indexId } = made.index;
  assert.equal(made.endpoint, `http://everstep.test/search/${indexId}`);
  assert.match(made.token ?? '', /^srw_[\w-]{43}$/);
  assert.match(made.readOnlyToken ?? '', /^sro_[\w-]{43}$/);
  const { token, readOnlyToken, ...shown } = made;
  assert.deepEqual(doneValue(await search.find(as('dev'), indexId)), shown);
  assert.deepEqual(await search.list(as('admin')), [shown]);
  assert.deepEqual([shown.access, doneValue(await search.find(as('finance'), indexId)).access], ['read-write', 'read-only']);
  assert.ok(!JSON.stringify(await store.searchIndexes.find({ indexId })).includes(token.slice(4)), 'the store contains hashes');
  const caller = { indexId, accountId: people.teamId, access: 'read-only' };
  assert.deepEqual(await search.admit({ indexId, token: readOnlyToken }), caller);
  assert.equal((await search.find(as('stranger'), indexId)).kind, 'not-found');
  assert.deepEqual(await search.list(as('stranger')), []);
});

test('a transfer requires a team in which the user may make changes, and personal accounts are refused', async (t) => {
  const { search, people, as, create } = await openHarness(t);
  const { index, token } = await create('owner');
  const { indexId } = index;
  const transfer = (person: Person, accountId: string) => search.transfer(as(person), { indexId, accountId });
  for (const accountId of ['usr_owner', 'usr_stranger', 'usr_of_nobody'])
    assert.equal((await transfer('owner', accountId)).kind, 'invalid', accountId);
  assert.equal((await transfer('owner', people.otherTeamId)).kind, 'not-found');
  assert.equal((await transfer('owner', 'team_none')).kind, 'not-found');
  assert.equal((await transfer('admin', people.teamId)).kind, 'not-found', 'not a team member yet');
  assert.equal((await transfer('owner', people.teamId)).kind, 'done');
  assert.equal((await transfer('dev', people.teamId)).kind, 'forbidden');
  assert.equal((await transfer('owner', people.teamId)).kind, 'done', 'it is already there');
  const seen = doneValue(await search.find(as('dev'), indexId));
  assert.equal(seen.index.accountId, people.teamId);
  assert.equal((await search.admit({ indexId, token }))?.access, 'read-write', 'its tokens stay valid');
});

test('tokens derived by an earlier version are valid until replaced, even after their key is deleted', async (t) => {
  const { store, search, as, accounts } = await openHarness(t);
  const { searchIndexes } = store;
  const [indexId, key] = ['idx_old', 'k'.repeat(43)];
  await accounts.findOrCreateSecret({ name: SEARCH_TOKEN_KEY, value: key });
  const identity = { indexId, accountId: 'usr_owner', name: 'films', region: 'eu-central-1', type: 'payg' } as const;
  await searchIndexes.create({ ...identity, createdAt: 1, derivedNumber: 3 });
  const derived = (number: number) =>
    `srw_${createHmac('sha256', key).update(`${indexId} ${number} read-write`).digest('base64url')}`;
  const admitted = async (token: string) => (await search.admit({ indexId, token }))?.access;
  assert.deepEqual([await admitted(derived(3)), await admitted(derived(4))], ['read-write', undefined]);
  await endDerivedTokens(accounts, searchIndexes);
  assert.equal(await accounts.findSecret({ name: SEARCH_TOKEN_KEY }), null);
  assert.deepEqual([await admitted(derived(3)), await admitted(derived(4))], ['read-write', undefined]);
  const { token } = doneValue(await search.resetPassword(as('owner'), indexId));
  assert.deepEqual(
    [await admitted(token), await admitted(derived(3)), await admitted(derived(4))],
    ['read-write', undefined, undefined],
  );
});

test('every change is in the audit log of its accounts, without secrets', async (t) => {
  const { search, service, people, as, create } = await openHarness(t);
  const { index, token } = await create('owner');
  const { indexId } = index;
  doneValue(await search.rename(as('owner'), { indexId, name: 'movies' }));
  doneValue(await search.transfer(as('owner'), { indexId, accountId: people.teamId }));
  const { token: newToken } = doneValue(await search.resetPassword(as('admin'), indexId));
  doneValue(await search.remove(as('admin'), indexId));
  const entries = (await service.auditLog(as('owner'), { after: null, limit: 100 })).filter(({ subject }) => subject === indexId);
  assert.deepEqual(
    entries.map(({ action, actor, details }) => [action, actor, details]),
    [
      ['search.delete', 'admin@w.test', { name: 'movies' }],
      ['search.reset-password', 'admin@w.test', {}],
      ['search.transfer', 'owner@w.test', { from: 'usr_owner', to: people.teamId }],
      ['search.rename', 'owner@w.test', { from: 'films', to: 'movies' }],
      ['search.create', 'owner@w.test', { name: 'films', region: 'eu-central-1', type: 'payg' }],
    ],
  );
  const auditedChange = JSON.stringify(entries);
  for (const secret of [token, newToken]) assert.ok(secret && !auditedChange.includes(secret));
  assert.equal(
    (await service.auditLog(as('stranger'), { after: null, limit: 100 })).some(({ subject }) => subject === indexId),
    false,
  );
});

test('remaining data of a deleted index is removed at the next start', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'everstep-search-'));
  t.after(() => rm(directory, { recursive: true }));
  const { search, serviceOn, store, documents, as, create, errors } = await openHarness(t, directory);
  const { index } = await create('owner');
  const { indexId } = index;
  await documents.upsert({ indexId, namespace: 'n', documents: [{ id: 'a', content: '{"a":"word"}', metadata: null }] });
  const broken = serviceOn({ ...documents, drop: () => Promise.reject(new Error('no disk')) });
  doneValue(await broken.remove(as('owner'), indexId));
  await broken.stop();
  assert.deepEqual(errors, ['could not remove the data of a deleted search index, retrying at the next start']);
  assert.equal((await search.find(as('owner'), indexId)).kind, 'not-found');
  assert.equal((await readdir(directory)).length > 0, true);
  search.start();
  await search.stop();
  assert.deepEqual(await store.searchIndexes.listDeletedIds(), [indexId], 'a stopped server does not start a removal');
  const next = serviceOn(documents);
  next.start();
  while ((await store.searchIndexes.listDeletedIds()).length > 0) await new Promise((resolve) => setImmediate(resolve));
  await next.stop();
  assert.deepEqual(await readdir(directory), []);
});

test('stats count documents, namespaces and bytes of the indexes that the user can see', async (t) => {
  const { search, documents, as, create } = await openHarness(t);
  const { index } = await create('owner');
  const { indexId } = index;
  await create('stranger');
  for (const namespace of ['a', 'b'])
    await documents.upsert({ indexId, namespace, documents: [{ id: 'a', content: '{"a":"word"}', metadata: null }] });
  const stats = doneValue(await search.statsOf(as('owner'), indexId));
  assert.deepEqual(stats.namespaces, [
    { name: 'a', documents: 1 },
    { name: 'b', documents: 1 },
  ]);
  assert.ok(stats.diskBytes > 0);
  assert.deepEqual(await search.stats(as('owner')), [stats]);
  assert.equal((await search.statsOf(as('stranger'), indexId)).kind, 'not-found');
});

test('an index created while its team is being deleted is either created with the team or not at all', async (t) => {
  const { search, service, people, store, as, create } = await openHarness(t);
  const { index: moved } = await create('owner');
  const request = { name: 'films', region: 'eu-central-1', type: 'payg' } as const;
  for (let round = 0; round < 6; round++) {
    const { teamId } = doneValue(await service.createTeam(as('owner'), `team ${round}`));
    const makes = [
      () => search.create(as('owner'), { ...request, teamId }),
      () => search.transfer(as('owner'), { indexId: moved.indexId, accountId: teamId }),
    ];
    const make = makes[round % 2] ?? assert.fail();
    const remove = () => service.deleteTeam(as('owner'), teamId);
    const [first, second] = await Promise.all(round < 3 ? [make(), remove()] : [remove(), make()]);
    assert.deepEqual([first?.kind, second?.kind], ['done', round < 3 ? 'conflict' : 'not-found']);
    if (round < 3 && round % 2 === 1)
      doneValue(await search.transfer(as('owner'), { indexId: moved.indexId, accountId: people.teamId }));
  }
  for (const indexId of await store.searchIndexes.listIds()) {
    const record = await store.searchIndexes.find({ indexId });
    assert.ok(record && (record.accountId.startsWith('usr_') || (await store.accounts.findTeam({ teamId: record.accountId }))));
  }
});
