/** All kinds of valid and invalid credentials. The isolation test sends each of them to each route. */
import assert from 'node:assert/strict';
import { decodeJwt, type JWTPayload, SignJWT } from 'jose';
import { addNewMember, basicOf, doneValue, emailOf, PEOPLE } from '../../accounts/people.fixture.js';
import { REGION, type TestObjects } from './isolation-objects.js';

/** `Authorization` headers by name. */
export type Headers = Readonly<Record<string, string>>;

export interface Credentials {
  /** Rejected by all operations that require a token of a queue instance. */
  readonly rejectedByInstances: Headers;
  /** Rejected by all operations of the management API. */
  readonly rejectedByUsers: Headers;
  /** Rejected by all operations of a search index, in addition to tokens of other indexes. */
  readonly rejectedByIndexes: Headers;
  /** Read-write tokens of other instances. */
  readonly otherInstances: Headers;
  /** Users outside the team. */
  readonly outsiders: Headers;
}

const bearer = (token: string | undefined): string => `Bearer ${token ?? assert.fail('there is no token')}`;
const basic = (text: string): string => `Basic ${Buffer.from(text).toString('base64')}`;

const sign = (claims: JWTPayload, secret: string): Promise<string> =>
  new SignJWT(claims).setProtectedHeader({ alg: 'HS256', typ: 'JWT' }).sign(new TextEncoder().encode(secret));

/** Logs in users outside the team. The table calls them `stranger`, regardless of their role in another team. */
async function outsidersOf({ harness, people }: TestObjects): Promise<Headers> {
  const { owner, stranger } = people.principals;
  const formerMember = { teamId: people.teamId, email: 'left@w.test' };
  const { apiKey } = await addNewMember(harness.accounts, owner, { ...formerMember, role: 'admin' });
  doneValue(await harness.accounts.removeMember(owner, formerMember));
  const otherAdmin = { teamId: people.otherTeamId, email: 'other-admin@w.test', role: 'admin' } as const;
  const admin = await addNewMember(harness.accounts, stranger, otherAdmin);
  return {
    'a former admin of the team': basic(`${formerMember.email}:${apiKey}`),
    'an admin of another team': basic(`${otherAdmin.email}:${admin.apiKey}`),
  };
}

async function badTokens({ harness, people }: TestObjects): Promise<Headers> {
  const { accounts, authority, store, token } = harness;
  const { owner } = people.principals;
  const secret = await store.accounts.findOrCreateSecret({ name: 'token-signing-key', value: 'unused' });
  const expiredAt = Math.floor(Date.now() / 1000) - 60;
  const [header = '', payload = ''] = token.split('.');
  const unsignedHeader = Buffer.from('{"alg":"none","typ":"JWT"}').toString('base64url');
  const rotatedInstance = doneValue(
    await accounts.createInstance(owner, { name: 'rotated', region: REGION, teamId: people.teamId }),
  );
  const otherRegionToken = await authority.issueToken({ instanceId: 'qi_us', access: 'read-write' });
  const verification = await authority.verify(rotatedInstance.token ?? '', REGION);
  assert.ok(verification.ok, 'the credential was valid');
  doneValue(await accounts.rotateTokens(owner, rotatedInstance.instance.instanceId));
  return {
    empty: 'Bearer ',
    malformed: 'Bearer not.a.token',
    'without a scheme': token,
    'without its signature': `Bearer ${header}.${payload}.`,
    'of no algorithm': `Bearer ${unsignedHeader}.${payload}.`,
    'signed with another key': bearer(await sign(decodeJwt(token), 'another secret, of 32 bytes or so')),
    expired: bearer(await sign({ ...decodeJwt(token), exp: expiredAt }, secret)),
    rotated: bearer(rotatedInstance.token),
    'rotated, read-only': bearer(rotatedInstance.readOnlyToken),
    'of another region': bearer(otherRegionToken),
  };
}

/** Credentials of users with all rights of their role, but of the wrong kind. */
const logins: Headers = Object.fromEntries(PEOPLE.map((person) => [`the login of ${person}`, basicOf(person)]));

export async function createCredentials(objects: TestObjects): Promise<Credentials> {
  const { harness, people } = objects;
  const { accounts, authority, token, readOnlyToken } = harness;
  const { dev, stranger, owner } = people.principals;
  const revokedKey = doneValue(await accounts.createApiKey(dev, 'to be revoked'));
  doneValue(await accounts.revokeApiKey(dev, revokedKey.record.apiKeyId));
  const index = await objects.index();
  const foreignRequest = { name: 'theirs', region: REGION, teamId: people.otherTeamId };
  const foreignInstance = doneValue(await accounts.createInstance(stranger, foreignRequest));
  const teamRequest = { name: 'ours', region: REGION, teamId: people.teamId };
  const teamInstance = doneValue(await accounts.createInstance(owner, teamRequest));
  const tokens = await badTokens(objects);
  const indexTokens = { 'of a search index': bearer(index.token), 'of a search index, read-only': bearer(index.readOnlyToken) };
  return {
    rejectedByInstances: { ...tokens, ...indexTokens, ...logins },
    rejectedByIndexes: {
      ...tokens,
      'of a queue instance': bearer(token),
      'of an instance of the team': bearer(teamInstance.token),
    },
    rejectedByUsers: {
      empty: 'Basic ',
      'no base64': 'Basic %%%',
      'without a scheme': basic(`${emailOf('owner')}:ek_owner`).slice('Basic '.length),
      'without a colon': basic('owner'),
      'without a key': basic(`${emailOf('admin')}:`),
      'with the key of another user': basic(`${emailOf('finance')}:ek_owner`),
      'with a revoked key': basic(`${emailOf('dev')}:${revokedKey.apiKey}`),
      'of an unknown user': basic('nobody@w.test:ek_nobody'),
      'a token as the key': basic(`${emailOf('stranger')}:${token}`),
      'of the runtime API': bearer(token),
      'of the runtime API, read-only': bearer(readOnlyToken),
      ...indexTokens,
    },
    otherInstances: {
      'another instance': bearer(await authority.issueToken({ instanceId: 'qi_2', access: 'read-write' })),
      'an instance of another team': bearer(foreignInstance.token),
    },
    outsiders: await outsidersOf(objects),
  };
}
