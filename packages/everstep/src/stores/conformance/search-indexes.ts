import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { SearchIndexRecord } from '../../ports/search-store.js';
import { type OpenStore, withStore } from './harness.js';
import { T0 } from './samples.js';

const index = (indexId: string, accountId: string): SearchIndexRecord => ({
  indexId,
  accountId,
  name: `name of ${indexId}`,
  region: 'eu-central-1',
  type: 'payg',
  createdAt: T0,
  tokenNumber: 1,
});

export function searchIndexConformance(open: OpenStore): void {
  describe('records of search indexes', () => {
    test(
      'they are found by id and listed by account, in the order of their creation, also after a restart',
      withStore(open, async ({ searchIndexes }, { reopen }) => {
        for (const [id, account] of [
          ['idx_b', 'usr_1'],
          ['idx_a', 'team_1'],
          ['idx_c', 'usr_2'],
        ] as const)
          await searchIndexes.create(index(id, account));
        await assert.rejects(searchIndexes.create(index('idx_a', 'usr_2')));
        const again = (await reopen()).searchIndexes;
        assert.deepEqual(await again.find({ indexId: 'idx_a' }), index('idx_a', 'team_1'));
        assert.equal(await again.find({ indexId: 'idx_none' }), null);
        assert.deepEqual(await again.list({ accountIds: ['team_1', 'usr_1'] }), [
          index('idx_b', 'usr_1'),
          index('idx_a', 'team_1'),
        ]);
        assert.deepEqual(await again.list({ accountIds: [] }), []);
        assert.deepEqual(await again.listIds(), ['idx_b', 'idx_a', 'idx_c']);
      }),
    );

    test(
      'what is changed is changed, and nothing else',
      withStore(open, async ({ searchIndexes }) => {
        await searchIndexes.create(index('idx_a', 'usr_1'));
        const [indexId, before] = ['idx_a', index('idx_a', 'usr_1')];
        assert.deepEqual(await searchIndexes.change({ indexId, change: { name: 'n' } }), { ...before, name: 'n' });
        assert.deepEqual(await searchIndexes.change({ indexId, change: { accountId: 'team_1', tokenNumber: 2 } }), {
          ...before,
          name: 'n',
          accountId: 'team_1',
          tokenNumber: 2,
        });
        assert.equal(await searchIndexes.change({ indexId: 'idx_none', change: { name: 'n' } }), null);
      }),
    );

    test(
      'a deleted index is found by nobody, and is known as long as its documents may be there',
      withStore(open, async ({ searchIndexes }, { reopen }) => {
        await searchIndexes.create(index('idx_a', 'usr_1'));
        const query = { indexId: 'idx_a' };
        await searchIndexes.forget(query);
        assert.notEqual(await searchIndexes.find(query), null, 'one that is not deleted is not forgotten');
        assert.equal(await searchIndexes.markDeleted(query), true);
        assert.equal(await searchIndexes.markDeleted(query), false);
        const again = (await reopen()).searchIndexes;
        assert.equal(await again.find(query), null);
        assert.equal(await again.change({ ...query, change: { name: 'n' } }), null);
        assert.deepEqual(await again.list({ accountIds: ['usr_1'] }), []);
        assert.deepEqual(await again.listIds(), []);
        assert.deepEqual(await again.deleted(), ['idx_a']);
        await again.forget(query);
        assert.deepEqual(await again.deleted(), []);
      }),
    );

    test(
      'a team that owns a search index is not deleted',
      withStore(open, async ({ accounts, searchIndexes }) => {
        const owner = { userId: 'usr_1', email: 'a@example.com' };
        const apiKey = { apiKeyId: 'key_1', userId: 'usr_1', name: 'k', keyHash: 'ab', createdAt: T0 };
        await accounts.createUser({ user: { ...owner, createdAt: T0 }, apiKey });
        const team = { teamId: 'team_1', name: 'crew', createdAt: T0 };
        await accounts.createTeam({ team, owner: { ...owner, teamId: 'team_1', role: 'owner', addedAt: T0 } });
        await searchIndexes.create(index('idx_a', 'team_1'));
        assert.equal(await accounts.deleteTeam({ teamId: 'team_1' }), 'owns-something');
        await searchIndexes.markDeleted({ indexId: 'idx_a' });
        assert.equal(await accounts.deleteTeam({ teamId: 'team_1' }), 'deleted');
      }),
    );
  });
}
