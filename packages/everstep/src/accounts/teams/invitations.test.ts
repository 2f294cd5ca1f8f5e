import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { createSystemRandom } from '../../clock/system-random.js';
import { LIMITS } from '../../config/limits.js';
import type { Role } from '../../ports/stores/account-store.js';
import type { Store } from '../../ports/stores/store.js';
import { openSqliteStore } from '../../stores/sqlite/index.js';
import type { AccountService } from '../account-service.js';
import { createPeople, doneValue, emailOf, type People, type Person, userIdOf } from '../people.fixture.js';
import { BUILT_IN_PLANS } from '../plans/plans.js';
import { createAccountService } from '../service.js';
import { createAuthority } from '../tokens/authority.js';

const HERE = '192.0.2.44';

let store: Store;
let service: AccountService;
let people: People;
let at: number;
const as = (person: Person) => people.principals[person];

beforeEach(async () => {
  at = Date.UTC(2026, 10, 21);
  store = await openSqliteStore({ file: ':memory:' });
  const now = () => at;
  const authority = await createAuthority({ store, now });
  service = createAccountService({
    accounts: store.accounts,
    authority,
    now,
    random: createSystemRandom(),
    plans: BUILT_IN_PLANS,
  });
  people = await createPeople(store.accounts, service);
});

async function invite(email: string, by: Person = 'owner', role: Role = 'dev') {
  const teamId = by === 'stranger' ? people.otherTeamId : people.teamId;
  const put = doneValue(await service.putMember(as(by), { teamId, email, role }));
  assert.ok(put.kind === 'invited', put.kind);
  return put;
}
const accept = (secret: string) => service.acceptInvitation({ secret, address: HERE });
const emailsOf = async (teamId = people.teamId) =>
  doneValue(await service.listMembers(as(teamId === people.teamId ? 'owner' : 'stranger'), teamId)).map(({ email }) => email);

test('an email without a user is invited, and accepting returns the first API key', async () => {
  const { secret, invitation } = await invite('New@W.test', 'admin');
  assert.equal(await store.accounts.findUserByEmail({ email: 'new@w.test' }), null);
  assert.ok(!(await emailsOf()).includes('new@w.test'));
  assert.ok(!JSON.stringify(await store.accounts.listInvitations({ teamId: people.teamId })).includes(secret));
  const joined = doneValue(await accept(secret));
  assert.deepEqual([joined.member.email, joined.member.role, joined.team.teamId], ['new@w.test', 'dev', people.teamId]);
  const login = await service.logIn({ email: 'new@w.test', apiKey: joined.apiKey, address: HERE });
  assert.ok(login.kind === 'in');
  assert.deepEqual(await service.accountsOf(login.principal), [
    { accountId: joined.member.userId, role: 'owner' },
    { accountId: people.teamId, role: 'dev' },
  ]);
  assert.equal((await accept(secret)).kind, 'not-found', 'it works once');
  assert.equal(await store.accounts.findInvitation({ invitationId: invitation.invitationId }), null);
});

test('the response does not show whether a user has the email', async () => {
  const [known, unknown] = [await invite(emailOf('stranger')), await invite('nobody@w.test')];
  const shape = ({ invitation, secret }: typeof known) => [
    Object.keys(invitation),
    secret.length,
    invitation.invitationId.length,
  ];
  assert.deepEqual(shape(known), shape(unknown));
  assert.ok(!JSON.stringify(known).includes(userIdOf('stranger')));
  assert.ok(!(await emailsOf()).includes(emailOf('stranger')), 'a user joins only after accepting');
});

test('a user joins with both the secret and the login for the email', async () => {
  const { secret } = await invite(emailOf('stranger'));
  assert.equal((await accept(secret)).kind, 'conflict', 'the secret alone does not create a second user');
  assert.equal((await service.joinTeam(as('operator'), secret)).kind, 'forbidden', 'the login of another user');
  assert.equal((await service.joinTeam(as('stranger'), `inv_${'x'.repeat(43)}`)).kind, 'not-found', 'the login alone');
  assert.equal(doneValue(await service.joinTeam(as('stranger'), secret)).member.role, 'dev');
  assert.ok((await emailsOf()).includes(emailOf('stranger')));
});

test('a user created earlier for an email does not join a team that invites the email later', async () => {
  const early = await invite('boss@w.test', 'stranger');
  const { apiKey } = doneValue(await accept(early.secret));
  const login = await service.logIn({ email: 'boss@w.test', apiKey, address: HERE });
  assert.ok(login.kind === 'in');
  await invite('boss@w.test', 'owner', 'admin');
  assert.deepEqual(await service.listTeams(login.principal).then((teams) => teams.map(({ teamId }) => teamId)), [
    people.otherTeamId,
  ]);
  assert.equal((await service.joinTeam(login.principal, early.secret)).kind, 'not-found');
});

test('an invitation ends when it expires, or is revoked, declined or repeated', async () => {
  const expired = await invite('a@w.test');
  at += LIMITS.invitationLifeMs - 1;
  const late = await invite('b@w.test');
  at += 1;
  assert.equal((await accept(expired.secret)).kind, 'not-found');
  const first = await invite('c@w.test');
  const second = await invite('c@w.test', 'owner', 'finance');
  assert.equal((await accept(first.secret)).kind, 'not-found');
  const { invitationId } = second.invitation;
  assert.equal((await service.revokeInvitation(as('dev'), invitationId)).kind, 'forbidden');
  assert.equal((await service.revokeInvitation(as('stranger'), invitationId)).kind, 'not-found');
  assert.equal((await service.revokeInvitation(as('admin'), invitationId)).kind, 'done');
  assert.equal((await accept(second.secret)).kind, 'not-found');
  assert.equal((await service.declineInvitation({ secret: late.secret, address: HERE })).kind, 'done');
  assert.equal((await accept(late.secret)).kind, 'not-found');
  assert.deepEqual(doneValue(await service.listInvitations(as('owner'), people.teamId)), []);
  assert.equal((await service.listInvitations(as('dev'), people.teamId)).kind, 'forbidden');
});

test('an invitation is valid only while its inviter may manage the members', async () => {
  const ofAdmin = await invite('a@w.test', 'admin');
  const other = await invite('b@w.test', 'admin');
  doneValue(await service.putMember(as('owner'), { teamId: people.teamId, email: emailOf('admin'), role: 'dev' }));
  assert.equal((await accept(ofAdmin.secret)).kind, 'not-found');
  doneValue(await service.putMember(as('owner'), { teamId: people.teamId, email: emailOf('admin'), role: 'admin' }));
  assert.equal((await accept(ofAdmin.secret)).kind, 'done');
  doneValue(await service.removeMember(as('owner'), { teamId: people.teamId, email: emailOf('admin') }));
  assert.equal((await accept(other.secret)).kind, 'not-found');
  assert.equal(
    (await service.putMember(as('admin'), { teamId: people.teamId, email: 'c@w.test', role: 'dev' })).kind,
    'not-found',
  );
});

test('pending invitations of a team are limited; repeats are allowed, and expired ones do not count', async () => {
  for (let n = 0; n < LIMITS.maxTeamInvitations; n++) await invite(`n${n}@w.test`);
  const one = { teamId: people.teamId, email: 'more@w.test', role: 'dev' } as const;
  assert.equal((await service.putMember(as('admin'), one)).kind, 'conflict');
  await invite('n0@w.test');
  at += LIMITS.invitationLifeMs;
  assert.equal((await service.putMember(as('admin'), one)).kind, 'done');
});

test('invalid secrets count as failed logins from the address', async () => {
  assert.equal(service.loginWaitMs({ address: HERE }), 0);
  for (let n = 0; n < LIMITS.maxFailedLoginsTotal; n++) await accept(`inv_${'x'.repeat(43)}`);
  assert.ok(service.loginWaitMs({ address: HERE }) > 0);
  assert.equal(service.loginWaitMs({ address: '198.51.100.1' }), 0);
});

test("inviting, accepting, declining and revoking are in the team's audit log, without the secret", async () => {
  const secrets = [];
  for (const name of ['a', 'b', 'c']) secrets.push(await invite(`${name}@w.test`));
  const [a, b, c] = secrets;
  assert.ok(a && b && c);
  doneValue(await accept(a.secret));
  doneValue(await service.declineInvitation({ secret: b.secret, address: HERE }));
  doneValue(await service.revokeInvitation(as('owner'), c.invitation.invitationId));
  const entries = await service.auditLog(as('finance'), { after: null, limit: 6 });
  assert.deepEqual(
    entries.map(({ action, actor, details }) => [action, actor, details.email]),
    [
      ['team.revoke-invitation', emailOf('owner'), 'c@w.test'],
      ['team.decline-invitation', 'b@w.test', 'b@w.test'],
      ['team.accept-invitation', 'a@w.test', 'a@w.test'],
      ['team.invite', emailOf('owner'), 'c@w.test'],
      ['team.invite', emailOf('owner'), 'b@w.test'],
      ['team.invite', emailOf('owner'), 'a@w.test'],
    ],
  );
  assert.ok(!JSON.stringify(entries).includes('inv_'));
});
