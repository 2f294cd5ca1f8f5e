import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { InjectOptions } from 'fastify';
import { decodeJwt, SignJWT } from 'jose';
import { apiKeyOf, basicOf, emailOf, PEOPLE } from '../accounts/people.fixture.js';
import { UPSTASH_MANAGEMENT_OPERATIONS, UPSTASH_OPERATIONS } from '../dialects/upstash/operations/index.js';
import { MANAGEMENT_OPERATIONS } from './management/index.js';
import type { Operation } from './operation.js';
import { OPERATIONS } from './operations/index.js';
import { pathsOf } from './routing.js';
import { SEARCH_OPERATIONS } from './search/index.js';
import type { Answered, SentRequest } from './testing/api-world.js';
import { type Asked, type IndexRow, ISOLATION, type Row } from './testing/isolation-table.js';
import { MARK, Things } from './testing/isolation-things.js';

const ALL: readonly Operation[] = [
  ...OPERATIONS,
  ...SEARCH_OPERATIONS,
  ...MANAGEMENT_OPERATIONS,
  ...UPSTASH_OPERATIONS,
  ...UPSTASH_MANAGEMENT_OPERATIONS,
];

let things: Things;
/** Authorization headers that no operation takes, by what is wrong with them. */
let refusedByToken: Readonly<Record<string, string>>;
let refusedByAccount: Readonly<Record<string, string>>;
let otherToken: string;
let attempts = 0;

const basic = (text: string): string => `Basic ${Buffer.from(text).toString('base64')}`;

/** A token of the installation that was good until a minute ago. */
async function expired(token: string): Promise<string> {
  const secret = await things.world.store.accounts.secret({ name: 'token-signing-key', value: 'unused' });
  const past = Math.floor(Date.now() / 1000) - 60;
  return new SignJWT({ ...decodeJwt(token), exp: past })
    .setProtectedHeader({ alg: 'HS256', typ: 'JWT' })
    .sign(new TextEncoder().encode(secret));
}

before(async () => {
  things = await Things.open();
  const { world, people } = things;
  const { authority, accounts } = world;
  otherToken = await authority.issueToken({ instanceId: 'qi_2', access: 'read-write' });
  const rotated = await authority.issueToken({ instanceId: 'qi_1', access: 'read-write' });
  assert.equal((await authority.verify(rotated, 'eu-central-1')).ok, true);
  await authority.revoke(String(decodeJwt(rotated).jti));
  const elsewhere = await authority.issueToken({ instanceId: 'qi_us', access: 'read-write' });
  refusedByToken = {
    malformed: 'Bearer not.a.token',
    'without its signature': `Bearer ${world.token.split('.').slice(0, 2).join('.')}.`,
    'without a scheme': world.token,
    expired: `Bearer ${await expired(world.token)}`,
    rotated: `Bearer ${rotated}`,
    'of another region': `Bearer ${elsewhere}`,
    'of the management API': basicOf('owner'),
  };
  const made = await accounts.createApiKey(people.principals.dev, 'to be revoked');
  assert.ok(made.kind === 'done');
  await accounts.revokeApiKey(people.principals.dev, made.value.record.apiKeyId);
  refusedByAccount = {
    'no base64': 'Basic %%%',
    'without a colon': basic('owner'),
    'without a key': basic(`${emailOf('admin')}:`),
    'with the key of another user': basic(`${emailOf('finance')}:${apiKeyOf('owner')}`),
    'with a revoked key': basic(`${emailOf('dev')}:${made.value.apiKey}`),
    'of nobody': basic('nobody@w.test:ek_nobody'),
    'of the runtime API': `Bearer ${world.token}`,
    'a token as the key': basic(`${emailOf('stranger')}:${world.token}`),
  };
});
after(() => things.world.close());

function requestOf({ method }: Operation, path: string, asked: Asked): SentRequest {
  const { params = {}, query, headers = {}, body } = asked;
  // A workflow URL stands in the path as it is.
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = params[name] ?? 'none';
    return value.startsWith('http') ? value : encodeURIComponent(value);
  });
  const url = query === undefined ? filled : `${filled}?${query}`;
  if (body === undefined) return { method, url, headers };
  return { method, url, headers: { 'content-type': 'application/json', ...headers }, payload: JSON.stringify(body) };
}

/** From an address of its own, so that failed logins of one case do not hold up the next. */
function send(request: SentRequest, authorization: string | null, query = ''): Promise<Answered<unknown>> {
  attempts += 1;
  const remoteAddress = `10.${(attempts >> 16) & 255}.${(attempts >> 8) & 255}.${attempts & 255}`;
  const headers: InjectOptions['headers'] = { ...request.headers, ...(authorization === null ? {} : { authorization }) };
  const url = query === '' ? request.url : `${request.url}${request.url.includes('?') ? '&' : '?'}${query}`;
  return things.world.send<unknown>({ ...request, url, headers, remoteAddress });
}

/** What was not asked for by its id must not be in the answer of somebody else. */
function assertNothingOfOthers(request: SentRequest, answer: Answered<unknown>, who: string): void {
  const asked = `${request.url} ${String(request.payload ?? '')}`;
  if (!asked.includes(MARK))
    assert.ok(!JSON.stringify(answer.body ?? null).includes(MARK), `${who} sees ${JSON.stringify(answer.body)}`);
}

async function assertRefused(request: SentRequest, authorization: string | null, challenge: RegExp, what: string): Promise<void> {
  const answer = await send(request, authorization);
  assert.equal(answer.status, 401, `${what}: ${JSON.stringify(answer.body)}`);
  assert.match(String(answer.headers['www-authenticate']), challenge, what);
  assert.match(JSON.stringify(answer.body), /Bearer|Basic|token|API key/, `${what} says what to send`);
}

/** Of the API of one index. */
async function walkIndex(operation: Operation, row: IndexRow, path: string): Promise<void> {
  const [own, other] = [await things.index(), await things.index()];
  const place = { indexId: own.index.indexId, namespace: 'n' };
  const { documents } = things.world.search;
  await documents.upsert({ ...place, documents: [{ id: 'd', content: '{"text":"a text"}', metadata: null }] });
  const request = requestOf(operation, path, { ...(await row.ask(things)), params: place });
  await assertRefused(request, null, /^Bearer/, 'without a token');
  const refused = {
    ...refusedByToken,
    'of another index': `Bearer ${other.token}`,
    'of the runtime API': `Bearer ${things.world.token}`,
  };
  for (const [what, authorization] of Object.entries(refused))
    await assertRefused(request, authorization, /^Bearer/, `a token that is ${what}`);
  const nowhere = requestOf(operation, path, { ...(await row.ask(things)), params: { ...place, indexId: 'idx_none' } });
  const [foreign, unknown] = [await send(request, `Bearer ${other.token}`), await send(nowhere, `Bearer ${other.token}`)];
  assert.deepEqual([foreign.status, foreign.body], [unknown.status, unknown.body], 'like an index that does not exist');
  const readOnly = await send(request, `Bearer ${own.readOnlyToken}`);
  assert.equal(readOnly.status, row.readOnly, `read-only: ${JSON.stringify(readOnly.body)}`);
  const answer = await send(request, `Bearer ${own.token}`);
  assert.equal(answer.status, 200, `own, after all the others: ${JSON.stringify(answer.body)}`);
}

async function walk(operation: Operation, row: Row): Promise<void> {
  for (const path of pathsOf(operation)) {
    const fresh = async () => requestOf(operation, path, await row.ask(things));
    const request = await fresh();
    switch (row.access) {
      case 'open': {
        for (const authorization of [null, 'Bearer not.a.token', basicOf('owner')])
          assert.equal((await send(request, authorization)).status, row.anybody, String(authorization));
        break;
      }
      case 'index':
        await walkIndex(operation, row, path);
        break;
      case 'token': {
        await assertRefused(request, null, /^Bearer/, 'without a token');
        for (const [what, authorization] of Object.entries(refusedByToken))
          await assertRefused(request, authorization, /^Bearer/, `a token that is ${what}`);
        assert.equal((await send(request, null, 'svc_token=not.a.token')).status, 401, 'a bad token in the query');
        const other = await send(request, `Bearer ${otherToken}`);
        assert.equal(other.status, row.other, `another instance: ${JSON.stringify(other.body)}`);
        assertNothingOfOthers(request, other, 'another instance');
        const readOnly = await send(request, `Bearer ${things.world.readOnlyToken}`);
        assert.equal(readOnly.status, row.readOnly, `read-only: ${JSON.stringify(readOnly.body)}`);
        const own = await send(request, `Bearer ${things.world.token}`);
        assert.equal(own.status, row.own, `own, after all the others: ${JSON.stringify(own.body)}`);
        break;
      }
      case 'account': {
        await assertRefused(request, null, /^Basic/, 'without a credential');
        for (const [what, authorization] of Object.entries(refusedByAccount))
          await assertRefused(request, authorization, /^Basic/, `a credential ${what}`);
        assert.equal((await send(request, null, `svc_token=${things.world.token}`)).status, 401, 'a token in the query');
        for (const person of PEOPLE) {
          const asked = await fresh();
          const answer = await send(asked, basicOf(person));
          assert.equal(answer.status, row.people[person], `${person}: ${JSON.stringify(answer.body)}`);
          if (person === 'stranger') assertNothingOfOthers(asked, answer, person);
        }
        break;
      }
    }
  }
}

test('every operation of all APIs has a row, of its kind, and every row an operation', () => {
  const kinds = (entries: readonly (readonly [string, string])[]) => Object.fromEntries(entries);
  assert.deepEqual(
    kinds(Object.entries(ISOLATION).map(([id, { access }]) => [id, access])),
    kinds(ALL.map(({ operationId, access }) => [operationId, access])),
  );
});

test('each operation answers each credential as the table says', async (t) => {
  for (const operation of ALL) {
    const row = ISOLATION[operation.operationId];
    if (row) await t.test(`${operation.method} ${operation.path}`, () => walk(operation, row));
  }
});

test('a HEAD request is let in no more easily than a GET', async () => {
  for (const operation of ALL.filter(({ method, access, head }) => method === 'GET' && access !== 'open' && head !== false)) {
    const { url } = requestOf(operation, operation.path, {});
    const { statusCode } = await things.world.api.inject({ method: 'HEAD', url });
    assert.equal(statusCode, 401, url);
  }
});

test('what another team owns is answered like what does not exist', async () => {
  const id = await things.queue();
  const { teamId } = things.people;
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
