import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { AccountStore, AuditEntry } from '../../../ports/stores/account-store.js';
import { type OpenStore, withStore } from '../harness.js';
import { T0 } from '../samples.js';
import {
  addTeam,
  addUsers,
  sampleApiKey,
  sampleAudit,
  sampleInstance,
  sampleMember,
  sampleTeam,
  sampleToken,
  sampleUser,
} from './account-samples.js';

const auditIdsOf = (entries: readonly AuditEntry[]): readonly string[] => entries.map(({ auditId }) => auditId);
const listNewest = (accounts: AccountStore) => accounts.listAudit({ accountIds: ['acc'], after: null, limit: 100 });

/** Every change with an audit log entry, applied to the accounts that `prepare` created, with its expected result. */
const CHANGES: readonly (readonly [
  name: string,
  change: (accounts: AccountStore, audit: AuditEntry) => Promise<unknown>,
  outcome: unknown,
])[] = [
  [
    'a user',
    (accounts, audit) => accounts.createUser({ user: sampleUser('eve'), apiKey: sampleApiKey('eve'), audit }),
    undefined,
  ],
  [
    'an API key',
    (accounts, audit) => accounts.createApiKey({ apiKey: sampleApiKey('more', { userId: 'usr_ann' }), audit }),
    undefined,
  ],
  [
    'a revoked API key',
    (accounts, audit) => accounts.revokeApiKey({ apiKeyId: 'key_ann', userId: 'usr_ann', at: T0, audit }),
    true,
  ],
  [
    'a team',
    (accounts, audit) => accounts.createTeam({ team: sampleTeam('new'), owner: sampleMember('new', 'ann', 'owner'), audit }),
    undefined,
  ],
  ['a deleted team', (accounts, audit) => accounts.deleteTeam({ teamId: 'team_bare', audit }), 'deleted'],
  ['a member', (accounts, audit) => accounts.putMember({ member: sampleMember('bare', 'ben', 'dev'), audit }), 'done'],
  ['a removed member', (accounts, audit) => accounts.removeMember({ teamId: 'team_kin', userId: 'usr_ben', audit }), 'done'],
  ['an instance', (accounts, audit) => accounts.createInstance(sampleInstance('qi_new'), audit), undefined],
  [
    'a changed instance',
    (accounts, audit) => accounts.changeInstance({ instanceId: 'qi_kin', change: { name: 'new' }, audit }),
    { ...sampleInstance('qi_kin', { accountId: 'team_kin' }), name: 'new' },
  ],
  [
    'an instance with its tokens',
    (accounts, audit) => accounts.createInstance(sampleInstance('qi_new'), audit, [sampleToken('new', 'qi_new')]),
    undefined,
  ],
  [
    'replaced tokens',
    (accounts, audit) =>
      accounts.replaceTokens({ instanceId: 'qi_kin', tokens: [sampleToken('new', 'qi_kin')], at: T0 + 1, audit }),
    ['old'],
  ],
  [
    'rotated signing keys',
    (accounts, audit) => accounts.setSigningKeys({ instanceId: 'qi_kin', current: 'sig_next', next: 'sig_new', audit }),
    undefined,
  ],
];

/** Changes that the store rejects, with their expected results. */
const REJECTED_CHANGES: readonly (readonly [
  name: string,
  change: (accounts: AccountStore, audit: AuditEntry) => Promise<unknown>,
  outcome: unknown,
])[] = [
  [
    'a key of another user',
    (accounts, audit) => accounts.revokeApiKey({ apiKeyId: 'key_ann', userId: 'usr_ben', at: T0, audit }),
    false,
  ],
  ['a team that owns something', (accounts, audit) => accounts.deleteTeam({ teamId: 'team_kin', audit }), 'owns-resources'],
  ['a team that does not exist', (accounts, audit) => accounts.deleteTeam({ teamId: 'team_none', audit }), 'not-found'],
  [
    'another role for the last owner',
    (accounts, audit) => accounts.putMember({ member: sampleMember('kin', 'ann', 'dev'), audit }),
    'last-owner',
  ],
  ['the last owner', (accounts, audit) => accounts.removeMember({ teamId: 'team_kin', userId: 'usr_ann', audit }), 'last-owner'],
  [
    'a member that does not exist',
    (accounts, audit) => accounts.removeMember({ teamId: 'team_bare', userId: 'usr_ben', audit }),
    'not-found',
  ],
  [
    'an instance that does not exist',
    (accounts, audit) => accounts.changeInstance({ instanceId: 'qi_none', change: { name: 'x' }, audit }),
    null,
  ],
];

async function prepare(accounts: AccountStore): Promise<void> {
  await addUsers(accounts, 'ann', 'ben');
  await addTeam(accounts, 'kin', 'ann');
  await addTeam(accounts, 'bare', 'ann');
  await accounts.putMember({ member: sampleMember('kin', 'ben', 'dev') });
  await accounts.createInstance(sampleInstance('qi_kin', { accountId: 'team_kin' }), undefined, [sampleToken('old', 'qi_kin')]);
}

/** Returns everything that the changes above could modify. */
async function stateOf(accounts: AccountStore): Promise<unknown> {
  return {
    users: await accounts.listUsers(),
    keys: await accounts.listApiKeys({ userId: 'usr_ann' }),
    teams: await accounts.listTeams({ userId: 'usr_ann' }),
    kin: await accounts.listMembers({ teamId: 'team_kin' }),
    bare: await accounts.listMembers({ teamId: 'team_bare' }),
    instances: await accounts.listInstances(),
    tokens: [...(await accounts.listTokens({ instanceId: 'qi_kin' })), ...(await accounts.listTokens({ instanceId: 'qi_new' }))],
  };
}

export function auditConformance(open: OpenStore): void {
  describe('the audit log', () => {
    test(
      'contains entries as they were written, newest first, for the accounts that may read them',
      withStore(open, async (store, underTest) => {
        const entries = [
          sampleAudit(1, ['usr_ann']),
          sampleAudit(2, ['usr_ann', 'team_kin'], { actor: 'operator', address: '', details: {} }),
          sampleAudit(3, [], { at: T0 - 100 }),
          sampleAudit(4, ['team_kin', 'team_kin']),
        ];
        for (const entry of entries) await store.accounts.addAudit(entry);
        const { accounts } = await underTest.reopen();
        const readEntries = (...accountIds: string[]) => accounts.listAudit({ accountIds, after: null, limit: 10 });
        const [first, second, , fourth] = entries;
        assert.deepEqual(await readEntries('usr_ann'), [second, first]);
        assert.deepEqual(await readEntries('team_kin'), [fourth, second]);
        assert.deepEqual(await readEntries('usr_ann', 'team_kin', 'usr_ann'), [fourth, second, first]);
        assert.deepEqual(await readEntries('usr_none'), []);
        assert.deepEqual(await readEntries(), []);
      }),
    );

    test(
      'is read in pages that neither lose nor repeat an entry when others are added',
      withStore(open, async ({ accounts }) => {
        for (let n = 0; n < 9; n++) await accounts.addAudit(sampleAudit(n, [n % 3 === 0 ? 'one' : 'two'], { at: T0 }));
        const page = async (after: string | null) =>
          auditIdsOf(await accounts.listAudit({ accountIds: ['one', 'two'], after, limit: 4 }));
        assert.deepEqual(await page(null), ['aud_8', 'aud_7', 'aud_6', 'aud_5']);
        await accounts.addAudit(sampleAudit(9, ['one']));
        assert.deepEqual(await page('aud_5'), ['aud_4', 'aud_3', 'aud_2', 'aud_1']);
        assert.deepEqual(await page('aud_1'), ['aud_0']);
        assert.deepEqual(await page('aud_0'), []);
        assert.deepEqual(await page('aud_none'), []);
      }),
    );

    test(
      'rejects an entry with an existing id, and keeps the existing one',
      withStore(open, async ({ accounts }) => {
        await accounts.addAudit(sampleAudit(1, ['acc']));
        await assert.rejects(accounts.addAudit(sampleAudit(1, ['acc'], { actor: 'another actor' })));
        assert.deepEqual(await listNewest(accounts), [sampleAudit(1, ['acc'])]);
      }),
    );

    for (const [name, change, outcome] of CHANGES) {
      test(
        `records ${name} if and only if the change happened`,
        withStore(open, async (store, underTest) => {
          await prepare(store.accounts);
          await store.accounts.addAudit(sampleAudit(0, ['acc']));
          const stateBefore = await stateOf(store.accounts);
          // An entry that cannot be written rolls back the change.
          await assert.rejects(change(store.accounts, sampleAudit(0, ['acc'])));
          assert.deepEqual(await stateOf(store.accounts), stateBefore);
          assert.deepEqual(await change(store.accounts, sampleAudit(1, ['acc'])), outcome);
          const { accounts } = await underTest.reopen();
          assert.notDeepEqual(await stateOf(accounts), stateBefore);
          assert.deepEqual(auditIdsOf(await listNewest(accounts)), ['aud_1', 'aud_0']);
        }),
      );
    }

    for (const [name, change, outcome] of REJECTED_CHANGES) {
      test(
        `records nothing for ${name}, because nothing changed`,
        withStore(open, async ({ accounts }) => {
          await prepare(accounts);
          const stateBefore = await stateOf(accounts);
          assert.deepEqual(await change(accounts, sampleAudit(1, ['acc'])), outcome);
          assert.deepEqual(await stateOf(accounts), stateBefore);
          assert.deepEqual(await listNewest(accounts), []);
        }),
      );
    }
  });
}
