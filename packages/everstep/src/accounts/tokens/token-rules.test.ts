/** Tests named tokens: scopes, expiry and management. */
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { createSystemRandom } from '../../clock/system-random.js';
import { LIMITS } from '../../config/limits.js';
import { TOKEN_SCOPES, type TokenScope } from '../../ports/stores/accounts/named-tokens.js';
import type { Store } from '../../ports/stores/store.js';
import { openSqliteStore } from '../../stores/sqlite/index.js';
import type { AccountService } from '../account-service.js';
import { createPeople, doneValue, emailOf, PEOPLE, type People, type Person } from '../people.fixture.js';
import { BUILT_IN_PLANS } from '../plans/plans.js';
import { createAccountService } from '../service.js';
import { type Authority, createAuthority } from './authority.js';
import { connectProblem, permits, type RequiredScope } from './token-scopes.js';

const REGION = 'eu-central-1';
const HOUR_MS = 3_600_000;

let store: Store;
let authority: Authority;
let service: AccountService;
let people: People;
let instanceId: string;
let at: number;

const as = (person: Person) => people.principals[person];
const create = async (name: string, scopes: readonly TokenScope[] = ['trigger'], lifetimeMs: number | null = null) =>
  doneValue(await service.createToken(as('dev'), { instanceId, name, scopes, lifetimeMs }));
const isValid = async (token: string): Promise<boolean> => (await authority.verify(token, REGION)).ok;
const listed = async (tokenId: string) =>
  doneValue(await service.listTokens(as('dev'), instanceId)).find((token) => token.tokenId === tokenId);

/** Opens the authority and the service. By default, the machine has the clock of the server. */
async function open(machineNow = () => at): Promise<void> {
  const now = () => at;
  authority = await createAuthority({ store, now: machineNow, namedTokenNow: now });
  service = createAccountService({
    accounts: store.accounts,
    authority,
    now,
    random: createSystemRandom(),
    plans: BUILT_IN_PLANS,
  });
}

beforeEach(async () => {
  at = Date.UTC(2026, 10, 23);
  store = await openSqliteStore({ file: ':memory:' });
  await open();
  people = await createPeople(store.accounts, service);
  const request = { name: 'main', region: REGION, teamId: people.teamId };
  ({ instanceId } = doneValue(await service.createInstance(as('owner'), request)).instance);
});

test('each scope permits exactly its operations, and write permits everything', () => {
  const needs: readonly RequiredScope[] = ['trigger', 'notify', 'read-metadata', 'read', 'write'];
  const permitted = Object.fromEntries(TOKEN_SCOPES.map((scope) => [scope, needs.filter((need) => permits([scope], need))]));
  assert.deepEqual(permitted, {
    trigger: ['trigger'],
    notify: ['notify'],
    'read-metadata': ['read-metadata'],
    read: ['read-metadata', 'read'],
    write: needs,
    connect: [],
  });
  assert.ok(permits(['notify', 'trigger'], 'trigger'));
  assert.deepEqual(
    needs.filter((need) => permits(['connect:shop'], need)),
    [],
  );
});

test('only a token for the app, for all apps, or for everything may connect a worker', () => {
  const may = (...scopes: TokenScope[]) => connectProblem(scopes, 'shop') === null;
  const general = Object.fromEntries(TOKEN_SCOPES.map((scope) => [scope, may(scope)]));
  const others = { trigger: false, notify: false, 'read-metadata': false, read: false };
  assert.deepEqual(general, { ...others, write: true, connect: true });
  assert.deepEqual([may('connect:shop'), may('connect:shops'), may('read', 'connect:shop')], [true, false, true]);
  assert.equal(
    connectProblem(['trigger', 'connect:bills'], 'shop'),
    'a worker of the app "shop" requires a token with the scope "connect:shop", "connect" or "write"; this token has: trigger, connect:bills',
  );
});

test('a created token works within its scopes, and only its hash is stored', async () => {
  const { token, view } = await create('deploy', ['trigger', 'notify']);
  assert.match(token, /^est_[\w-]{43}$/);
  const verdict = await authority.verify(token, REGION);
  assert.ok(verdict.ok);
  const { caller } = verdict;
  assert.deepEqual([caller.instanceId, caller.access, caller.scopes], [instanceId, 'read-only', ['trigger', 'notify']]);
  assert.equal(caller.actor, `token ${view.tokenId} (deploy)`);
  const [record] = await store.accounts.listNamedTokens({ instanceId });
  assert.match(record?.tokenHash ?? '', /^[0-9a-f]{64}$/);
  assert.ok(!JSON.stringify(record).includes(token));
  assert.equal((await authority.verify(token, 'us-east-1')).ok, false);
  assert.equal(await isValid(`${token}x`), false);
});

test('a token with the scope write has read-write access', async () => {
  const { token } = await create('all', ['write']);
  const verdict = await authority.verify(token, REGION);
  assert.ok(verdict.ok && verdict.caller.access === 'read-write');
});

test('a token is rejected as soon as it expires, even if it is cached', async () => {
  const { token } = await create('short', ['read'], HOUR_MS);
  at += HOUR_MS - 1;
  assert.equal(await isValid(token), true);
  assert.ok(authority.recall(token, REGION)?.ok);
  at += 1;
  assert.equal(authority.recall(token, REGION), undefined);
  assert.equal(await isValid(token), false);
});

test('a revoked token is rejected immediately and cannot be revoked again', async () => {
  const { token, view } = await create('gone');
  assert.equal(await isValid(token), true);
  const which = { instanceId, tokenId: view.tokenId };
  doneValue(await service.revokeToken(as('dev'), which));
  assert.equal(await isValid(token), false);
  assert.equal((await listed(view.tokenId))?.revokedAt, at);
  assert.equal((await service.revokeToken(as('dev'), which)).kind, 'not-found');
});

test('after rotation the old token stays valid for the overlap, and the new one for the original lifetime', async () => {
  const first = await create('app', ['read'], 10 * HOUR_MS);
  at += 4 * HOUR_MS;
  const which = { instanceId, tokenId: first.view.tokenId };
  const second = doneValue(await service.rotateToken(as('dev'), { ...which, overlapMs: HOUR_MS }));
  assert.deepEqual([second.view.name, second.view.scopes], ['app', ['read']]);
  at += HOUR_MS - 1;
  assert.deepEqual([await isValid(first.token), await isValid(second.token)], [true, true]);
  at += 1;
  assert.deepEqual([await isValid(first.token), await isValid(second.token)], [false, true]);
  at += 9 * HOUR_MS - 1;
  assert.equal(await isValid(second.token), true);
  at += 1;
  assert.equal(await isValid(second.token), false);
  assert.equal((await service.rotateToken(as('dev'), { ...which, overlapMs: 0 })).kind, 'not-found');
});

test('a rotation without an overlap revokes the old token, and expiries follow the clock of the server', async () => {
  await open(() => at - HOUR_MS);
  const first = await create('app', ['read'], 10 * HOUR_MS);
  assert.equal(await isValid(first.token), true);
  const second = doneValue(await service.rotateToken(as('dev'), { instanceId, tokenId: first.view.tokenId, overlapMs: 0 }));
  assert.deepEqual([await isValid(first.token), await isValid(second.token)], [false, true]);
  assert.equal((await listed(first.view.tokenId))?.revokedAt, at);
  at += 10 * HOUR_MS;
  assert.equal(await isValid(second.token), false);
});

test('a replaced token cannot be rotated again, and its replacement keeps the lifetime', async () => {
  const first = await create('app', ['read'], 10 * HOUR_MS);
  const rotate = (tokenId: string) => service.rotateToken(as('dev'), { instanceId, tokenId, overlapMs: HOUR_MS });
  const second = doneValue(await rotate(first.view.tokenId));
  const refusal = await rotate(first.view.tokenId);
  const replaced = `this token was already replaced by the token ${second.view.tokenId}`;
  assert.deepEqual(refusal, { kind: 'conflict', message: `${replaced}; rotate that token instead` });
  const third = doneValue(await rotate(second.view.tokenId));
  assert.equal(third.view.expiresAt, at + 10 * HOUR_MS);
  doneValue(await service.revokeToken(as('dev'), { instanceId, tokenId: second.view.tokenId }));
  assert.deepEqual(await rotate(first.view.tokenId), {
    kind: 'conflict',
    message: `${replaced}; that token is no longer valid, so create a new token`,
  });
});

test('rotations cannot create tokens without end', async () => {
  let { tokenId } = (await create('app')).view;
  const rotate = (overlapMs: number) => service.rotateToken(as('dev'), { instanceId, tokenId, overlapMs });
  for (let valid = 1; valid < LIMITS.maxNamedTokensWithReplaced; valid++) ({ tokenId } = doneValue(await rotate(HOUR_MS)).view);
  assert.equal((await rotate(HOUR_MS)).kind, 'conflict');
  ({ tokenId } = doneValue(await rotate(0)).view);
  at += HOUR_MS;
  assert.equal((await rotate(HOUR_MS)).kind, 'done');
});

test('the permanent tokens of an instance stay valid until each is revoked', async () => {
  const { token = '', readOnlyToken = '' } = doneValue(await service.findInstance(as('dev'), instanceId));
  const permanent = doneValue(await service.listTokens(as('dev'), instanceId)).filter(({ isPermanent }) => isPermanent);
  assert.deepEqual(
    permanent.map(({ scopes }) => scopes),
    [['write'], ['read']],
  );
  const [first] = permanent;
  assert.ok(first);
  assert.equal((await service.rotateToken(as('dev'), { instanceId, tokenId: first.tokenId, overlapMs: 0 })).kind, 'conflict');
  doneValue(await service.revokeToken(as('dev'), { instanceId, tokenId: first.tokenId }));
  assert.deepEqual([await isValid(token), await isValid(readOnlyToken)], [false, true]);
  const after = doneValue(await service.findInstance(as('dev'), instanceId));
  assert.deepEqual([after.token, after.readOnlyToken], [undefined, readOnlyToken]);
});

test('the last use of a token is written at most every ten minutes', async () => {
  const { token, view } = await create('used');
  const noted = async () => (await listed(view.tokenId))?.lastUsedAt;
  assert.equal(await noted(), null);
  const first = at;
  await isValid(token);
  assert.equal(await noted(), first);
  at += 10 * 60_000 - 1;
  await isValid(token);
  assert.equal(await noted(), first);
  at += 1;
  await isValid(token);
  assert.equal(await noted(), at);
});

test('the number of valid named tokens of an instance is limited', async () => {
  for (let i = 0; i < LIMITS.maxNamedTokens; i++) await create(`token ${i}`, ['read'], HOUR_MS);
  const request = { instanceId, name: 'one more', scopes: ['read'], lifetimeMs: null } as const;
  assert.equal((await service.createToken(as('dev'), request)).kind, 'conflict');
  at += HOUR_MS;
  assert.equal((await service.createToken(as('dev'), request)).kind, 'done');
});

test('roles that may use an instance can manage its tokens, and no one else sees them', async () => {
  const { view } = await create('one');
  const which = { instanceId, tokenId: view.tokenId };
  const outcomes: Record<string, readonly string[]> = {};
  for (const person of PEOPLE) {
    const principal = as(person);
    outcomes[person] = [
      (await service.listTokens(principal, instanceId)).kind,
      (await service.createToken(principal, { instanceId, name: person, scopes: ['read'], lifetimeMs: null })).kind,
      (await service.revokeToken(principal, { ...which, tokenId: 'tok_none' })).kind,
    ];
  }
  const member = ['done', 'done', 'not-found'];
  const other = ['not-found', 'not-found', 'not-found'];
  const finance = ['forbidden', 'forbidden', 'forbidden'];
  assert.deepEqual(outcomes, { operator: other, owner: member, admin: member, dev: member, finance, stranger: other });
});

test('creation, rotation and revocation are in the audit log, without the token', async () => {
  const { token, view } = await create('audited', ['read', 'notify']);
  const rotated = doneValue(await service.rotateToken(as('admin'), { instanceId, tokenId: view.tokenId, overlapMs: HOUR_MS }));
  doneValue(await service.revokeToken(as('owner'), { instanceId, tokenId: rotated.view.tokenId }));
  const log = await service.auditLog(as('owner'), { after: null, limit: 3 });
  assert.deepEqual(
    log.map(({ action, actor, subject }) => [action, actor, subject]),
    [
      ['queue.revoke-token', emailOf('owner'), instanceId],
      ['queue.rotate-named-token', emailOf('admin'), instanceId],
      ['queue.create-named-token', emailOf('dev'), instanceId],
    ],
  );
  assert.deepEqual(log.at(-1)?.details, { tokenId: view.tokenId, name: 'audited', scopes: 'read notify' });
  assert.ok(!JSON.stringify(log).includes(token));
});
