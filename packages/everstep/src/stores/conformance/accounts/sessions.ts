import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { MAX_SESSIONS_PER_USER, type SessionRecord } from '../../../ports/stores/account-store.js';
import { type OpenStore, withStore } from '../harness.js';
import { T0 } from '../samples.js';
import { addUsers, sampleApiKey, sampleAudit, sampleUser } from './account-samples.js';

const sample = (sessionHash: string, name: string, overrides: Partial<SessionRecord> = {}): SessionRecord => ({
  sessionHash,
  userId: `usr_${name}`,
  apiKeyId: `key_${name}`,
  createdAt: T0,
  expiresAt: T0 + 1_000,
  ...overrides,
});

export function sessionConformance(open: OpenStore): void {
  describe('sessions', () => {
    test(
      'are found by their hash with their user, extended and ended, and are kept after a restart',
      withStore(open, async (store, underTest) => {
        await addUsers(store.accounts, 'ann', 'ben');
        const [first, second] = [sample('h1', 'ann'), sample('h2', 'ben')];
        for (const session of [first, second]) assert.equal(await store.accounts.createSession({ session }), true);
        await store.accounts.extendSession({ sessionHash: 'h1', expiresAt: T0 + 5_000 });
        await store.accounts.extendSession({ sessionHash: 'none', expiresAt: T0 + 5_000 });
        const { accounts } = await underTest.reopen();
        const extendedSession = { ...first, expiresAt: T0 + 5_000 };
        assert.deepEqual(await accounts.findSession({ sessionHash: 'h1' }), {
          session: extendedSession,
          user: sampleUser('ann'),
        });
        assert.deepEqual(await accounts.findSession({ sessionHash: 'h2' }), { session: second, user: sampleUser('ben') });
        assert.equal(await accounts.findSession({ sessionHash: 'none' }), null);
        assert.equal(await accounts.deleteSession({ sessionHash: 'h1' }), true);
        assert.equal(await accounts.deleteSession({ sessionHash: 'h1' }), false);
        assert.equal(await accounts.findSession({ sessionHash: 'h1' }), null);
        assert.ok(await accounts.findSession({ sessionHash: 'h2' }));
      }),
    );

    test(
      'are in the audit log when they start and end, and only then',
      withStore(open, async ({ accounts }) => {
        await addUsers(accounts, 'ann');
        const audit = (n: number) => sampleAudit(n, ['usr_ann']);
        await accounts.createSession({ session: sample('h1', 'ann'), audit: audit(1) });
        await accounts.createSession({ session: sample('h2', 'ann', { apiKeyId: 'key_none' }), audit: audit(2) });
        await accounts.deleteSession({ sessionHash: 'h1', audit: audit(3) });
        await accounts.deleteSession({ sessionHash: 'h1', audit: audit(4) });
        const entries = await accounts.listAudit({ accountIds: ['usr_ann'], after: null, limit: 9 });
        assert.deepEqual(
          entries.map(({ auditId }) => auditId),
          ['aud_3', 'aud_1'],
        );
      }),
    );

    test(
      'of a user are listed, the latest first, and ended all at once; those of others stay',
      withStore(open, async ({ accounts }) => {
        await addUsers(accounts, 'ann', 'ben');
        const [older, newer] = [sample('h1', 'ann'), sample('h2', 'ann', { createdAt: T0 + 5 })];
        for (const session of [older, newer, sample('h3', 'ben')]) await accounts.createSession({ session });
        assert.deepEqual(await accounts.listSessions({ userId: 'usr_ann' }), [newer, older]);
        assert.deepEqual(await accounts.listSessions({ userId: 'usr_none' }), []);
        const end = (n: number) => accounts.deleteSessions({ userId: 'usr_ann', audit: sampleAudit(n, ['usr_ann']) });
        assert.deepEqual([await end(1), await end(2)], [2, 0]);
        assert.deepEqual(await accounts.listSessions({ userId: 'usr_ann' }), []);
        assert.equal((await accounts.listSessions({ userId: 'usr_ben' })).length, 1);
        const entries = await accounts.listAudit({ accountIds: ['usr_ann'], after: null, limit: 9 });
        assert.deepEqual(
          entries.map(({ auditId }) => auditId),
          ['aud_1'],
        );
      }),
    );

    test(
      'end with the API key with which they were started, and none starts with an invalid key',
      withStore(open, async ({ accounts }) => {
        await addUsers(accounts, 'ann', 'ben');
        await accounts.createApiKey({ apiKey: sampleApiKey('second', { userId: 'usr_ann' }) });
        await accounts.createSession({ session: sample('h1', 'ann') });
        await accounts.createSession({ session: sample('h2', 'ann', { apiKeyId: 'key_second' }) });
        assert.equal(await accounts.revokeApiKey({ apiKeyId: 'key_ann', userId: 'usr_ben', at: T0 }), false);
        assert.ok(await accounts.findSession({ sessionHash: 'h1' }), 'of another user');
        await accounts.revokeApiKey({ apiKeyId: 'key_ann', userId: 'usr_ann', at: T0 });
        assert.equal(await accounts.findSession({ sessionHash: 'h1' }), null);
        assert.ok(await accounts.findSession({ sessionHash: 'h2' }));
        for (const apiKeyId of ['key_ann', 'key_none', 'key_ben'])
          assert.equal(await accounts.createSession({ session: sample('h3', 'ann', { apiKeyId }) }), false, apiKeyId);
        assert.equal(await accounts.findSession({ sessionHash: 'h3' }), null);
      }),
    );

    test(
      'that have expired are removed when another one starts, and each user keeps only the latest ones',
      withStore(open, async ({ accounts }) => {
        await addUsers(accounts, 'ann', 'ben');
        const exists = async (sessionHash: string) => (await accounts.findSession({ sessionHash })) !== null;
        await accounts.createSession({ session: sample('ended', 'ann', { expiresAt: T0 + 10 }) });
        await accounts.createSession({ session: sample('ben', 'ben', { expiresAt: T0 + 10_000 }) });
        await accounts.createSession({ session: sample('at', 'ann', { createdAt: T0 + 9 }) });
        assert.equal(await exists('ended'), true, 'it has not expired yet');
        for (let n = 0; n < MAX_SESSIONS_PER_USER; n++)
          await accounts.createSession({ session: sample(`s${n}`, 'ann', { createdAt: T0 + 10 + n }) });
        assert.deepEqual([await exists('ended'), await exists('at'), await exists('s0')], [false, false, true]);
        assert.equal(await exists('ben'), true, 'of another user');
      }),
    );
  });
}
