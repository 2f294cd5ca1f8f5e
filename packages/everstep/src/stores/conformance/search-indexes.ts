import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { AuditEntry } from '../../ports/stores/account-store.js';
import type { SearchIndexRecord } from '../../ports/stores/search-store.js';
import type { Store } from '../../ports/stores/store.js';
import { addTeam, addUsers, sampleAudit } from './accounts/account-samples.js';
import { type OpenStore, withStore } from './harness.js';
import { T0 } from './samples.js';

const index = (indexId: string, accountId: string): SearchIndexRecord => ({
  indexId,
  accountId,
  name: `name of ${indexId}`,
  region: 'eu-central-1',
  type: 'payg',
  createdAt: T0,
  derivedNumber: 1,
  tokenHashes: { readWrite: `rw ${indexId}`, readOnly: `ro ${indexId}` },
});

/** Returns a test function that calls `body` with a store that has two users, and a team that the first one owns. */
const withPeople = (open: OpenStore, body: Parameters<typeof withStore>[1]): (() => Promise<void>) =>
  withStore(open, async (store, underTest) => {
    await addUsers(store.accounts, 'ann', 'ben');
    await addTeam(store.accounts, 'kin', 'ann');
    await body(store, underTest);
  });

type Change = (store: Store, audit: AuditEntry) => Promise<unknown>;

const CHANGES: readonly (readonly [name: string, change: Change])[] = [
  ['a new index', ({ searchIndexes }, audit) => searchIndexes.create(index('idx_new', 'usr_ann'), audit)],
  ['a changed index', ({ searchIndexes }, audit) => searchIndexes.change({ indexId: 'idx_a', change: { name: 'n' }, audit })],
  ['a deleted index', ({ searchIndexes }, audit) => searchIndexes.markDeleted({ indexId: 'idx_a', audit })],
];

export function searchIndexConformance(open: OpenStore): void {
  describe('records of search indexes', () => {
    test(
      'they are found by id and listed by account, in the order of their creation, even after a restart',
      withPeople(open, async ({ searchIndexes }, { reopen }) => {
        for (const [id, account] of [
          ['idx_b', 'usr_ann'],
          ['idx_a', 'team_kin'],
          ['idx_c', 'usr_ben'],
        ] as const)
          await searchIndexes.create(index(id, account));
        await assert.rejects(searchIndexes.create(index('idx_a', 'usr_ben')));
        const reopened = (await reopen()).searchIndexes;
        assert.deepEqual(await reopened.find({ indexId: 'idx_a' }), index('idx_a', 'team_kin'));
        assert.equal(await reopened.find({ indexId: 'idx_none' }), null);
        assert.deepEqual(await reopened.list({ accountIds: ['team_kin', 'usr_ann'] }), [
          index('idx_b', 'usr_ann'),
          index('idx_a', 'team_kin'),
        ]);
        assert.deepEqual(await reopened.list({ accountIds: [] }), []);
        assert.deepEqual(await reopened.listIds(), ['idx_b', 'idx_a', 'idx_c']);
      }),
    );

    test(
      'only the changed values change',
      withPeople(open, async ({ searchIndexes }) => {
        await searchIndexes.create(index('idx_a', 'usr_ann'));
        const [indexId, indexesBefore] = ['idx_a', index('idx_a', 'usr_ann')];
        const tokenHashes = { readWrite: 'new rw', readOnly: 'new ro' };
        assert.deepEqual(await searchIndexes.change({ indexId, change: { name: 'n' } }), { ...indexesBefore, name: 'n' });
        assert.deepEqual(await searchIndexes.change({ indexId, change: { accountId: 'team_kin', tokenHashes } }), {
          ...indexesBefore,
          name: 'n',
          accountId: 'team_kin',
          tokenHashes,
        });
        assert.equal(await searchIndexes.change({ indexId: 'idx_none', change: { name: 'n' } }), null);
      }),
    );

    test(
      'hashes of derived tokens are stored for an index that has none',
      withPeople(open, async ({ searchIndexes }) => {
        const { tokenHashes, ...derivedIndex } = index('idx_a', 'usr_ann');
        const hashes = { readWrite: 'derived rw', readOnly: 'derived ro' };
        await searchIndexes.create(derivedIndex);
        assert.deepEqual(await searchIndexes.find(derivedIndex), derivedIndex);
        await searchIndexes.hashDerivedTokens({ indexId: 'idx_a', hashes });
        assert.deepEqual((await searchIndexes.find(derivedIndex))?.tokenHashes, hashes);
        await searchIndexes.change({ indexId: 'idx_a', change: tokenHashes ? { tokenHashes } : {} });
        await searchIndexes.hashDerivedTokens({ indexId: 'idx_a', hashes });
        assert.deepEqual((await searchIndexes.find(derivedIndex))?.tokenHashes, tokenHashes);
      }),
    );

    test(
      'a deleted index is not found, and is known as long as its documents may exist',
      withPeople(open, async ({ searchIndexes }, { reopen }) => {
        await searchIndexes.create(index('idx_a', 'usr_ann'));
        const query = { indexId: 'idx_a' };
        await searchIndexes.forget(query);
        assert.notEqual(await searchIndexes.find(query), null, 'an index that is not deleted is not forgotten');
        assert.equal(await searchIndexes.markDeleted(query), true);
        assert.equal(await searchIndexes.markDeleted(query), false);
        const reopened = (await reopen()).searchIndexes;
        assert.equal(await reopened.find(query), null);
        assert.equal(await reopened.change({ ...query, change: { name: 'n' } }), null);
        assert.deepEqual(await reopened.list({ accountIds: ['usr_ann'] }), []);
        assert.deepEqual(await reopened.listIds(), []);
        assert.deepEqual(await reopened.listDeletedIds(), ['idx_a']);
        await reopened.forget(query);
        assert.deepEqual(await reopened.listDeletedIds(), []);
      }),
    );

    test(
      'a team that owns a search index is not deleted',
      withPeople(open, async ({ accounts, searchIndexes }) => {
        await searchIndexes.create(index('idx_a', 'team_kin'));
        assert.equal(await accounts.deleteTeam({ teamId: 'team_kin' }), 'owns-resources');
        await searchIndexes.markDeleted({ indexId: 'idx_a' });
        assert.equal(await accounts.deleteTeam({ teamId: 'team_kin' }), 'deleted');
      }),
    );

    for (const [name, change] of CHANGES) {
      test(
        `the audit log records ${name} if and only if the change happened`,
        withPeople(open, async (store, { reopen }) => {
          await store.searchIndexes.create(index('idx_a', 'usr_ann'), sampleAudit(0, ['acc']));
          const listAll = async ({ searchIndexes }: Store) => searchIndexes.list({ accountIds: ['usr_ann'] });
          const indexesBefore = await listAll(store);
          // An entry that cannot be written rolls back the change.
          await assert.rejects(change(store, sampleAudit(0, ['acc'])));
          assert.deepEqual(await listAll(store), indexesBefore);
          await change(store, sampleAudit(1, ['acc']));
          const reopened = await reopen();
          assert.notDeepEqual(await listAll(reopened), indexesBefore);
          const entries = await reopened.accounts.listAudit({ accountIds: ['acc'], after: null, limit: 9 });
          assert.deepEqual(
            entries.map(({ auditId }) => auditId),
            ['aud_1', 'aud_0'],
          );
        }),
      );
    }

    test(
      'the audit log records nothing for an index that does not exist',
      withPeople(open, async ({ accounts, searchIndexes }) => {
        const [indexId, audit] = ['idx_none', sampleAudit(1, ['acc'])];
        assert.equal(await searchIndexes.change({ indexId, change: { name: 'n' }, audit }), null);
        assert.equal(await searchIndexes.markDeleted({ indexId, audit }), false);
        assert.deepEqual(await accounts.listAudit({ accountIds: ['acc'], after: null, limit: 9 }), []);
      }),
    );

    test(
      'no index is given to an account that does not exist, or no longer exists',
      withPeople(open, async ({ accounts, searchIndexes }) => {
        await searchIndexes.create(index('idx_a', 'usr_ann'));
        assert.equal(await accounts.deleteTeam({ teamId: 'team_kin' }), 'deleted');
        await assert.rejects(searchIndexes.create(index('idx_b', 'team_kin'), sampleAudit(1, ['acc'])), /no account team_kin/);
        await assert.rejects(searchIndexes.change({ indexId: 'idx_a', change: { accountId: 'team_kin' } }), /no account/);
        assert.deepEqual(await searchIndexes.listIds(), ['idx_a']);
        assert.deepEqual(await accounts.listAudit({ accountIds: ['acc'], after: null, limit: 9 }), []);
      }),
    );
  });
}
