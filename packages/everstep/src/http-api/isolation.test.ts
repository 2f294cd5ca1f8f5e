import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { InjectOptions } from 'fastify';
import { basicOf, doneValue, PEOPLE } from '../accounts/people.fixture.js';
import { BUILT_IN_PLANS, DEFAULT_PLAN_NAME, setPlanForNewInstances } from '../accounts/plans/plans.js';
import { LIMITS } from '../config/limits.js';
import { dashboardOperations } from './dashboard/index.js';
import { MANAGEMENT_OPERATIONS } from './management/index.js';
import type { Operation } from './operation.js';
import { OPERATIONS } from './operations/index.js';
import { MANAGEMENT_REFERENCE, RUNTIME_REFERENCE, referenceOperations } from './reference/index.js';
import { SEARCH_OPERATIONS } from './search/index.js';
import { pathsOf, routerPath } from './server/routing.js';
import { ApiHarness, type ApiResponse, type SentRequest } from './testing/api-harness.js';
import { type Credentials, createCredentials, type Headers } from './testing/isolation-credentials.js';
import { MARK, REGION, TestObjects } from './testing/isolation-objects.js';
import type { IndexRow, IsolationRequest, Row } from './testing/isolation-rows.js';
import { ISOLATION } from './testing/isolation-table.js';
import { UPSTASH_API, UPSTASH_MANAGEMENT_OPERATIONS, UPSTASH_OPERATIONS } from './upstash/index.js';

const ALL: readonly Operation[] = [
  ...OPERATIONS,
  ...SEARCH_OPERATIONS,
  ...MANAGEMENT_OPERATIONS,
  ...UPSTASH_OPERATIONS,
  ...UPSTASH_MANAGEMENT_OPERATIONS,
  ...referenceOperations([RUNTIME_REFERENCE, MANAGEMENT_REFERENCE, ...UPSTASH_API.references]),
  ...dashboardOperations(null),
];

let objects: TestObjects;
let credentials: Credentials;
let attempts = 0;
/** The clock of the accounts is far ahead, so that failed logins of one operation do not block the next. */
let aheadMs = 0;

before(async () => {
  // One account creates many objects.
  const plans = setPlanForNewInstances(BUILT_IN_PLANS, DEFAULT_PLAN_NAME) ?? BUILT_IN_PLANS;
  objects = await TestObjects.open({ plans, accountNow: () => Date.now() + aheadMs });
  credentials = await createCredentials(objects);
});
after(() => objects.harness.close());

function requestOf({ method }: Operation, path: string, asked: IsolationRequest): SentRequest {
  const { params = {}, query, headers = {}, body } = asked;
  // A workflow URL is raw in the path.
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = params[name] ?? 'none';
    return value.startsWith('http') ? value : encodeURIComponent(value);
  });
  const url = query === undefined ? filled : `${filled}?${query}`;
  if (body === undefined) return { method, url, headers };
  return { method, url, headers: { 'content-type': 'application/json', ...headers }, payload: JSON.stringify(body) };
}

/** Each case uses its own address, so that failed logins of one case do not block the next. */
function send(request: SentRequest, authorization: string | null, query = ''): Promise<ApiResponse<unknown>> {
  attempts += 1;
  const remoteAddress = `10.${(attempts >> 16) & 255}.${(attempts >> 8) & 255}.${attempts & 255}`;
  const headers: InjectOptions['headers'] = { ...request.headers, ...(authorization === null ? {} : { authorization }) };
  const url = query === '' ? request.url : `${request.url}${request.url.includes('?') ? '&' : '?'}${query}`;
  return objects.harness.send<unknown>({ ...request, url, headers, remoteAddress });
}

/** Asserts that the response to another caller contains only data that the caller sent. */
function assertNothingOfOthers(request: SentRequest, response: ApiResponse<unknown>, who: string): void {
  const asked = `${request.url} ${String(request.payload ?? '')}`;
  // The audit log contains the filters of bulk actions, including ids of rejected requests of others.
  const shown = JSON.stringify(response.body ?? null, (name, value) => (name === 'details' ? undefined : value));
  if (!asked.includes(MARK)) assert.ok(!shown.includes(MARK), `${who} sees ${shown}`);
}

async function assertRefused(request: SentRequest, authorization: string | null, challenge: RegExp, what: string): Promise<void> {
  const received = await send(request, authorization);
  assert.equal(received.status, 401, `${what}: ${JSON.stringify(received.body)}`);
  assert.match(String(received.headers['www-authenticate']), challenge, what);
  assert.match(JSON.stringify(received.body), /Bearer|Basic|token|API key/, `${what} says what to send`);
}

async function assertAllRefused(request: SentRequest, refused: Headers, challenge: RegExp): Promise<void> {
  await assertRefused(request, null, challenge, 'without a credential');
  for (const [what, authorization] of Object.entries(refused))
    await assertRefused(request, authorization, challenge, `a credential that is ${what}`);
}

/** Sends requests with every kind of credential to an operation of a search index. */
async function walkIndex(operation: Operation, row: IndexRow, path: string): Promise<void> {
  const { harness, people } = objects;
  const [old, other] = [await objects.index(), await objects.index()];
  const foreignRequest = { name: 'theirs', region: REGION, type: 'free', teamId: people.otherTeamId } as const;
  const foreign = doneValue(await harness.search.create(people.principals.stranger, foreignRequest));
  const own = doneValue(await harness.search.resetPassword(people.principals.owner, old.index.indexId));
  const target = { indexId: own.index.indexId, namespace: 'n' };
  await harness.search.documents.upsert({ ...target, documents: [{ id: 'd', content: '{"text":"a text"}', metadata: null }] });
  const request = requestOf(operation, path, { ...(await row.prepare(objects)), params: target });
  const refused = {
    ...credentials.rejectedByIndexes,
    'of before the password was reset': `Bearer ${old.token}`,
    'of before the password was reset, read-only': `Bearer ${old.readOnlyToken}`,
    'of another index': `Bearer ${other.token}`,
    'of an index of another team': `Bearer ${foreign.token}`,
    'of an index of another team, read-only': `Bearer ${foreign.readOnlyToken}`,
    'cut off': `Bearer ${own.token?.slice(0, -1)}`,
  };
  await assertAllRefused(request, refused, /^Bearer/);
  assert.equal((await send(request, null, `svc_token=${own.token}`)).status, 401, 'its own token in the query');
  const nowhere = requestOf(operation, path, { ...(await row.prepare(objects)), params: { ...target, indexId: 'idx_none' } });
  for (const { token } of [other, foreign]) {
    const [hidden, unknown] = [await send(request, `Bearer ${token}`), await send(nowhere, `Bearer ${token}`)];
    assert.deepEqual([hidden.status, hidden.body], [unknown.status, unknown.body], 'like an index that does not exist');
  }
  for (const person of ['stranger', 'operator'] as const) {
    const [hidden, unknown] = [await send(request, basicOf(person)), await send(nowhere, basicOf(person))];
    assert.deepEqual([hidden.status, hidden.body], [404, unknown.body], `the login of ${person}`);
  }
  assert.equal((await send(request, basicOf('finance'))).status, row.readOnly, 'the login of a user who can only read');
  const readOnly = await send(request, `Bearer ${own.readOnlyToken}`);
  assert.equal(readOnly.status, row.readOnly, `read-only: ${JSON.stringify(readOnly.body)}`);
  const result = await send(request, `Bearer ${own.token}`);
  assert.equal(result.status, 200, `own, after all the others: ${JSON.stringify(result.body)}`);
}

/** Asserts that a successful request is in the audit log. Its entry exists when the response arrives. */
async function assertAudited({ operationId, audit }: Operation, request: SentRequest): Promise<void> {
  if (audit === undefined || audit.kind === 'none' || UNRECORDED.includes(operationId)) return;
  const [entry] = await objects.harness.store.accounts.listAudit({ accountIds: null, after: null, limit: 1 });
  assert.equal(entry?.request?.operation, operationId, `${request.url} is in the audit log: ${JSON.stringify(entry)}`);
  assert.equal(entry.request.outcome, 'done');
  if (audit.kind === 'change' && audit.subject !== undefined) assert.notEqual(entry.subject, '', 'it names the object');
}

/** Repeated reads of secrets within a minute are one entry, and changes of documents are recorded only for sessions. */
const UNRECORDED: readonly string[] = ALL.flatMap(({ operationId, audit }) =>
  audit?.kind === 'secret-read' || (audit?.kind === 'change' && audit.isOnlyForUsers) ? [operationId] : [],
);

async function walk(operation: Operation, row: Row, path: string): Promise<void> {
  aheadMs += LIMITS.failedLoginWindowMs;
  const fresh = async () => requestOf(operation, path, await row.prepare(objects));
  const request = await fresh();
  switch (row.access) {
    case 'open': {
      const any = { ...credentials.rejectedByInstances, ...credentials.rejectedByUsers, ...credentials.outsiders };
      for (const authorization of [null, `Bearer ${objects.harness.token}`, ...Object.values(any)])
        assert.equal((await send(await fresh(), authorization)).status, row.status, String(authorization));
      break;
    }
    case 'session': {
      const any = { ...credentials.rejectedByInstances, ...credentials.rejectedByUsers, ...credentials.outsiders };
      for (const authorization of [null, `Bearer ${objects.harness.token}`, ...Object.values(any)])
        assert.equal((await send(request, authorization)).status, 401, String(authorization));
      break;
    }
    case 'index':
      await walkIndex(operation, row, path);
      break;
    case 'token': {
      await assertAllRefused(request, credentials.rejectedByInstances, /^Bearer/);
      assert.equal((await send(request, null, 'svc_token=not.a.token')).status, 401, 'a bad token in the query');
      for (const [who, authorization] of Object.entries(credentials.otherInstances)) {
        const other = await send(request, authorization);
        assert.equal(other.status, row.other, `${who}: ${JSON.stringify(other.body)}`);
        assertNothingOfOthers(request, other, who);
      }
      const readOnly = await send(request, `Bearer ${objects.harness.readOnlyToken}`);
      assert.equal(readOnly.status, row.readOnly, `read-only: ${JSON.stringify(readOnly.body)}`);
      const own = await send(request, `Bearer ${objects.harness.token}`);
      assert.equal(own.status, row.own, `own, after all the others: ${JSON.stringify(own.body)}`);
      if (own.status < 300) await assertAudited(operation, request);
      break;
    }
    case 'account': {
      await assertAllRefused(request, credentials.rejectedByUsers, /^Basic/);
      assert.equal((await send(request, null, `svc_token=${objects.harness.token}`)).status, 401, 'a token in the query');
      const outsider = async (who: string, authorization: string) => {
        const asked = await fresh();
        const response = await send(asked, authorization);
        assert.equal(response.status, row.people.stranger, `${who}: ${JSON.stringify(response.body)}`);
        assertNothingOfOthers(asked, response, who);
      };
      for (const [who, authorization] of Object.entries(credentials.outsiders)) await outsider(who, authorization);
      for (const person of PEOPLE) {
        if (person === 'stranger') {
          await outsider(person, basicOf(person));
          continue;
        }
        const response = await send(await fresh(), basicOf(person));
        assert.equal(response.status, row.people[person], `${person}: ${JSON.stringify(response.body)}`);
        if (response.status < 300) await assertAudited(operation, request);
      }
      break;
    }
  }
}

/** Sends HEAD requests, which must not be easier to access than the corresponding GET requests. */
async function walkHead(operation: Operation, path: string): Promise<void> {
  if (operation.access === 'open') return;
  const { url } = requestOf(operation, path, {});
  const refused = operation.access === 'account' ? credentials.rejectedByUsers : credentials.rejectedByInstances;
  for (const authorization of [null, ...Object.values(refused)]) {
    attempts += 1;
    const headers = authorization === null ? {} : { authorization };
    const remoteAddress = `10.${(attempts >> 16) & 255}.${(attempts >> 8) & 255}.${attempts & 255}`;
    const { statusCode, payload } = await objects.harness.api.inject({ method: 'HEAD', url, headers, remoteAddress });
    assert.deepEqual([statusCode, payload], [401, ''], `${url} with ${authorization}`);
  }
}

test('the isolation table has exactly one row for each operation of all APIs', () => {
  const kinds = (entries: readonly (readonly [string, string])[]) => Object.fromEntries(entries);
  assert.deepEqual(
    kinds(Object.entries(ISOLATION).map(([id, { access }]) => [id, access])),
    kinds(ALL.map(({ operationId, access }) => [operationId, access])),
  );
});

test('each route responds to each credential as the isolation table says', async (t) => {
  const declared = new Map(
    ALL.flatMap((operation) =>
      pathsOf(operation).map((path) => [`${operation.method} ${routerPath(path)}`, { operation, path }]),
    ),
  );
  const { routes } = objects.harness.api;
  for (const { method, path: url } of routes) {
    await t.test(`${method} ${url}`, async () => {
      const found = declared.get(`${method === 'HEAD' ? 'GET' : method} ${url}`);
      const row = found && ISOLATION[found.operation.operationId];
      assert.ok(row, 'the table has no row for this route');
      if (method === 'HEAD') await walkHead(found.operation, found.path);
      else await walk(found.operation, row, found.path);
    });
  }
  const served = new Set(routes.map(({ method, path }) => `${method} ${path}`));
  assert.deepEqual(
    [...declared.keys()].filter((route) => !served.has(route)),
    [],
    'every declared operation is served',
  );
});

test('a server of one API has no other routes than the server of both', async () => {
  const both = new Set(objects.harness.api.routes.map(({ method, path }) => `${method} ${path}`));
  for (const serves of ['runtime', 'management'] as const) {
    const harness = await ApiHarness.open({ serves });
    const routes = harness.api.routes.map(({ method, path }) => `${method} ${path}`);
    assert.ok(routes.length > 10 && routes.length < both.size, serves);
    assert.deepEqual(
      routes.filter((route) => !both.has(route)),
      [],
      serves,
    );
    await harness.close();
  }
});

test('requests for resources of another team get the same response as for unknown ones', async () => {
  const id = await objects.queue();
  const { teamId } = objects.people;
  const request = (text: string): SentRequest => {
    const [method = '', url = ''] = text.split(' ');
    return { method: method === 'POST' ? 'POST' : 'GET', url, headers: {} };
  };
  for (const [foreign, unknown] of [
    [`GET /v2/queue/user/${id}`, 'GET /v2/queue/user/qi_none'],
    [`GET /v2/queue/stats/${id}`, 'GET /v2/queue/stats/qi_none'],
    [`POST /v2/queue/rotate-token/${id}`, 'POST /v2/queue/rotate-token/qi_none'],
    [`GET /v2/teams/${teamId}`, 'GET /v2/teams/team_none'],
  ] as const) {
    const [first, second] = [
      await send(request(foreign), basicOf('stranger')),
      await send(request(unknown), basicOf('stranger')),
    ];
    assert.deepEqual([first.status, first.body], [second.status, second.body], foreign);
    assert.equal(first.status, 404);
  }
});
