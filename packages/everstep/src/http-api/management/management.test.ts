import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { decodeJwt } from 'jose';
import { PERMISSIONS, type Permission } from '../../accounts/account-service.js';
import { apiKeyOf, basicOf, emailOf, type Person, userIdOf } from '../../accounts/people.fixture.js';
import { BUILT_IN_PLANS } from '../../accounts/plans/plans.js';
import { LIMITS } from '../../config/limits.js';
import type { AuditLogPage } from '../../contract/audit.js';
import type {
  AccountEntry,
  ApiKeyEntry,
  InstanceRecord,
  JoinedTeam,
  PlanRecord,
  QueueStats,
  TeamEntry,
  TeamMember,
} from '../../contract/management.js';
import type { Role } from '../../ports/stores/account-store.js';
import type { Method } from '../operation.js';
import { pathsOf } from '../server/routing.js';
import type { ApiResponse, ErrorResponse } from '../testing/api-harness.js';
import { TestObjects } from '../testing/isolation-objects.js';
import { MANAGEMENT_OPERATIONS } from './index.js';
import { managementOpenApiDocument } from './openapi.js';

let objects: TestObjects;
let queueId: string;
before(async () => {
  objects = await TestObjects.open({ plans: BUILT_IN_PLANS });
  queueId = await objects.queue();
});
after(() => objects.harness.close());

function call<Body = ErrorResponse>(person: Person, method: Method, url: string, body?: unknown): Promise<ApiResponse<Body>> {
  const headers = { authorization: basicOf(person), ...(body === undefined ? {} : { 'content-type': 'application/json' }) };
  return objects.harness.send<Body>({ method, url, headers, ...(body === undefined ? {} : { payload: JSON.stringify(body) }) });
}

test('creates, lists and returns an instance with its tokens, and the tokens work', async () => {
  const made = await call<InstanceRecord>('owner', 'POST', '/v2/queue/users', { name: 'orders', region: 'us-east-1' });
  assert.equal(made.status, 200);
  const { id, token = '', read_only_token = '', creation_time, limits, ...rest } = made.body;
  assert.deepEqual(rest, {
    customer_id: userIdOf('owner'),
    name: 'orders',
    region: 'us-east-1',
    role: 'owner',
    plan: 'standard',
    requests_today: 0,
    budget: 0,
  });
  assert.deepEqual([limits.name, limits.max_schedules], ['standard', 1_000]);
  assert.ok(id.startsWith('qi_') && creation_time > 1_700_000_000 && creation_time < 10_000_000_000);
  assert.deepEqual([decodeJwt(token).access, decodeJwt(read_only_token).access], ['read-write', 'read-only']);
  const host = 'us-east-1.everstep.test';
  const run = {
    method: 'POST',
    url: '/v2/trigger/http://w.test/ok',
    headers: { host, authorization: `Bearer ${token}` },
  } as const;
  assert.equal((await objects.harness.send<unknown>(run)).status, 200);
  assert.deepEqual((await call<InstanceRecord>('owner', 'GET', `/v2/queue/user/${id}`)).body, {
    ...made.body,
    requests_today: 1,
  });
  const listed = await call<InstanceRecord[]>('owner', 'GET', '/v2/queue/users');
  assert.deepEqual(
    listed.body.map((queue) => queue.id),
    [queueId, id],
  );
  assert.equal((await call<InstanceRecord>('finance', 'GET', `/v2/queue/user/${queueId}`)).body.token, undefined);
});

test('the operations of the specification return the JSON string OK', async () => {
  const id = await objects.queue();
  const { body: team } = await call<TeamEntry>('owner', 'POST', '/v2/team', { team_name: 'next' });
  const moved = await call<string>('owner', 'POST', '/v2/queue/move-to-team', { queue_id: id, target_team_id: team.id });
  assert.deepEqual([moved.status, moved.body], [200, 'OK']);
  assert.equal(moved.headers['content-type'], 'application/json; charset=utf-8');
  const { body: record } = await call<InstanceRecord>('owner', 'GET', `/v2/queue/user/${id}`);
  assert.equal(record.customer_id, team.id);
  assert.equal((await call('dev', 'GET', `/v2/queue/user/${id}`)).status, 404);
  const budget = await call<string>('owner', 'PATCH', `/v2/queue/update-budget/${id}`, { budget: 20 });
  assert.deepEqual([budget.status, budget.body], [200, 'OK']);
  assert.equal((await call<InstanceRecord>('owner', 'GET', `/v2/queue/user/${id}`)).body.budget, 20);
});

test('rejects moving to a personal account with 400 and to an unknown or foreign team with 404', async () => {
  const move = (target_team_id: string) => call('owner', 'POST', '/v2/queue/move-to-team', { queue_id: queueId, target_team_id });
  const personal = await move(userIdOf('owner'));
  assert.deepEqual([personal.status, personal.headers['svc-error-code']], [400, 'bad-body']);
  assert.match(personal.body.error, /moving to a personal account is not supported/);
  const [foreign, unknown] = [await move(objects.people.otherTeamId), await move('team_none')];
  assert.deepEqual([foreign.status, foreign.body], [404, unknown.body]);
});

test('accepts a budget of 0 or 20 to 10000 and rejects others with 400', async () => {
  const set = (budget: unknown) => call('owner', 'PATCH', `/v2/queue/update-budget/${queueId}`, { budget });
  for (const budget of [0, 20, 10_000, 0]) assert.equal((await set(budget)).status, 200, String(budget));
  for (const budget of [1, 19, -1, -20, 10_001, 20.5, '20', '', null, true, [20], {}, 1e308]) {
    const refused = await set(budget);
    assert.deepEqual([refused.status, refused.headers['svc-error-code']], [400, 'bad-body'], JSON.stringify(budget));
    assert.match(refused.body.error, /budget/, JSON.stringify(budget));
  }
});

test('rejects invalid names, emails, regions and roles and says what to send', async () => {
  const { team_id: team } = (await call<TeamEntry>('owner', 'POST', '/v2/team', { team_name: 'words' })).body;
  const table: readonly (readonly [url: string, body: Record<string, unknown>, words: RegExp])[] = [
    [
      '/v2/team',
      { team_name: ' ' },
      /^body\.team_name must contain a character other than whitespace, and no control characters or unpaired surrogates$/,
    ],
    ['/v2/apikeys', { name: 'a\u0000b' }, /^body\.name must contain a character other than whitespace/],
    ['/v2/queue/users', { name: 'a', region: 'mars' }, /^body\.region must be one of us-east-1, eu-central-1$/],
    [
      '/v2/teams/member',
      { team_id: team, member_email: 'ada', member_role: 'dev' },
      /member_email must be an email address such as/,
    ],
    [
      '/v2/teams/member',
      { team_id: team, member_email: 'a@b', member_role: 'boss' },
      /member_role must be one of admin, dev, finance$/,
    ],
  ];
  for (const [url, body, words] of table) {
    const refused = await call('owner', 'POST', url, body);
    assert.equal(refused.status, 400, url);
    assert.match(refused.body.error, words);
  }
});

test('rotates tokens: rejects the old ones immediately and returns the new ones', async () => {
  const id = await objects.queue();
  const { body: before } = await call<InstanceRecord>('dev', 'GET', `/v2/queue/user/${id}`);
  const { body: rotated } = await call<InstanceRecord>('dev', 'POST', `/v2/queue/rotate-token/${id}`);
  const status = async (token = '') => {
    const headers = { authorization: `Bearer ${token}` };
    return (await objects.harness.send<unknown>({ method: 'GET', url: '/v2/flowControl', headers })).status;
  };
  assert.deepEqual([await status(before.token), await status(before.read_only_token)], [401, 401]);
  assert.deepEqual([await status(rotated.token), await status(rotated.read_only_token)], [200, 200]);
});

test('sets, returns and removes the budget alert URL', async () => {
  const set = (url: unknown) => call<string | ErrorResponse>('finance', 'POST', `/v2/queue/set-budget-alert/${queueId}`, { url });
  const shown = async () => (await call<InstanceRecord>('finance', 'GET', `/v2/queue/user/${queueId}`)).body.budget_alert_url;
  assert.deepEqual((await set('https://hooks.w.test/a?b=c')).body, 'OK');
  assert.equal(await shown(), 'https://hooks.w.test/a?b=c');
  for (const url of ['ftp://w.test/', 'nonsense', 'http://u:p@w.test/', `http://w.test/${'x'.repeat(2_100)}`, '', 1, undefined]) {
    const refused = await set(url);
    assert.equal(refused.status, 400, String(url));
    assert.match(JSON.stringify(refused.body), /url/, String(url));
  }
  assert.equal(await shown(), 'https://hooks.w.test/a?b=c');
  assert.equal((await set(null)).body, 'OK');
  assert.equal(await shown(), undefined);
});

test('all users can list plans and operators can set them', async () => {
  const { body: plans } = await call<PlanRecord[]>('stranger', 'GET', '/v2/queue/plans');
  assert.deepEqual(
    plans.map(({ name, price_per_100k_messages }) => [name, price_per_100k_messages]),
    [
      ['default', 1],
      ['standard', 1],
    ],
  );
  const url = `/v2/queue/set-plan/${queueId}`;
  assert.equal((await call<string>('operator', 'POST', url, { plan_name: 'default' })).body, 'OK');
  const unknown = await call('operator', 'POST', url, { plan_name: 'huge' });
  assert.deepEqual([unknown.status, unknown.body.error], [400, 'body.plan_name must be one of default, standard']);
});

test('the stats count messages and accept a period of 1h to 30d', async () => {
  const { body: record } = await call<InstanceRecord>('dev', 'GET', `/v2/queue/user/${queueId}`);
  const headers = { authorization: `Bearer ${record.token}` };
  await objects.harness.send<unknown>({ method: 'POST', url: '/v2/trigger/http://w.test/ok', headers });
  for (const period of ['', '?period=1h', '?period=30d', '?period=7d']) {
    const { status, body } = await call<QueueStats>('dev', 'GET', `/v2/queue/stats/${queueId}${period}`);
    assert.equal(status, 200, period);
    assert.ok((body.months[0]?.messages ?? 0) >= 1, period);
    assert.deepEqual([body.id, body.customer_id, body.budget, body.refused], [queueId, objects.people.teamId, 0, []]);
  }
  for (const period of ['59m', '31d', 'soon', '', '-1h', '1.5h']) {
    const refused = await call('dev', 'GET', `/v2/queue/stats/${queueId}?period=${period}`);
    assert.deepEqual([refused.status, refused.headers['svc-error-code']], [400, 'bad-parameter'], period);
    assert.match(refused.body.error, /period/);
  }
});

test('creates, lists and deletes a team, and adds, changes and removes its members', async () => {
  const { body: team } = await call<TeamEntry>('dev', 'POST', '/v2/team', { team_name: 'apollo' });
  assert.deepEqual(
    [team.team_id, team.customer_id, team.team_name, team.name, team.role],
    [team.id, team.id, 'apollo', 'apollo', 'owner'],
  );
  const member = { team_id: team.id, member_email: 'Neil@W.test' };
  const added = await call<TeamMember>('dev', 'POST', '/v2/teams/member', { ...member, member_role: 'dev' });
  assert.equal(added.body.member_email, 'neil@w.test');
  assert.equal(added.headers['cache-control'], 'no-store');
  const accepted = await objects.harness.send<JoinedTeam>({
    method: 'POST',
    url: '/v2/invitations/accept',
    payload: { secret: added.body.invitation_secret },
  });
  assert.deepEqual([accepted.body.team_name, accepted.body.member_role], ['apollo', 'dev']);
  const headers = { authorization: `Basic ${Buffer.from(`neil@w.test:${accepted.body.api_key}`).toString('base64')}` };
  const who = await objects.harness.send<{ readonly email: string }>({ method: 'GET', url: '/v2/account', headers });
  assert.equal(who.body.email, 'neil@w.test');
  const changed = await call<TeamMember>('dev', 'POST', '/v2/teams/member', { ...member, member_role: 'finance' });
  assert.deepEqual([changed.body.member_role, changed.body.status], ['finance', 'member']);
  const { body: members } = await call<TeamMember[]>('dev', 'GET', `/v2/teams/${team.id}`);
  assert.deepEqual(
    members.map(({ member_email, member_role }) => [member_email, member_role]),
    [
      [emailOf('dev'), 'owner'],
      ['neil@w.test', 'finance'],
    ],
  );
  assert.equal((await call<string>('dev', 'DELETE', '/v2/teams/member', member)).body, 'OK');
  assert.equal((await call('dev', 'DELETE', '/v2/teams/member', member)).status, 404);
  const { body: teams } = await call<TeamEntry[]>('dev', 'GET', '/v2/teams');
  assert.ok(teams.some(({ id, role }) => id === team.id && role === 'owner'));
  assert.equal((await call<string>('dev', 'DELETE', `/v2/team/${team.id}`)).body, 'OK');
  assert.equal((await call('dev', 'GET', `/v2/teams/${team.id}`)).status, 404);
  const conflict = await call('owner', 'DELETE', `/v2/team/${objects.people.teamId}`);
  assert.deepEqual([conflict.status, conflict.headers['svc-error-code']], [409, 'conflict']);
});

test('returns the current user, and creates, lists without the keys, and revokes API keys', async () => {
  const { body: me } = await call<AccountEntry>('admin', 'GET', '/v2/account');
  assert.deepEqual([me.id, me.customer_id, me.email], [userIdOf('admin'), userIdOf('admin'), emailOf('admin')]);
  assert.deepEqual(me.accounts, [
    { id: userIdOf('admin'), role: 'owner' },
    { id: objects.people.teamId, role: 'admin' },
  ]);
  const { body: made } = await call<ApiKeyEntry>('admin', 'POST', '/v2/apikeys', { name: 'ci' });
  assert.match(made.api_key ?? '', /^ek_/);
  assert.equal((await call<string>('admin', 'DELETE', '/v2/apikeys/key_admin')).body, 'OK');
  const refused = await call('admin', 'GET', '/v2/account');
  assert.deepEqual([refused.status, refused.headers['svc-error-code']], [401, 'bad-credential']);
  const headers = { authorization: `Basic ${Buffer.from(`${emailOf('admin')}:${made.api_key}`).toString('base64')}` };
  const { body: keys } = await objects.harness.send<ApiKeyEntry[]>({ method: 'GET', url: '/v2/apikeys', headers });
  assert.deepEqual(
    keys.map(({ name, api_key, revocation_time }) => [name, api_key, revocation_time === undefined]),
    [
      ['first', undefined, false],
      ['ci', undefined, true],
    ],
  );
});

test('pages through the audit log, newest first; the cursor is bound to the user', async () => {
  for (const budget of [21, 22, 23]) await call('owner', 'PATCH', `/v2/queue/update-budget/${queueId}`, { budget });
  const { body: whole } = await call<AuditLogPage>('owner', 'GET', '/v2/auditlogs?count=1000');
  assert.deepEqual(
    whole.auditlogs.slice(0, 3).map(({ actor, action, subject, details }) => [actor, action, subject, details.to]),
    [23, 22, 21].map((budget) => [emailOf('owner'), 'queue.update-budget', queueId, budget]),
  );
  assert.equal(whole.cursor, '');
  const paged: string[] = [];
  let cursor = '';
  let first = '';
  do {
    const { body } = await call<AuditLogPage>('owner', 'GET', `/auditlogs?count=2${cursor && `&cursor=${cursor}`}`);
    paged.push(...body.auditlogs.map(({ id }) => id));
    cursor = body.cursor;
    first ||= cursor;
  } while (cursor !== '');
  assert.deepEqual(
    paged,
    whole.auditlogs.map(({ id }) => id),
  );
  const foreign = await call('stranger', 'GET', `/v2/auditlogs?cursor=${first}`);
  assert.deepEqual([foreign.status, foreign.headers['svc-error-code']], [400, 'bad-cursor']);
  for (const query of ['count=0', 'count=1001', 'count=x', 'limit=1'])
    assert.equal((await call('owner', 'GET', `/v2/auditlogs?${query}`)).headers['svc-error-code'], 'bad-parameter', query);
});

test('searches the audit log for words, page by page', async () => {
  for (const budget of [31, 32, 33]) await call('owner', 'PATCH', `/v2/queue/update-budget/${queueId}`, { budget });
  const search = async (query: string) => (await call<AuditLogPage>('owner', 'GET', `/v2/auditlogs?${query}`)).body;
  const { auditlogs: found } = await search(`q=Update-Budget+${emailOf('owner').toUpperCase()}`);
  assert.deepEqual(
    found.slice(0, 3).map(({ details }) => details.to),
    [33, 32, 31],
  );
  const budgets: unknown[] = [];
  for (let cursor = ''; ; ) {
    const page = await search(`q=update-budget&count=1&cursor=${cursor}`);
    budgets.push(...page.auditlogs.map(({ details }) => details.to));
    cursor = page.cursor;
    if (cursor === '' || budgets.length === 3) break;
  }
  assert.deepEqual(budgets, [33, 32, 31]);
  assert.deepEqual((await search('q=no+such+words')).auditlogs, []);
  const { cursor } = await search('q=update-budget&count=1');
  const moved = await call('owner', 'GET', `/v2/auditlogs?q=other&cursor=${cursor}`);
  assert.deepEqual([moved.status, moved.headers['svc-error-code']], [400, 'bad-cursor']);
});

test('blocks an account after too many failed logins and returns the time to wait', async () => {
  const headers = { authorization: `Basic ${Buffer.from(`${emailOf('stranger')}:wrong`).toString('base64')}` };
  const attempt = () => objects.harness.send({ method: 'GET', url: '/v2/account', headers, remoteAddress: '203.0.113.9' });
  for (let i = 0; i < LIMITS.maxFailedLogins; i++) assert.equal((await attempt()).status, 401);
  const waits = await attempt();
  assert.deepEqual([waits.status, waits.headers['svc-error-code']], [429, 'rate-limited']);
  const seconds = Number(waits.headers['retry-after']);
  assert.ok(seconds >= 1 && seconds <= 60, String(seconds));
  assert.equal((await call<AccountEntry>('stranger', 'GET', '/v2/account')).status, 200, 'from another address');
});

test('each API names the credential that it requires if it gets the credential of the other API', async () => {
  const headers = { authorization: `Bearer ${objects.harness.token}` };
  const management = await objects.harness.send({ method: 'GET', url: '/v2/account', headers });
  assert.match(
    management.body.error,
    /requires HTTP Basic: the Authorization header has the scheme "Bearer"; send "Authorization: Basic/,
  );
  const runtime = await objects.harness.send({
    method: 'GET',
    url: '/v2/flowControl',
    headers: { authorization: basicOf('owner') },
  });
  assert.match(runtime.body.error, /"Bearer <token>", not the scheme "Basic"/);
});

test('the document is OpenAPI 3.1, requires no credential, and contains every field of the specification', async () => {
  const { status, body } = await objects.harness.send<Record<string, unknown>>({
    method: 'GET',
    url: '/openapi-management.json',
  });
  assert.equal(status, 200);
  assert.match(String(body.openapi), /^3\.1\./);
  const text = JSON.stringify(body);
  for (const word of ['queue_id', 'target_team_id', '/v2/queue/update-budget/{id}', '"budget"', '"basic"'])
    assert.ok(text.includes(word), word);
});

test('the document contains every route once, and every reference leads to a schema in use', () => {
  const document: { paths?: object; components?: { schemas?: object } } = managementOpenApiDocument('1.0.0');
  const documented = Object.entries(document.paths ?? {}).flatMap(([path, item]) =>
    Object.keys(item).map((method) => `${method.toUpperCase()} ${path}`),
  );
  const declared = MANAGEMENT_OPERATIONS.flatMap((operation) => pathsOf(operation).map((path) => `${operation.method} ${path}`));
  assert.deepEqual(documented.toSorted(), declared.toSorted());
  assert.equal(new Set(declared).size, declared.length);
  const references = new Set(JSON.stringify(document).match(/#\/components\/schemas\/\w+/g) ?? []);
  const names = Object.keys(document.components?.schemas ?? {}).map((name) => `#/components/schemas/${name}`);
  assert.deepEqual([...references].toSorted(), names.toSorted());
});

test('the guide contains every operation', () => {
  const guide = readFileSync(new URL('../../../../../docs/guides/management-api.md', import.meta.url), 'utf8');
  const operations = MANAGEMENT_OPERATIONS.filter(({ access }) => access === 'account');
  const missing = operations.filter(
    ({ method, path }) => !new RegExp(`\`${method} ${path.replace(/[{}]/g, '.')}[\`?]`).test(guide),
  );
  assert.deepEqual(
    missing.map(({ method, path }) => `${method} ${path}`),
    [],
  );
});

test('one table of the guides lists the rights of the roles, as implemented', () => {
  const guides = new URL('../../../../../docs/guides/', import.meta.url);
  const roles: readonly Role[] = ['owner', 'admin', 'dev', 'finance'];
  const head = `| Permission | ${roles.join(' | ')} |`;
  const text = (page: string) => readFileSync(new URL(page, guides), 'utf8');
  const tables = readdirSync(guides).filter((page) => /^\|.*\bowner\b.*\bfinance *\|$/m.test(text(page)));
  assert.deepEqual(tables, ['accounts.md']);
  const rows = (text('accounts.md').split(head)[1] ?? '').split('\n\n')[0]?.trim().split('\n').slice(1) ?? [];
  const shown = rows.map((row) => roles.filter((_, column) => row.split('|')[column + 2]?.trim() === 'yes'));
  const ofAccounts: readonly Permission[] = ['see', 'use', 'change', 'pay', 'manage-members', 'transfer'];
  // In the dashboard, `see` includes reading runs, and `use` includes changing them.
  const rights: readonly Permission[] = [...ofAccounts.slice(0, 2), 'see', 'use', ...ofAccounts.slice(2)];
  assert.deepEqual(
    shown,
    rights.map((right) => roles.filter((role) => PERMISSIONS[role].includes(right))),
  );
});

test('keys, emails and bodies are not logged', async () => {
  await call('owner', 'POST', '/v2/team', { team_name: 'a-name-nobody-should-log' });
  const text = JSON.stringify(objects.harness.logged);
  assert.match(text, /"route":"\/v2\/team"/);
  for (const word of [apiKeyOf('owner'), basicOf('owner'), emailOf('owner'), 'a-name-nobody-should-log'])
    assert.ok(!text.includes(word), word);
});
