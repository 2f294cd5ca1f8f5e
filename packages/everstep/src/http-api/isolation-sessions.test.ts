/** Isolation table for callers with a session. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { InjectOptions } from 'fastify';
import { apiKeyOf, doneValue, emailOf, PEOPLE, type Person } from '../accounts/people.fixture.js';
import { dashboardOperations } from './dashboard/index.js';
import { MANAGEMENT_OPERATIONS } from './management/index.js';
import type { Operation } from './operation.js';
import { OPERATIONS } from './operations/index.js';
import { SEARCH_OPERATIONS } from './search/index.js';
import { pathsOf } from './server/routing.js';
import { SESSION_COOKIE } from './sessions/cookie.js';
import type { ApiResponse, SentRequest } from './testing/api-harness.js';
import { MARK, TestObjects } from './testing/isolation-objects.js';
import type { IndexRow, IsolationRequest, TokenRow } from './testing/isolation-rows.js';
import { ISOLATION } from './testing/isolation-table.js';
import { UPSTASH_MANAGEMENT_OPERATIONS, UPSTASH_OPERATIONS } from './upstash/index.js';

const ALL: readonly Operation[] = [
  ...OPERATIONS,
  ...SEARCH_OPERATIONS,
  ...MANAGEMENT_OPERATIONS,
  ...UPSTASH_OPERATIONS,
  ...UPSTASH_MANAGEMENT_OPERATIONS,
  ...dashboardOperations(null),
];

interface Login {
  readonly cookie: string;
  readonly csrf: string;
}

let objects: TestObjects;
let logins: Readonly<Record<Person, Login>>;
/** Another instance of the owner. */
const OTHER = 'qi_2';

async function logIn(person: Person): Promise<Login> {
  const payload = JSON.stringify({ email: emailOf(person), api_key: apiKeyOf(person) });
  const response = await objects.harness.send<{ csrf_token: string }>({
    method: 'POST',
    url: '/v2/session',
    headers: { 'content-type': 'application/json' },
    payload,
  });
  assert.equal(response.status, 200);
  const cookie = String(response.headers['set-cookie']).split(';', 1)[0] ?? '';
  return { cookie, csrf: response.body.csrf_token };
}

before(async () => {
  objects = await TestObjects.open();
  const { accounts } = objects.harness.store;
  const { owner } = objects.people.principals;
  const second = doneValue(await objects.harness.accounts.createTeam(owner, 'second'));
  await accounts.changeInstance({ instanceId: 'qi_1', change: { accountId: objects.people.teamId } });
  await accounts.changeInstance({ instanceId: OTHER, change: { accountId: second.teamId } });
  logins = {
    operator: await logIn('operator'),
    owner: await logIn('owner'),
    admin: await logIn('admin'),
    dev: await logIn('dev'),
    finance: await logIn('finance'),
    stranger: await logIn('stranger'),
  };
});
after(() => objects.harness.close());

function requestOf({ method }: Operation, path: string, asked: IsolationRequest): SentRequest {
  const { params = {}, query, headers = {}, body } = asked;
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = params[name] ?? 'none';
    return value.startsWith('http') ? value : encodeURIComponent(value);
  });
  const url = query === undefined ? filled : `${filled}?${query}`;
  if (body === undefined) return { method, url, headers };
  return { method, url, headers: { 'content-type': 'application/json', ...headers }, payload: JSON.stringify(body) };
}

interface Sent {
  readonly who: Person;
  readonly queue?: string;
  /** CSRF token of the request. By default, that of the session; null sends none. */
  readonly csrf?: string | null;
  readonly more?: Readonly<Record<string, string>>;
}

function send(request: SentRequest, { who, queue, csrf, more = {} }: Sent): Promise<ApiResponse<unknown>> {
  const { cookie, csrf: own } = logins[who];
  const token = csrf === undefined ? own : csrf;
  const headers: InjectOptions['headers'] = {
    ...request.headers,
    cookie: `theme=dark; ${cookie}`,
    ...(token === null ? {} : { 'x-everstep-csrf': token }),
    ...(queue === undefined ? {} : { 'x-everstep-queue': queue }),
    ...more,
  };
  return objects.harness.send<unknown>({ ...request, headers });
}

const codeOf = ({ headers }: ApiResponse<unknown>): string =>
  String(headers['svc-error-code'] ?? headers['upstash-error-code'] ?? '');

/** Asserts that the operation requires the CSRF token, for a role that may perform it. */
async function assertNeedsCsrf(operation: Operation, request: SentRequest, sent: Sent): Promise<void> {
  if (operation.method === 'GET') return;
  const stranger = logins.stranger.csrf;
  const tries: Readonly<Record<string, Partial<Sent>>> = {
    'without a CSRF token': { csrf: null },
    'with an empty one': { csrf: '' },
    'with a wrong one': { csrf: 'x'.repeat(stranger.length) },
    'with that of another session': { csrf: sent.who === 'stranger' ? logins.owner.csrf : stranger },
    'from another site': { more: { 'sec-fetch-site': 'cross-site' } },
    'from a site beside it': { more: { 'sec-fetch-site': 'same-site' } },
    'from another origin': { more: { origin: 'http://evil.test' } },
    'from no origin': { more: { origin: 'null' } },
  };
  for (const [what, part] of Object.entries(tries)) {
    const received = await send(request, { ...sent, ...part });
    assert.deepEqual([received.status, codeOf(received)], [403, 'csrf-refused'], `${what}: ${JSON.stringify(received.body)}`);
  }
}

/** Asserts that the role may perform the operation. The status can be 404, because another role may have performed it before. */
async function assertLetIn(request: SentRequest, sent: Sent): Promise<void> {
  const result = await send(request, sent);
  assert.ok(![400, 401, 403].includes(result.status), `${sent.who}: ${result.status} ${JSON.stringify(result.body)}`);
}

async function walkToken(operation: Operation, row: TokenRow, path: string): Promise<void> {
  const request = requestOf(operation, path, await row.prepare(objects));
  const own: Sent = { who: 'owner', queue: 'qi_1' };
  await assertNeedsCsrf(operation, request, own);
  const nameless = await send(request, { who: 'owner' });
  assert.deepEqual([nameless.status, codeOf(nameless)], [400, 'bad-header'], 'without a queue instance');
  for (const [who, queue] of [
    ['stranger', 'qi_1'],
    ['operator', 'qi_1'],
    ['admin', OTHER],
    ['owner', 'qi_none'],
    ['owner', 'qi_us'],
  ] as const) {
    const response = await send(request, { who, queue });
    assert.equal(response.status, 404, `${who} at ${queue}: ${JSON.stringify(response.body)}`);
    assert.match(JSON.stringify(response.body), /there is no queue instance with this id, or you do not have access to it/);
  }
  const other = await send(request, { who: 'owner', queue: OTHER });
  assert.equal(other.status, row.other, `at another instance: ${JSON.stringify(other.body)}`);
  if (!`${request.url} ${String(request.payload ?? '')}`.includes(MARK))
    assert.ok(!JSON.stringify(other.body ?? null).includes(MARK), `another instance shows ${JSON.stringify(other.body)}`);
  const looking = await send(request, { who: 'finance', queue: 'qi_1' });
  assert.equal(looking.status, row.readOnly, `finance: ${JSON.stringify(looking.body)}`);
  if (row.readOnly === 403) assert.equal(codeOf(looking), 'forbidden');
  const beside = await send({ ...request, headers: { ...request.headers, authorization: 'Bearer not.a.token' } }, own);
  assert.equal(beside.status, 401, 'a bad token beside a good session');
  const last = await send(request, { who: 'dev', queue: 'qi_1', more: { origin: 'http://localhost:80' } });
  assert.equal(last.status, row.own, `dev: ${JSON.stringify(last.body)}`);
  for (const who of ['owner', 'admin'] as const) await assertLetIn(request, { who, queue: 'qi_1' });
}

async function walkIndex(operation: Operation, row: IndexRow, path: string): Promise<void> {
  const { index } = await objects.index();
  const target = { indexId: index.indexId, namespace: 'n' };
  await objects.harness.search.documents.upsert({
    ...target,
    documents: [{ id: 'd', content: '{"text":"a text"}', metadata: null }],
  });
  const request = requestOf(operation, path, { ...(await row.prepare(objects)), params: target });
  const nowhere = requestOf(operation, path, { ...(await row.prepare(objects)), params: { ...target, indexId: 'idx_none' } });
  await assertNeedsCsrf(operation, request, { who: 'dev' });
  for (const who of ['stranger', 'operator'] as const) {
    const [hidden, unknown] = [await send(request, { who }), await send(nowhere, { who })];
    assert.deepEqual([hidden.status, hidden.body], [unknown.status, unknown.body], 'like an index that does not exist');
    assert.equal(hidden.status, 404);
  }
  assert.equal((await send(request, { who: 'finance' })).status, row.readOnly, 'finance');
  const last = await send(request, { who: 'dev' });
  assert.equal(last.status, 200, `dev: ${JSON.stringify(last.body)}`);
  for (const who of ['admin', 'owner'] as const) await assertLetIn(request, { who });
}

test('each operation responds to the session of each role as the table says, and requires the CSRF token for changes', async (t) => {
  for (const operation of ALL) {
    const row = ISOLATION[operation.operationId];
    assert.ok(row);
    for (const path of pathsOf(operation)) {
      await t.test(`${operation.method} ${path} ${operation.dialect ?? ''}`, async () => {
        switch (row.access) {
          case 'open':
            return;
          case 'session': {
            const request = requestOf(operation, path, {});
            await assertNeedsCsrf(operation, request, { who: 'owner' });
            const response = await send(request, { who: 'owner' });
            assert.equal(response.status, 200);
            if (operation.method === 'DELETE') logins = { ...logins, owner: await logIn('owner') };
            return;
          }
          case 'token':
            return walkToken(operation, row, path);
          case 'index':
            return walkIndex(operation, row, path);
          case 'account':
            for (const who of PEOPLE) {
              const request = requestOf(operation, path, await row.prepare(objects));
              if (row.people[who] === 200) await assertNeedsCsrf(operation, request, { who });
              const response = await send(request, { who });
              assert.equal(response.status, row.people[who], `${who}: ${JSON.stringify(response.body)}`);
              if (operation.operationId === 'revokeSessions') logins = { ...logins, [who]: await logIn(who) };
            }
        }
      });
    }
  }
});

test('rejects an invalid session cookie without a password prompt', async () => {
  const whole = logins.dev.cookie.split('=')[1] ?? '';
  const secrets = ['x', 'es_', `es_${'A'.repeat(43)}`, whole.slice(0, -1), `${whole}x`, whole.toUpperCase()];
  for (const url of ['/v2/account', '/v2/workflows/logs', '/v2/session', '/search/idx_1/info']) {
    for (const secret of secrets) {
      const headers = { cookie: `${SESSION_COOKIE}=${secret}`, 'x-everstep-queue': 'qi_1' };
      const response = await objects.harness.api.inject({ method: url.endsWith('info') ? 'POST' : 'GET', url, headers });
      assert.deepEqual([response.statusCode, response.headers['svc-error-code']], [401, 'session-ended'], `${url} ${secret}`);
      assert.equal(response.headers['www-authenticate'], 'Everstep-Session');
    }
  }
});
