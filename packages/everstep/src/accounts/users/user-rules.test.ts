import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { createSystemRandom } from '../../clock/system-random.js';
import type { Store } from '../../ports/stores/store.js';
import { openSqliteStore } from '../../stores/sqlite/index.js';
import type { AccountService, Principal } from '../account-service.js';
import {
  addNewMember,
  apiKeyOf,
  createPeople,
  doneValue,
  emailOf,
  type People,
  type Person,
  userIdOf,
} from '../people.fixture.js';
import { BUILT_IN_PLANS } from '../plans/plans.js';
import { createAccountService } from '../service.js';
import { createAuthority } from '../tokens/authority.js';

const HERE = '192.0.2.44';

let store: Store;
let service: AccountService;
let people: People;
let at: number;
/** Opens the service on accounts, by default those of the store. */
async function open(accounts = store.accounts): Promise<AccountService> {
  const now = () => at;
  const authority = await createAuthority({ store: { accounts }, now });
  return createAccountService({ accounts, authority, now, random: createSystemRandom(), plans: BUILT_IN_PLANS });
}
const as = (person: Person) => people.principals[person];

beforeEach(async () => {
  at = Date.UTC(2026, 10, 21);
  store = await openSqliteStore({ file: ':memory:' });
  service = await open();
  people = await createPeople(store.accounts, service);
});

const logIn = (person: Person) => service.beginSession({ email: emailOf(person), apiKey: apiKeyOf(person), address: HERE });
async function sessionOf(person: Person): Promise<string> {
  const login = await logIn(person);
  assert.ok(login.kind === 'in');
  return login.secret;
}
const isIn = async (secret: string) => (await service.findSession({ secret, address: HERE })) !== null;
const set = (person: Person, of: Person, isOperator: boolean) =>
  service.setOperator(as(person), { userId: userIdOf(of), isOperator });

test('only operators can list and change users, and other callers get not-found', async () => {
  const userId = userIdOf('dev');
  assert.equal((await service.listUsers(as('owner'), { after: null, limit: 9 })).kind, 'forbidden');
  const asked = [
    service.setUserDisabled(as('owner'), { userId, disabled: true }),
    service.deleteUser(as('owner'), { userId, successorId: null }),
    service.setOperator(as('owner'), { userId, isOperator: true }),
    service.setOperator(as('owner'), { userId: userIdOf('owner'), isOperator: true }),
    service.listApiKeysOf(as('owner'), userId),
    service.revokeApiKeyOf(as('owner'), { userId, apiKeyId: 'key_dev' }),
    service.revokeApiKeysOf(as('owner'), userId),
    service.endSessionsOf(as('owner'), userId),
    service.identitiesOf(as('owner'), userId),
    service.unlinkIdentityOf(as('owner'), { userId, identityId: 'idn_1' }),
    service.unlinkIdentityOf(as('dev'), { userId, identityId: 'idn_1' }),
    service.endSessionsOf(as('operator'), 'usr_none'),
  ];
  for (const response of await Promise.all(asked)) assert.equal(response.kind, 'not-found');
  const users = doneValue(await service.listUsers(as('operator'), { after: null, limit: 9 }));
  assert.deepEqual(users.items.map(({ userId: id, isOperator }) => [id, isOperator === true]).slice(0, 2), [
    [userIdOf('operator'), true],
    [userIdOf('owner'), false],
  ]);
});

test('a disabled user has no session and cannot log in, and an enabled one can', async () => {
  const [secret, other] = [await sessionOf('dev'), await sessionOf('admin')];
  const request = { userId: userIdOf('dev'), disabled: true };
  assert.equal((await service.setUserDisabled(as('operator'), request)).kind, 'done');
  assert.deepEqual([await isIn(secret), await isIn(other)], [false, true]);
  assert.equal((await logIn('dev')).kind, 'refused');
  assert.equal((await service.logIn({ email: emailOf('dev'), apiKey: apiKeyOf('dev'), address: HERE })).kind, 'refused');
  assert.equal((await service.setUserDisabled(as('operator'), { ...request, disabled: false })).kind, 'done');
  assert.equal((await logIn('dev')).kind, 'in');
});

test('users delete themselves, operators delete others, and a last owner requires a successor', async () => {
  const secret = await sessionOf('dev');
  assert.equal((await service.deleteUser(as('dev'), { userId: userIdOf('dev'), successorId: null })).kind, 'done');
  assert.equal(await isIn(secret), false);
  assert.equal((await logIn('dev')).kind, 'refused');
  const userId = userIdOf('owner');
  assert.equal((await service.deleteUser(as('operator'), { userId, successorId: null })).kind, 'conflict');
  const successorId = userIdOf('admin');
  assert.equal((await service.deleteUser(as('operator'), { userId, successorId })).kind, 'done');
  const members = doneValue(await service.listMembers(as('admin'), people.teamId));
  assert.deepEqual(
    members.map(({ email, role }) => [email, role]),
    [
      [emailOf('admin'), 'owner'],
      [emailOf('finance'), 'finance'],
    ],
  );
});

test('an operator deletes a user created by someone else, and the invited person becomes the user', async () => {
  const membership = { teamId: people.otherTeamId, email: 'boss@w.test', role: 'dev' } as const;
  const { userId, apiKey } = await addNewMember(service, as('stranger'), membership);
  assert.equal((await service.deleteUser(as('operator'), { userId, successorId: null })).kind, 'done');
  await addNewMember(service, as('owner'), { teamId: people.teamId, email: 'boss@w.test', role: 'admin' });
  assert.equal((await service.logIn({ email: 'boss@w.test', apiKey, address: HERE })).kind, 'refused');
});

test('the operator role can be granted and handed over, and one operator remains', async () => {
  assert.equal((await set('operator', 'operator', false)).kind, 'conflict');
  assert.equal((await service.deleteUser(as('operator'), { userId: userIdOf('operator'), successorId: null })).kind, 'conflict');
  assert.equal((await set('operator', 'admin', true)).kind, 'done');
  assert.deepEqual([await service.isOperator(as('operator')), await service.isOperator(as('admin'))], [true, true]);
  assert.equal((await set('operator', 'operator', false)).kind, 'done');
  assert.deepEqual([await service.isOperator(as('operator')), await service.isOperator(as('admin'))], [false, true]);
  assert.equal((await set('operator', 'dev', true)).kind, 'not-found', 'no longer an operator');
  assert.equal((await service.setUserDisabled(as('admin'), { userId: userIdOf('admin'), disabled: true })).kind, 'conflict');
  doneValue(await service.setUserDisabled(as('admin'), { userId: userIdOf('dev'), disabled: true }));
  assert.equal((await set('admin', 'dev', true)).kind, 'conflict', 'a disabled user');
});

test('an operator revokes the keys of other users, including the last one, and ends their sessions', async () => {
  const userId = userIdOf('dev');
  const [first, second] = [await sessionOf('dev'), await sessionOf('dev')];
  assert.equal((await service.endSessionsOf(as('dev'), userId)).kind, 'done', 'their own sessions');
  const [ended] = await service.auditLog(as('dev'), { after: null, limit: 1 });
  assert.equal(ended?.action, 'session.end-all');
  assert.deepEqual([await isIn(first), await isIn(second)], [false, false]);
  const third = await sessionOf('dev');
  assert.equal((await service.revokeApiKeyOf(as('dev'), { userId, apiKeyId: 'key_dev' })).kind, 'not-found');
  assert.equal((await service.revokeApiKeyOf(as('operator'), { userId, apiKeyId: 'key_admin' })).kind, 'not-found');
  assert.equal((await service.revokeApiKeyOf(as('operator'), { userId, apiKeyId: 'key_dev' })).kind, 'done');
  assert.equal(await isIn(third), false);
  assert.equal((await logIn('dev')).kind, 'refused');
  assert.equal((await service.revokeApiKeysOf(as('operator'), userIdOf('admin'))).kind, 'done');
  assert.equal((await logIn('admin')).kind, 'refused');
});

test('actions of operators on users are in the audit logs of both', async () => {
  const userId = userIdOf('dev');
  doneValue(await service.setUserDisabled(as('operator'), { userId, disabled: true }));
  doneValue(await service.setUserDisabled(as('operator'), { userId, disabled: false }));
  doneValue(await set('operator', 'dev', true));
  doneValue(await set('operator', 'dev', false));
  doneValue(await service.revokeApiKeyOf(as('operator'), { userId, apiKeyId: 'key_dev' }));
  doneValue(await service.revokeApiKeysOf(as('operator'), userId));
  const actionsOf = async (person: Person, limit = 6) =>
    (await service.auditLog(as(person), { after: null, limit })).map(({ action, actor }) => `${actor} ${action}`);
  const expected = [
    'api-key.revoke-all',
    'api-key.revoke',
    'user.revoke-operator',
    'user.grant-operator',
    'user.enable',
    'user.disable',
  ].map((action) => `${emailOf('operator')} ${action}`);
  assert.deepEqual(await actionsOf('dev'), expected);
  assert.deepEqual(await actionsOf('operator'), expected);
  doneValue(await service.deleteUser(as('operator'), { userId, successorId: null }));
  assert.deepEqual(await actionsOf('operator', 1), [`${emailOf('operator')} user.delete`]);
});

test('users and operators list and unlink identities, but users keep a way to sign in', async () => {
  const userId = userIdOf('dev');
  const issuer = 'https://id.test';
  for (const [linkedAt, subject] of ['first', 'second'].entries())
    await store.accounts.linkIdentity({ identity: { issuer, subject }, userId, at: linkedAt });
  const list = async (who: Person) => doneValue(await service.identitiesOf(as(who), userId));
  const unlink = (who: Person, identityId = '') => service.unlinkIdentityOf(as(who), { userId, identityId });
  const [first, second] = await list('operator');
  assert.deepEqual([first?.subject, second?.subject], ['first', 'second']);
  assert.match(first?.identityId ?? '', /^idn_[0-9a-f]{32}$/);
  assert.equal((await unlink('operator', first?.identityId)).kind, 'done');
  assert.equal((await unlink('operator', first?.identityId)).kind, 'not-found');
  assert.deepEqual(await list('dev'), [second]);
  await store.accounts.revokeApiKeys({ userId, at: 1 });
  assert.equal((await unlink('dev', second?.identityId)).kind, 'conflict');
  await store.accounts.createApiKey({
    apiKey: { apiKeyId: 'key_new', userId, name: 'new', keyHash: 'new', createdAt: 1 },
  });
  assert.equal((await unlink('dev', second?.identityId)).kind, 'done');
  assert.equal(await store.accounts.findByIdentity({ issuer, subject: 'second' }), null);
  const entries = await store.accounts.listAudit({ accountIds: [userId], after: null, limit: 2 });
  assert.deepEqual(
    entries.map(({ action, details }) => [action, details.issuer]),
    [
      ['user.unlink-identity', issuer],
      ['user.unlink-identity', issuer],
    ],
  );
});

/** Changes of an operator who also owns a team with a queue instance. Each of them gives access to something. */
async function accessChanges(caller: Principal) {
  const { teamId } = people;
  const request = { name: 'main', region: 'eu-central-1', teamId };
  const { instanceId } = doneValue(await service.createInstance(as('owner'), request)).instance;
  const token = doneValue(
    await service.createToken(as('owner'), { instanceId, name: 'app', scopes: ['write'], lifetimeMs: null }),
  );
  return [
    () => service.createApiKey(caller, 'another'),
    () => service.createRecoveryLink(caller, caller.user.userId),
    () => service.setOperator(caller, { userId: userIdOf('stranger'), isOperator: true }),
    () => service.createToken(caller, { instanceId, name: 'another', scopes: ['write'], lifetimeMs: null }),
    () => service.rotateToken(caller, { instanceId, tokenId: token.view.tokenId, overlapMs: 0 }),
    () => service.rotateTokens(caller, instanceId),
    () => service.putMember(caller, { teamId, email: 'friend@w.test', role: 'admin' }),
    () => service.createTeam(caller, 'another'),
  ];
}

test('changes that wait behind the revocation of their credential change nothing', async () => {
  doneValue(await set('operator', 'owner', true));
  const userId = userIdOf('owner');
  const session = await service.findSession({ secret: await sessionOf('owner'), address: HERE });
  assert.ok(session);
  const { apiKeyId } = doneValue(await service.createApiKey(as('owner'), 'second')).record;
  const withKey = (id: string): Principal => ({ ...as('owner'), apiKeyId: id });
  const cases = [
    [session.principal, () => service.endSessionsOf(as('operator'), userId), 'session-ended'],
    [withKey(apiKeyId), () => service.revokeApiKeyOf(as('operator'), { userId, apiKeyId }), 'bad-credential'],
    [withKey('key_owner'), () => service.revokeApiKeysOf(as('operator'), userId), 'bad-credential'],
    [as('owner'), () => service.setUserDisabled(as('operator'), { userId, disabled: true }), 'bad-credential'],
  ] as const;
  for (const [caller, revoke, kind] of cases) {
    const changes = await accessChanges(caller);
    const [revocation, ...outcomes] = await Promise.all([revoke(), ...changes.map((change) => change())]);
    doneValue(revocation);
    assert.deepEqual(new Set(outcomes.map((outcome) => outcome.kind)), new Set([kind]));
  }
  const keys = await store.accounts.listApiKeys({ userId });
  assert.deepEqual(
    keys.map((key) => key.apiKeyId),
    ['key_owner', apiKeyId],
  );
});

test('a recovery link ends when an API key or all API keys of the user are revoked, or the user is disabled', async () => {
  const userId = userIdOf('admin');
  const byOperator = as('operator');
  const { apiKeyId } = doneValue(await service.createApiKey(as('admin'), 'second')).record;
  doneValue(await set('operator', 'admin', true));
  for (const respond of [
    () => service.revokeApiKeyOf(byOperator, { userId, apiKeyId }),
    async () => {
      doneValue(await service.setUserDisabled(byOperator, { userId, disabled: true }));
      return service.setUserDisabled(byOperator, { userId, disabled: false });
    },
    () => service.revokeApiKeysOf(byOperator, userId),
  ]) {
    const { secret } = doneValue(await service.createRecoveryLink(as('admin'), userId));
    doneValue(await respond());
    assert.equal((await service.recover({ secret, address: HERE })).kind, 'not-found');
  }
  const link = doneValue(await service.createRecoveryLink(as('operator'), userId));
  assert.equal((await service.recover({ secret: link.secret, address: HERE })).kind, 'done');
});

test('requests with an invalid secret do not lock accounts', async () => {
  const locked: (readonly string[] | null)[] = [];
  const counting = await open({
    ...store.accounts,
    runExclusively(work, accountIds) {
      locked.push(accountIds);
      return work();
    },
  });
  for (const secret of ['rec_short', `rec_${'x'.repeat(43)}`])
    assert.equal((await counting.recover({ secret, address: HERE })).kind, 'not-found');
  for (const secret of ['inv_short', `inv_${'x'.repeat(43)}`]) {
    assert.equal((await counting.acceptInvitation({ secret, address: HERE })).kind, 'not-found');
    assert.equal((await counting.declineInvitation({ secret, address: HERE })).kind, 'not-found');
    assert.equal((await counting.joinTeam(as('dev'), secret)).kind, 'not-found');
  }
  assert.deepEqual(locked, []);
  const userId = userIdOf('dev');
  const { secret } = doneValue(await service.createRecoveryLink(as('operator'), userId));
  const recovered = await Promise.all([1, 2].map(() => counting.recover({ secret, address: HERE })));
  assert.deepEqual(recovered.map(({ kind }) => kind).toSorted(), ['done', 'not-found']);
  assert.deepEqual(locked, [[userId], [userId]]);
});
