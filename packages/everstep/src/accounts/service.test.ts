import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { createSystemRandom } from '../clock/system-random.js';
import { LIMITS } from '../config/limits.js';
import type { DayCountKind, Role } from '../ports/stores/account-store.js';
import type { Store } from '../ports/stores/store.js';
import { openSqliteStore } from '../stores/sqlite/index.js';
import { type AccountService, type Outcome, PERMISSIONS, type Permission } from './account-service.js';
import { addMember, createPeople, doneValue, emailOf, PEOPLE, type People, type Person, userIdOf } from './people.fixture.js';
import { BUILT_IN_PLANS, loadPlans } from './plans/plans.js';
import { createAccountService } from './service.js';
import { type Authority, createAuthority } from './tokens/authority.js';

const EUROPE = 'eu-central-1';
const NOVEMBER = Date.UTC(2026, 10, 21, 12);
const ROLES: readonly Role[] = ['owner', 'admin', 'dev', 'finance'];

let store: Store;
let authority: Authority;
let service: AccountService;
let people: People;
let instanceId: string;
let at: number;
let changed: string[];
let currentRefusals: readonly string[] = [];

const as = (person: Person) => people.principals[person];

beforeEach(async () => {
  at = NOVEMBER;
  changed = [];
  store = await openSqliteStore({ file: ':memory:' });
  const now = () => at;
  authority = await createAuthority({ store, now });
  const loaded = loadPlans(JSON.stringify({ plans: [{ name: 'big', pricePer100kMessages: 2 }] }));
  assert.ok(loaded.ok, JSON.stringify(loaded));
  service = createAccountService({
    accounts: store.accounts,
    authority,
    now,
    random: createSystemRandom(),
    plans: loaded.plans,
    onInstanceChanged: (id) => changed.push(id),
    currentRefusals: async () => currentRefusals,
  });
  people = await createPeople(store.accounts, service);
  ({ instanceId } = doneValue(
    await service.createInstance(as('owner'), { name: 'main', region: EUROPE, teamId: people.teamId }),
  ).instance);
});

const count = (messages: number, id = instanceId) =>
  store.commit([{ guards: [], writes: [{ kind: 'count-messages', instanceId: id, messages, at }] }]);

/** Operations on the instance with the right that each requires. */
const ON_INSTANCE: readonly (readonly [what: string, right: Permission, ask: (person: Person) => Promise<Outcome<unknown>>])[] = [
  ['get', 'see', (person) => service.findInstance(as(person), instanceId)],
  ['stats', 'see', (person) => service.stats(as(person), { instanceId, periodMs: LIMITS.maxStatsPeriodMs })],
  ['usage', 'see', (person) => service.usage(as(person), { instanceId, days: 1 })],
  ['rotate tokens', 'change', (person) => service.rotateTokens(as(person), instanceId)],
  ['budget', 'pay', (person) => service.setBudget(as(person), { instanceId, dollars: 20 })],
  ['alert', 'pay', (person) => service.setBudgetAlert(as(person), { instanceId, url: 'https://hooks.w.test/a' })],
  ['move', 'transfer', (person) => service.moveToTeam(as(person), { instanceId, teamId: people.teamId })],
];
const ON_TEAM: typeof ON_INSTANCE = [
  ['members', 'see', (person) => service.listMembers(as(person), people.teamId)],
  [
    'put',
    'manage-members',
    (person) => service.putMember(as(person), { teamId: people.teamId, email: 'new@w.test', role: 'dev' }),
  ],
  ['remove', 'manage-members', (person) => service.removeMember(as(person), { teamId: people.teamId, email: 'nobody@w.test' })],
  ['create', 'change', (person) => service.createInstance(as(person), { name: 'n', region: EUROPE, teamId: people.teamId })],
  ['delete', 'transfer', (person) => service.deleteTeam(as(person), people.teamId)],
];

test('each role has exactly the rights in the table, and everyone else gets not-found', async (t) => {
  for (const [what, right, ask] of [...ON_INSTANCE, ...ON_TEAM]) {
    await t.test(what, async () => {
      for (const role of ROLES) {
        const { kind } = await ask(role);
        if (PERMISSIONS[role].includes(right)) assert.ok(kind !== 'forbidden', `${role}: ${kind}`);
        else assert.equal(kind, 'forbidden', role);
      }
      for (const person of ['stranger', 'operator'] as const) {
        const foreign = await ask(person);
        assert.equal(foreign.kind, 'not-found', person);
        assert.ok('message' in foreign && !foreign.message.includes(people.teamId));
      }
    });
  }
});

test("another user's id and an id that does not exist have the same error", async () => {
  const foreign = [
    await service.findInstance(as('stranger'), instanceId),
    await service.listMembers(as('stranger'), people.teamId),
    await service.revokeApiKey(as('stranger'), 'key_owner'),
  ];
  const unknown = [
    await service.findInstance(as('stranger'), 'qi_none'),
    await service.listMembers(as('stranger'), 'team_none'),
    await service.revokeApiKey(as('stranger'), 'key_none'),
  ];
  assert.deepEqual(foreign, unknown);
  assert.ok(foreign.every(({ kind }) => kind === 'not-found'));
});

test("members see the team's instances, tokens are only shown to roles that may use them, and other users see nothing", async () => {
  const seen = async (person: Person) => (await service.listInstances(as(person))).map(({ instance }) => instance.instanceId);
  for (const person of PEOPLE) {
    const isMember = person !== 'stranger' && person !== 'operator';
    assert.deepEqual(await seen(person), isMember ? [instanceId] : [], person);
  }
  const own = doneValue(await service.findInstance(as('dev'), instanceId));
  assert.equal((await authority.verify(own.token ?? '', EUROPE)).ok, true);
  assert.equal((await authority.verify(own.readOnlyToken ?? '', EUROPE)).ok, true);
  const finance = doneValue(await service.findInstance(as('finance'), instanceId));
  assert.deepEqual([finance.token, finance.readOnlyToken, finance.role], [undefined, undefined, 'finance']);
});

test('an instance belongs to the personal account unless the user specifies one of their teams', async () => {
  const { instance } = doneValue(await service.createInstance(as('dev'), { name: 'mine', region: 'us-east-1' }));
  assert.deepEqual([instance.accountId, instance.region], [userIdOf('dev'), 'us-east-1']);
  assert.equal((await service.findInstance(as('owner'), instance.instanceId)).kind, 'not-found');
  assert.equal((await service.createInstance(as('dev'), { name: 'x', region: 'mars-1' })).kind, 'invalid');
  for (const teamId of [people.otherTeamId, 'team_none', userIdOf('owner')])
    assert.equal((await service.createInstance(as('dev'), { name: 'x', region: EUROPE, teamId })).kind, 'not-found', teamId);
});

test('an instance created while its team is being deleted is either created with the team or not at all', async () => {
  for (const createsFirst of [true, false]) {
    const { teamId } = doneValue(await service.createTeam(as('owner'), 'short-lived'));
    const create = () => service.createInstance(as('owner'), { name: 'n', region: EUROPE, teamId });
    const remove = () => service.deleteTeam(as('owner'), teamId);
    const outcomes = await Promise.all(createsFirst ? [create(), remove()] : [remove(), create()]);
    assert.deepEqual(
      outcomes.map(({ kind }) => kind),
      ['done', createsFirst ? 'conflict' : 'not-found'],
    );
  }
  for (const { accountId = '' } of await store.accounts.listInstances())
    assert.ok(accountId.startsWith('usr_') || (await store.accounts.findTeam({ teamId: accountId })), accountId);
});

test('if new tokens cannot be stored, the old ones stay valid', async () => {
  const { token = '' } = doneValue(await service.findInstance(as('dev'), instanceId));
  const broken = createAccountService({
    accounts: { ...store.accounts, replaceTokens: () => Promise.reject(new Error('the disk is full')) },
    authority,
    now: () => at,
    random: createSystemRandom(),
    plans: BUILT_IN_PLANS,
  });
  await assert.rejects(broken.rotateTokens(as('dev'), instanceId), /the disk is full/);
  assert.equal((await authority.verify(token, EUROPE)).ok, true);
  assert.equal((await service.auditLog(as('dev'), { after: null, limit: 1 }))[0]?.action, 'queue.create');
});

test('rotated tokens are refused immediately, and the new ones are returned and valid', async () => {
  const before = doneValue(await service.findInstance(as('owner'), instanceId));
  const old = [before.token ?? '', before.readOnlyToken ?? ''];
  for (const token of old) assert.equal((await authority.verify(token, EUROPE)).ok, true);
  const after = doneValue(await service.rotateTokens(as('dev'), instanceId));
  for (const token of old) assert.equal((await authority.verify(token, EUROPE)).ok, false);
  for (const token of [after.token ?? '', after.readOnlyToken ?? ''])
    assert.equal((await authority.verify(token, EUROPE)).ok, true);
  assert.deepEqual(doneValue(await service.findInstance(as('dev'), instanceId)), after, 'the same tokens again');
});

test('after an instance moves to a team, its members see it with the same tokens and former owners do not', async () => {
  const { instance, token } = doneValue(await service.createInstance(as('stranger'), { name: 'mine', region: EUROPE }));
  const move = { instanceId: instance.instanceId, teamId: people.otherTeamId };
  assert.deepEqual(await service.moveToTeam(as('stranger'), move), { kind: 'done', value: null });
  const moved = doneValue(await service.findInstance(as('stranger'), instance.instanceId));
  assert.deepEqual([moved.instance.accountId, moved.token], [people.otherTeamId, token]);
  assert.equal(changed.at(-1), instance.instanceId);
  await addMember(service, as('stranger'), as('owner'), { teamId: people.otherTeamId, role: 'dev' });
  // A user who owns one team and is a dev in another may move instances from the first to the second.
  assert.equal((await service.moveToTeam(as('owner'), { instanceId, teamId: people.otherTeamId })).kind, 'done');
  assert.equal((await service.findInstance(as('admin'), instanceId)).kind, 'not-found');
  assert.equal((await service.findInstance(as('stranger'), instanceId)).kind, 'done');
  assert.equal(
    (await service.moveToTeam(as('owner'), { instanceId, teamId: people.teamId })).kind,
    'forbidden',
    'a dev cannot transfer an instance',
  );
});

test('moving requires rights on both sides, and a personal account cannot receive an instance', async () => {
  const move = (teamId: string, person: Person = 'owner') => service.moveToTeam(as(person), { instanceId, teamId });
  for (const teamId of ['team_none', people.otherTeamId, '']) assert.equal((await move(teamId)).kind, 'not-found', teamId);
  for (const userId of [userIdOf('owner'), userIdOf('stranger'), 'usr_none']) {
    const refused = await move(userId);
    assert.equal(refused.kind, 'invalid', userId);
    assert.match(refused.kind === 'invalid' ? refused.message : '', /moving to a personal account is not supported/);
  }
  await addMember(service, as('stranger'), as('owner'), { teamId: people.otherTeamId, role: 'finance' });
  assert.equal((await move(people.otherTeamId)).kind, 'forbidden');
  assert.equal((await move(people.otherTeamId, 'stranger')).kind, 'not-found');
  const { instance } = doneValue(await service.findInstance(as('owner'), instanceId));
  assert.equal(instance.accountId, people.teamId);
});

test('a budget is 0 or a whole number from 20 to 10000', async () => {
  const set = async (dollars: number) => (await service.setBudget(as('finance'), { instanceId, dollars })).kind;
  for (const dollars of [0, -0, 20, 21, 9_999, 10_000]) assert.equal(await set(dollars), 'done', String(dollars));
  for (const dollars of [-1, 1, 19, 19.99, 20.5, 10_001, Number.NaN, Number.POSITIVE_INFINITY])
    assert.equal(await set(dollars), 'invalid', String(dollars));
  assert.equal(doneValue(await service.findInstance(as('dev'), instanceId)).instance.budgetDollars, 10_000);
  assert.equal(await set(0), 'done');
  assert.equal(doneValue(await service.findInstance(as('dev'), instanceId)).instance.budgetDollars ?? 0, 0);
});

test("stats and record contain today's runs, and the refusals within the period, latest first", async () => {
  const DAY_MS = 86_400_000;
  const count = (what: DayCountKind, count: number, ago: number) => ({ instanceId, what, count, at: at - ago });
  await store.accounts.countOfDay([
    count('run', 3, 0),
    count('run', 50, DAY_MS),
    count('rate-limited', 2, 5_000),
    count('rate-limited', 5, DAY_MS),
    count('tick-budget-exceeded', 1, 3_000),
    count('body-too-large', 9, 3 * DAY_MS),
  ]);
  const { requestsToday, refusals } = doneValue(await service.stats(as('finance'), { instanceId, periodMs: DAY_MS }));
  assert.equal(requestsToday, 3);
  assert.deepEqual(refusals, [
    { kind: 'tick-budget-exceeded', count: 1, lastAt: at - 3_000 },
    { kind: 'rate-limited', count: 7, lastAt: at - 5_000 },
  ]);
  assert.equal(doneValue(await service.findInstance(as('finance'), instanceId)).requestsToday, 3);
  at += DAY_MS;
  assert.equal(doneValue(await service.findInstance(as('finance'), instanceId)).requestsToday, 0);
});

test('stats contain the months billed to the current owner and what is refused', async () => {
  const stats = async (periodMs: number) => doneValue(await service.stats(as('finance'), { instanceId, periodMs }));
  await count(1_999_999);
  doneValue(await service.setBudget(as('finance'), { instanceId, dollars: 20 }));
  const before = await stats(LIMITS.minStatsPeriodMs);
  assert.deepEqual(before, {
    storage: { instanceBytes: 0, accountBytes: 0, maxBytes: null, activeRuns: 0, maxActiveRuns: null },
    months: [{ month: '2026-11', messages: 1_999_999, dollars: 19.99999 }],
    budgetDollars: 20,
    spentDollars: 19.99999,
    refused: [],
    requestsToday: 0,
    refusals: [],
  });
  await count(1);
  currentRefusals = ['no new runs, because the budget is spent'];
  const spent = await stats(LIMITS.maxStatsPeriodMs);
  assert.deepEqual(spent.months, [
    { month: '2026-11', messages: 2_000_000, dollars: 20 },
    { month: '2026-10', messages: 0, dollars: 0 },
  ]);
  assert.deepEqual(spent.refused, currentRefusals);
  currentRefusals = [];
  at = Date.UTC(2026, 11, 1);
  const next = await stats(LIMITS.minStatsPeriodMs);
  assert.deepEqual(
    next.months.map(({ month, messages }) => [month, messages]),
    [
      ['2026-12', 0],
      ['2026-11', 2_000_000],
    ],
  );
  assert.deepEqual([next.spentDollars, next.refused], [0, []]);
});

test("after a move the new owner does not see the former owner's usage", async () => {
  await addMember(service, as('stranger'), as('owner'), { teamId: people.otherTeamId, role: 'dev' });
  await count(10);
  doneValue(await service.moveToTeam(as('owner'), { instanceId, teamId: people.otherTeamId }));
  await count(3);
  const { months } = doneValue(await service.stats(as('stranger'), { instanceId, periodMs: LIMITS.minStatsPeriodMs }));
  assert.deepEqual(
    months.map(({ messages }) => messages),
    [3],
  );
});

test('instances of the operator get the default plan, and those of other users the plan for new instances', async () => {
  const create = async (person: Person) => {
    const { instance, plan } = doneValue(await service.createInstance(as(person), { name: 'new', region: 'eu-central-1' }));
    return [instance.plan, plan.name, instance.price];
  };
  assert.deepEqual(await create('operator'), [undefined, 'default', 1]);
  assert.deepEqual(await create('stranger'), ['standard', 'standard', 1]);
});

test('only the operator can set plans, on any instance', async () => {
  const set = (person: Person, plan = 'big', id = instanceId) => service.setPlan(as(person), { instanceId: id, plan });
  for (const role of ROLES) assert.equal((await set(role)).kind, 'forbidden', role);
  assert.equal((await set('stranger')).kind, 'not-found');
  assert.deepEqual(await set('stranger'), await set('stranger', 'big', 'qi_none'));
  assert.equal((await set('operator', 'big', 'qi_none')).kind, 'not-found');
  const unknown = await set('operator', 'huge');
  assert.ok(unknown.kind === 'invalid' && unknown.message.includes('default, standard, big'));
  assert.equal((await set('operator')).kind, 'done');
  assert.equal(doneValue(await service.findInstance(as('dev'), instanceId)).plan.name, 'big');
  await count(100_000);
  assert.equal(doneValue(await service.stats(as('dev'), { instanceId, periodMs: LIMITS.minStatsPeriodMs })).spentDollars, 2);
});

test('a plan change keeps the price of usage already counted, in this month and earlier ones', async () => {
  const stats = async () => doneValue(await service.stats(as('dev'), { instanceId, periodMs: LIMITS.maxStatsPeriodMs }));
  await count(300_000);
  at = Date.UTC(2026, 11, 5);
  await count(100_000);
  doneValue(await service.setPlan(as('operator'), { instanceId, plan: 'big' }));
  assert.equal((await stats()).spentDollars, 1);
  await count(200_000);
  doneValue(await service.setPlan(as('operator'), { instanceId, plan: 'default' }));
  await count(400_000);
  const { months, spentDollars } = await stats();
  assert.deepEqual(months, [
    { month: '2026-12', messages: 700_000, dollars: 1 + 4 + 4 },
    { month: '2026-11', messages: 300_000, dollars: 3 },
  ]);
  assert.equal(spentDollars, 9);
});

test('only an owner changes owners, and a team keeps at least one', async () => {
  const { teamId } = people;
  const put = async (person: Person, of: Person, role: Role) =>
    (await service.putMember(as(person), { teamId, email: emailOf(of), role })).kind;
  const remove = async (person: Person, of: Person) =>
    (await service.removeMember(as(person), { teamId, email: emailOf(of) })).kind;
  assert.equal(await put('admin', 'owner', 'dev'), 'forbidden');
  assert.equal(await put('admin', 'admin', 'owner'), 'forbidden');
  assert.equal(await remove('admin', 'owner'), 'forbidden');
  assert.equal(await put('owner', 'owner', 'dev'), 'conflict');
  assert.equal(await remove('owner', 'owner'), 'conflict');
  assert.equal(await put('owner', 'admin', 'owner'), 'done');
  assert.equal(await remove('admin', 'owner'), 'done');
  assert.equal((await service.findInstance(as('owner'), instanceId)).kind, 'not-found');
  assert.equal(await put('admin', 'dev', 'admin'), 'done');
});

test('every member can leave a team and then loses access to everything it owns', async () => {
  const leave = () => service.removeMember(as('finance'), { teamId: people.teamId, email: emailOf('finance') });
  assert.equal((await leave()).kind, 'done');
  assert.equal((await leave()).kind, 'not-found');
  assert.deepEqual(await service.listInstances(as('finance')), []);
  assert.deepEqual(await service.listTeams(as('finance')), []);
});

test('a team that owns something cannot be deleted, and a deletion can be read in the audit log', async () => {
  const { teamId } = people;
  assert.equal((await service.deleteTeam(as('owner'), teamId)).kind, 'conflict');
  const { teamId: next } = doneValue(await service.createTeam(as('owner'), 'next'));
  doneValue(await service.moveToTeam(as('owner'), { instanceId, teamId: next }));
  assert.equal((await service.deleteTeam(as('owner'), teamId)).kind, 'done');
  assert.equal((await service.deleteTeam(as('owner'), teamId)).kind, 'not-found');
  const [latest] = await service.auditLog(as('owner'), { after: null, limit: 1 });
  assert.deepEqual([latest?.action, latest?.subject], ['team.delete', teamId]);
});

test('an API key is shown once and stored as a hash, and the last valid one cannot be revoked', async () => {
  const { apiKey, record } = doneValue(await service.createApiKey(as('dev'), 'laptop'));
  assert.match(apiKey, /^ek_[\w-]{43}$/);
  assert.ok(!JSON.stringify(await service.listApiKeys(as('dev'))).includes(apiKey));
  assert.equal((await service.logIn({ email: emailOf('dev'), apiKey, address: 'here' })).kind, 'in');
  assert.equal((await service.revokeApiKey(as('dev'), 'key_dev')).kind, 'done');
  assert.equal((await service.revokeApiKey(as('dev'), 'key_dev')).kind, 'not-found');
  assert.equal((await service.revokeApiKey(as('dev'), record.apiKeyId)).kind, 'conflict');
  const [first] = await service.listApiKeys(as('dev'));
  assert.equal(first?.revokedAt, at);
});

test('checking for the operator role takes one lookup, whatever the number of users', async () => {
  const listing = { ...store.accounts, listUsers: () => assert.fail('all users were read') };
  const one = createAccountService({
    accounts: listing,
    authority,
    now: () => at,
    random: createSystemRandom(),
    plans: BUILT_IN_PLANS,
  });
  assert.deepEqual([await one.isOperator(as('operator')), await one.isOperator(as('owner'))], [true, false]);
});

test('of two concurrent revocations, one is refused so that a valid key remains', async () => {
  const { record } = doneValue(await service.createApiKey(as('dev'), 'laptop'));
  const both = await Promise.all(['key_dev', record.apiKeyId].map((id) => service.revokeApiKey(as('dev'), id)));
  assert.deepEqual(
    both.map(({ kind }) => kind),
    ['done', 'conflict'],
  );
});

test('every change is in the audit log, with actor, action, time and address, and without secrets', async () => {
  const { teamId } = people;
  doneValue(await service.setBudget(as('finance'), { instanceId, dollars: 50 }));
  doneValue(await service.setBudgetAlert(as('finance'), { instanceId, url: 'https://hooks.w.test/secret-path?key=secret' }));
  const { token } = doneValue(await service.rotateTokens(as('dev'), instanceId));
  doneValue(await service.setPlan(as('operator'), { instanceId, plan: 'big' }));
  doneValue(await service.removeMember(as('owner'), { teamId, email: emailOf('finance') }));
  const entries = await service.auditLog(as('admin'), { after: null, limit: 100 });
  assert.deepEqual(
    entries.map(({ actor, action, details }) => [actor, action, JSON.stringify(details)]),
    [
      ['owner@w.test', 'team.remove-member', '{"email":"finance@w.test","from":"finance","to":null}'],
      ['operator@w.test', 'queue.set-plan', '{"from":"standard","to":"big"}'],
      ['dev@w.test', 'queue.rotate-token', '{}'],
      ['finance@w.test', 'queue.set-budget-alert', '{"host":"hooks.w.test"}'],
      ['finance@w.test', 'queue.update-budget', '{"from":0,"to":50}'],
      ['owner@w.test', 'queue.create', `{"name":"main","region":"${EUROPE}"}`],
      [
        'finance@w.test',
        'team.accept-invitation',
        '{"email":"finance@w.test","role":"finance","invitedBy":"usr_owner","newUser":false}',
      ],
      ['owner@w.test', 'team.invite', '{"email":"finance@w.test","role":"finance"}'],
      ['dev@w.test', 'team.accept-invitation', '{"email":"dev@w.test","role":"dev","invitedBy":"usr_owner","newUser":false}'],
      ['owner@w.test', 'team.invite', '{"email":"dev@w.test","role":"dev"}'],
      [
        'admin@w.test',
        'team.accept-invitation',
        '{"email":"admin@w.test","role":"admin","invitedBy":"usr_owner","newUser":false}',
      ],
      ['owner@w.test', 'team.invite', '{"email":"admin@w.test","role":"admin"}'],
      ['owner@w.test', 'team.create', '{"name":"crew"}'],
    ],
  );
  assert.ok(entries.every((entry) => entry.address === '192.0.2.1' && entry.at === at && entry.auditId.startsWith('aud_')));
  assert.ok(token && !JSON.stringify(entries).includes(token));
  const strangers = await service.auditLog(as('stranger'), { after: null, limit: 100 });
  assert.deepEqual(
    strangers.map(({ action }) => action),
    ['team.create'],
  );
});
