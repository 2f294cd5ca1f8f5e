/**
 * Users for tests: the operator, a team with a member of each role, and a stranger with a separate team. Their emails
 * are `<name>@w.test`.
 */
import assert from 'node:assert/strict';
import type { AccountStore, Role, UserRecord } from '../ports/stores/account-store.js';
import type { AccountService, Outcome, Principal } from './account-service.js';
import { hashOfApiKey } from './users/api-key-hash.js';

export const PEOPLE = ['operator', 'owner', 'admin', 'dev', 'finance', 'stranger'] as const;
export type Person = (typeof PEOPLE)[number];

export interface People {
  readonly principals: Readonly<Record<Person, Principal>>;
  /** Team of `owner`, with a member of each role. */
  readonly teamId: string;
  /** Team of `stranger`, its only member. */
  readonly otherTeamId: string;
}

export const emailOf = (person: Person): string => `${person}@w.test`;
export const apiKeyOf = (person: Person): string => `ek_${person}`;
export const userIdOf = (person: Person): string => `usr_${person}`;
export const basicOf = (person: Person): string =>
  `Basic ${Buffer.from(`${emailOf(person)}:${apiKeyOf(person)}`).toString('base64')}`;

export function doneValue<Value>(outcome: Outcome<Value>): Value {
  assert.ok(outcome.kind === 'done', JSON.stringify(outcome));
  return outcome.value;
}

/** Invites the user and accepts the invitation. */
export async function addMember(
  service: AccountService,
  inviter: Principal,
  member: Principal,
  membership: { readonly teamId: string; readonly role: Role },
): Promise<void> {
  const result = doneValue(await service.putMember(inviter, { ...membership, email: member.user.email }));
  assert.ok(result.kind === 'invited');
  doneValue(await service.joinTeam(member, result.secret));
}

/** Invites an email that no user has, and accepts. Returns the first API key and the user id. */
export async function addNewMember(
  service: AccountService,
  inviter: Principal,
  membership: { readonly teamId: string; readonly email: string; readonly role: Role },
): Promise<{ readonly apiKey: string; readonly userId: string }> {
  const result = doneValue(await service.putMember(inviter, membership));
  assert.ok(result.kind === 'invited');
  const { apiKey, member } = doneValue(await service.acceptInvitation({ secret: result.secret, address: '192.0.2.1' }));
  return { apiKey, userId: member.userId };
}

async function createPerson(accounts: AccountStore, person: Person): Promise<Principal> {
  const user: UserRecord = {
    userId: userIdOf(person),
    email: emailOf(person),
    createdAt: 1,
    ...(person === 'operator' ? { isOperator: true } : {}),
  };
  const keyHash = hashOfApiKey(apiKeyOf(person));
  const apiKey = { apiKeyId: `key_${person}`, userId: user.userId, name: 'first', keyHash, createdAt: 1 };
  await accounts.createUser({ user, apiKey });
  return { user, address: '192.0.2.1' };
}

/** The first user becomes the operator, so the store must not contain users yet. */
export async function createPeople(accounts: AccountStore, service: AccountService): Promise<People> {
  const create = (person: Person): Promise<Principal> => createPerson(accounts, person);
  const principals = {
    operator: await create('operator'),
    owner: await create('owner'),
    admin: await create('admin'),
    dev: await create('dev'),
    finance: await create('finance'),
    stranger: await create('stranger'),
  };
  const { owner, stranger } = principals;
  const { teamId } = doneValue(await service.createTeam(owner, 'crew'));
  for (const role of ['admin', 'dev', 'finance'] as const) await addMember(service, owner, principals[role], { teamId, role });
  const { teamId: otherTeamId } = doneValue(await service.createTeam(stranger, 'others'));
  return { principals, teamId, otherTeamId };
}
