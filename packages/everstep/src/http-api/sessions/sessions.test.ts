/** Sessions over real HTTP: login, authentication, and the ways in which a session ends. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import {
  addMember,
  apiKeyOf,
  createPeople,
  doneValue,
  emailOf,
  type People,
  type Person,
} from '../../accounts/people.fixture.js';
import { loadPlans } from '../../accounts/plans/plans.js';
import { LIMITS } from '../../config/limits.js';
import { createHttpApi, type HttpApi } from '../index.js';
import { ApiHarness } from '../testing/api-harness.js';
import { removeSecret, secretOf } from './cookie.js';
import { checkOrigin } from './same-origin.js';

interface SessionBody {
  readonly user: { readonly id: string; readonly email: string };
  readonly csrf_token: string;
  readonly expires_at: number;
}
interface Login {
  readonly response: Response;
  readonly body: SessionBody;
  readonly setCookie: string;
  /** Headers that a browser sends. */
  readonly headers: Readonly<Record<string, string>>;
}

const QUIET = { debug() {}, info() {}, warn() {}, error() {} };

describe('sessions', () => {
  let harness: ApiHarness;
  let people: People;
  let url: string;

  before(async () => {
    harness = await ApiHarness.open({ trustedProxies: ['127.0.0.1'] });
    people = await createPeople(harness.store.accounts, harness.accounts);
    await harness.store.accounts.changeInstance({ instanceId: 'qi_1', change: { accountId: people.teamId } });
    url = `http://127.0.0.1:${(await harness.api.listen({ host: '127.0.0.1', port: 0 })).port}`;
  });
  after(() => harness.close());

  const post = (body: unknown, headers: Readonly<Record<string, string>> = {}, at = url) =>
    fetch(`${at}/v2/session`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    });

  async function logIn(
    person: Person,
    headers: Readonly<Record<string, string>> = {},
    apiKey = apiKeyOf(person),
  ): Promise<Login> {
    const response = await post({ email: emailOf(person), api_key: apiKey }, headers);
    const body = (await response.json()) as SessionBody;
    const [setCookie = ''] = response.headers.getSetCookie();
    const cookie = setCookie.split(';', 1)[0] ?? '';
    return { response, body, setCookie, headers: { cookie, 'x-everstep-csrf': body.csrf_token } };
  }

  const statusOf = async (path: string, init: RequestInit): Promise<number> => (await fetch(`${url}${path}`, init)).status;
  const isIn = async ({ headers }: Pick<Login, 'headers'>): Promise<boolean> => {
    const status = await statusOf('/v2/session', { headers });
    assert.ok([200, 401].includes(status));
    return status === 200;
  };

  test('a login returns the user and a CSRF token, and sets a cookie that scripts and other sites cannot read', async () => {
    const { response, body, setCookie, headers } = await logIn('dev');
    assert.equal(response.status, 200);
    assert.deepEqual(body.user, { id: people.principals.dev.user.userId, email: emailOf('dev') });
    const inMs = body.expires_at * 1000 - Date.now();
    assert.ok(Math.abs(inMs - LIMITS.sessionIdleMs) < 60_000, String(inMs));
    assert.match(setCookie, /^everstep_session=es_[\w-]{43}; Max-Age=604800; Path=\/; HttpOnly; SameSite=Strict$/);
    assert.equal(response.headers.get('cache-control'), 'no-store');
    assert.ok(!JSON.stringify(body).includes(headers.cookie?.split('=')[1] ?? ''), 'the secret is in the cookie alone');
    const again = await fetch(`${url}/v2/session`, { headers });
    assert.deepEqual(await again.json(), body);
  });

  test('the cookie is for https only if the client uses https, also behind a trusted proxy', async () => {
    const login = await logIn('dev', { 'x-forwarded-proto': 'https' });
    assert.match(
      login.setCookie,
      /^__Host-everstep_session=eh_[\w-]{43}; Max-Age=604800; Path=\/; HttpOnly; SameSite=Strict; Secure$/,
    );
    assert.equal(await isIn(login), true);
    const secure = { ...login.headers, 'x-forwarded-proto': 'https' };
    const out = await fetch(`${url}/v2/session`, { method: 'DELETE', headers: secure });
    assert.match(out.headers.getSetCookie()[0] ?? '', /^__Host-everstep_session=; Max-Age=0; Path=\/; .*; Secure$/);
    assert.equal(await isIn(login), false);
  });

  test('with a public https URL the cookie is for https only, whatever the proxy reports', async () => {
    const shared = { ...harness, service: harness.runtime, log: QUIET, version: '1' };
    const api = createHttpApi({ ...shared, usesHttps: true });
    const payload = { email: emailOf('dev'), api_key: apiKeyOf('dev') };
    const { headers } = await api.inject({ method: 'POST', url: '/v2/session', payload });
    assert.match(String(headers['set-cookie']), /^__Host-everstep_session=.*; Secure$/);
    await api.close();
  });

  test('an https session is valid only in its own cookie, and a session of an earlier version until it ends', async () => {
    const [{ headers: planted }, { headers: own }] = [
      await logIn('stranger', { 'x-forwarded-proto': 'https' }),
      await logIn('dev', { 'x-forwarded-proto': 'https' }),
    ];
    const [secret = '', ownCookie = ''] = [planted.cookie?.split('=')[1], own.cookie];
    assert.equal(await isIn({ headers: { cookie: `everstep_session=${secret}` } }), false, 'planted by a sibling domain');
    const both = await fetch(`${url}/v2/session`, { headers: { cookie: `everstep_session=es_x; ${ownCookie}` } });
    assert.equal(((await both.json()) as SessionBody).user.email, emailOf('dev'));
    const { headers: old } = await logIn('dev');
    assert.equal(await isIn({ headers: { ...old, 'x-forwarded-proto': 'https' } }), true);
  });

  test('a wrong key, an unknown email and a revoked key get the same response and count as failed logins', async () => {
    const { dev } = people.principals;
    const revoked = doneValue(await harness.accounts.createApiKey(dev, 'revoked'));
    doneValue(await harness.accounts.revokeApiKey(dev, revoked.record.apiKeyId));
    const responses = await Promise.all(
      [
        { email: emailOf('dev'), api_key: 'ek_wrong' },
        { email: emailOf('dev'), api_key: revoked.apiKey },
        { email: 'nobody@w.test', api_key: 'ek_wrong' },
      ].map(async (body) => {
        const response = await post(body, { 'x-forwarded-for': '192.0.2.9' });
        assert.deepEqual(response.headers.getSetCookie(), []);
        assert.equal(response.headers.get('www-authenticate'), null, 'no browser may ask for a password');
        return [response.status, response.headers.get('svc-error-code'), await response.text()];
      }),
    );
    assert.deepEqual(responses[0]?.slice(0, 2), [401, 'bad-credential']);
    assert.deepEqual(responses[1], responses[0]);
    assert.deepEqual(responses[2], responses[0]);
    const entries = await harness.store.accounts.listAudit({ accountIds: [dev.user.userId], after: null, limit: 50 });
    const failed = entries.filter(({ action }) => action === 'login.fail');
    assert.deepEqual(
      failed.map(({ address }) => address),
      ['192.0.2.9', '192.0.2.9'],
    );
  });

  test('blocks logins after too many failures, as with HTTP Basic', async () => {
    const headers = { 'x-forwarded-for': '192.0.2.77' };
    const wrong = { email: emailOf('finance'), api_key: 'ek_wrong' };
    for (let n = 0; n < LIMITS.maxFailedLogins; n++) assert.equal((await post(wrong, headers)).status, 401);
    const waiting = await post({ email: emailOf('finance'), api_key: apiKeyOf('finance') }, headers);
    assert.equal(waiting.status, 429);
    assert.ok(Number(waiting.headers.get('retry-after')) >= 1);
    const authorization = `Basic ${btoa(`${emailOf('finance')}:${apiKeyOf('finance')}`)}`;
    assert.equal(await statusOf('/v2/account', { headers: { ...headers, authorization } }), 429);
  });

  test('rejects logins from pages of other origins', async () => {
    const good = { email: emailOf('dev'), api_key: apiKeyOf('dev') };
    const refused: readonly Readonly<Record<string, string>>[] = [
      { origin: 'http://evil.test' },
      { origin: 'null' },
      { origin: url.replace('127.0.0.1', 'localhost') },
      { origin: url, 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
    ];
    for (const headers of refused) {
      const response = await post(good, headers);
      assert.deepEqual([response.status, response.headers.get('svc-error-code')], [403, 'csrf-refused'], JSON.stringify(headers));
      assert.deepEqual(response.headers.getSetCookie(), []);
    }
    const own: readonly Readonly<Record<string, string>>[] = [{ origin: url }, { 'sec-fetch-site': 'same-origin' }];
    for (const headers of own) assert.equal((await post(good, headers)).status, 200, JSON.stringify(headers));
    const form = await fetch(`${url}/v2/session`, { method: 'POST', headers: { 'content-type': 'text/plain' }, body: '{}' });
    assert.equal(form.status, 415, 'a body that a form can send is rejected');
  });

  test('the cookie gives access to the management API and to a queue instance; changes require the CSRF token', async () => {
    const { headers } = await logIn('dev');
    const { cookie = '' } = headers;
    assert.equal(await statusOf('/v2/account', { headers: { cookie } }), 200);
    const queue = { cookie, 'x-everstep-queue': 'qi_1' };
    assert.equal(await statusOf('/v2/workflows/logs', { headers: queue }), 200);
    const trigger = '/v2/trigger/http://w.test/ok';
    assert.equal(await statusOf(trigger, { method: 'POST', headers: queue }), 403);
    assert.equal(await statusOf(trigger, { method: 'POST', headers: { ...queue, ...headers } }), 200);
    assert.equal(await statusOf('/v2/apikeys', { method: 'POST', headers: { cookie }, body: '{"name":"x"}' }), 403);
  });

  test('runs and key rotations of a session are recorded with the user', async () => {
    const { headers } = await logIn('dev');
    const sent = { ...headers, 'x-everstep-queue': 'qi_1' };
    assert.equal(await statusOf('/v2/keys/rotate', { method: 'POST', headers: sent }), 200);
    const [entry] = await harness.store.accounts.listAudit({ accountIds: [people.teamId], after: null, limit: 1 });
    assert.deepEqual([entry?.action, entry?.actor], ['queue.rotate-signing-keys', emailOf('dev')]);
  });

  test('a change of role takes effect with the next request', async () => {
    const { owner } = people.principals;
    const member = { teamId: people.teamId, email: emailOf('dev') };
    const { headers } = await logIn('dev');
    const sent = { ...headers, 'x-everstep-queue': 'qi_1' };
    const change = () => statusOf('/v2/flowControl/k/pin?parallelism=1', { method: 'POST', headers: sent });
    const look = () => statusOf('/v2/flowControl', { headers: sent });
    assert.equal(await change(), 200);
    doneValue(await harness.accounts.putMember(owner, { ...member, role: 'finance' }));
    assert.deepEqual([await change(), await look()], [403, 200]);
    doneValue(await harness.accounts.removeMember(owner, member));
    assert.deepEqual([await change(), await look()], [404, 404]);
    await addMember(harness.accounts, owner, people.principals.dev, { teamId: people.teamId, role: 'dev' });
    assert.equal(await change(), 200);
  });

  test('logging out ends the session and deletes the cookie; other sessions of the user stay', async () => {
    const [first, second] = [await logIn('dev'), await logIn('dev')];
    assert.equal(await statusOf('/v2/session', { method: 'DELETE', headers: { cookie: first.headers.cookie ?? '' } }), 403);
    const out = await fetch(`${url}/v2/session`, { method: 'DELETE', headers: first.headers });
    assert.deepEqual([out.status, await out.json()], [200, 'OK']);
    assert.match(out.headers.getSetCookie()[0] ?? '', /^everstep_session=; Max-Age=0; Path=\/; HttpOnly; SameSite=Strict$/);
    assert.deepEqual([await isIn(first), await isIn(second)], [false, true]);
  });

  test('users can list their sessions and end one or all of them', async () => {
    interface Listed {
      readonly id: string;
      readonly current: boolean;
      readonly expires_at: number;
    }
    const listed = async ({ headers }: Pick<Login, 'headers'>): Promise<readonly Listed[]> =>
      (await (await fetch(`${url}/v2/sessions`, { headers })).json()) as readonly Listed[];
    const end = (id: string, { headers }: Pick<Login, 'headers'>) => statusOf(`/v2/sessions${id}`, { method: 'DELETE', headers });
    await fetch(`${url}/v2/sessions`, { method: 'DELETE', headers: (await logIn('admin')).headers });
    const [first, second, third] = [await logIn('admin'), await logIn('admin'), await logIn('admin')];
    const other = await logIn('dev');
    const before = await listed(second);
    assert.deepEqual([before.length, before.filter(({ current }) => current).length], [3, 1]);
    assert.equal(before.find(({ current }) => current)?.expires_at, second.body.expires_at);
    assert.ok(!JSON.stringify(before).includes(second.headers.cookie?.split('=')[1] ?? ''), 'no secret is in the list');
    const thirdId = (await listed(third)).find(({ current }) => current)?.id ?? '';
    assert.equal(await end(`/${thirdId}`, other), 404, 'of another user');
    assert.equal(await end(`/${thirdId}`, { headers: { cookie: first.headers.cookie ?? '' } }), 403, 'without the CSRF token');
    assert.equal(await end(`/${thirdId}`, first), 200);
    assert.equal(await end(`/${thirdId}`, first), 404);
    assert.deepEqual([await isIn(first), await isIn(second), await isIn(third)], [true, true, false]);
    const all = await fetch(`${url}/v2/sessions`, { method: 'DELETE', headers: first.headers });
    assert.deepEqual(await all.json(), { ended: 2 });
    assert.match(all.headers.getSetCookie()[0] ?? '', /^everstep_session=; Max-Age=0/);
    assert.deepEqual([await isIn(first), await isIn(second), await isIn(other)], [false, false, true]);
    const authorization = `Basic ${btoa(`${emailOf('admin')}:${apiKeyOf('admin')}`)}`;
    await logIn('admin');
    const byKey = await fetch(`${url}/v2/sessions`, { method: 'DELETE', headers: { authorization } });
    assert.deepEqual([await byKey.json(), byKey.headers.getSetCookie()], [{ ended: 1 }, []]);
    const { admin } = people.principals;
    const entries = await harness.store.accounts.listAudit({ accountIds: [admin.user.userId], after: null, limit: 4 });
    assert.deepEqual(
      entries.map(({ action }) => action).filter((action) => action.startsWith('session.')),
      ['session.end-all', 'session.begin', 'session.end-all'],
    );
  });

  test('revoking the API key ends the sessions that it created', async () => {
    const { dev } = people.principals;
    const { apiKey, record } = doneValue(await harness.accounts.createApiKey(dev, 'for a session'));
    const [byKey, other] = [await logIn('dev', {}, apiKey), await logIn('dev')];
    assert.deepEqual([await isIn(byKey), await isIn(other)], [true, true]);
    doneValue(await harness.accounts.revokeApiKey(dev, record.apiKeyId));
    assert.deepEqual([await isIn(byKey), await isIn(other)], [false, true]);
  });

  test('an Authorization header takes precedence over the cookie', async () => {
    const { headers } = await logIn('dev');
    const authorization = `Basic ${btoa(`${emailOf('dev')}:ek_wrong`)}`;
    assert.equal(await statusOf('/v2/account', { headers: { ...headers, authorization } }), 401);
    assert.equal(await statusOf('/v2/session', { headers: { ...headers, authorization } }), 401);
    const bearer = { authorization: `Bearer ${harness.readOnlyToken}` };
    assert.equal(await statusOf('/v2/trigger/http://w.test/ok', { method: 'POST', headers: { ...headers, ...bearer } }), 403);
  });

  test('an ended session gets no Basic challenge, for which browsers would open a password prompt', async () => {
    const ofPages: readonly Readonly<Record<string, string>>[] = [
      { 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': 'cors' },
      { 'x-everstep-csrf': 'x' },
      { cookie: 'everstep_session=es_x' },
    ];
    for (const headers of ofPages) {
      const response = await fetch(`${url}/v2/account`, { headers });
      assert.deepEqual([response.status, response.headers.get('www-authenticate')], [401, 'Everstep-Session']);
    }
    // In the form in which Node sends it.
    assert.match(
      String((await fetch(`${url}/v2/account`, { headers: { 'sec-fetch-mode': 'cors' } })).headers.get('www-authenticate')),
      /^Basic/,
    );
  });

  test('the dashboard works at a separate management address, and tokens do not work there', async () => {
    const { headers } = await logIn('owner');
    const apart: HttpApi = createHttpApi({
      ...harness,
      service: harness.runtime,
      log: QUIET,
      version: '1',
      serves: 'management',
      dashboard: null,
    });
    const at = async (path: string, given: Readonly<Record<string, string>>) =>
      (await apart.inject({ method: 'GET', url: path, headers: given })).statusCode;
    const authorization = `Bearer ${harness.token}`;
    assert.equal(await at('/v2/workflows/logs', { ...headers, 'x-everstep-queue': 'qi_1' }), 200);
    assert.deepEqual([await at('/v2/workflows/logs', { authorization }), await at('/v2/workflows/logs', {})], [404, 404]);
    assert.equal(await at('/v2/workflows/logs', { ...headers, authorization, 'x-everstep-queue': 'qi_1' }), 404);
    for (const path of ['/v2/workflows/logs', '/v2/keys', '/v2/flowControl']) {
      const withToken = `${path}?svc_token=${harness.token}`;
      assert.equal(await at(withToken, {}), 404, 'a token in the query finds nothing');
      assert.equal(await at(withToken, { cookie: 'everstep_session=x' }), 401, 'nor with an invalid session cookie');
      assert.equal(await at(withToken, headers), 400, 'nor beside a good session that names no queue instance');
    }
    assert.deepEqual([await at('/v2/account', headers), await at('/health', {}), await at('/openapi.json', {})], [200, 200, 404]);
    await apart.close();
  });
});

test('a plan limits calls with a session like calls with a token', async () => {
  const plans = loadPlans(JSON.stringify({ plans: [{ name: 'slow', apiCallsPerSecond: 1 }] }));
  assert.ok(plans.ok);
  const harness = await ApiHarness.open({}, { plans: plans.plans });
  const { principals } = await createPeople(harness.store.accounts, harness.accounts);
  const accountId = principals.dev.user.userId;
  await harness.store.accounts.changeInstance({ instanceId: 'qi_1', change: { accountId, plan: 'slow' } });
  await harness.limits.forget('qi_1');
  const started = await harness.accounts.beginSession({ email: emailOf('dev'), apiKey: apiKeyOf('dev'), address: '' });
  assert.ok(started.kind === 'in');
  const headers = { cookie: `everstep_session=${started.secret}`, 'x-everstep-queue': 'qi_1' };
  const ask = async () => (await harness.api.inject({ method: 'GET', url: '/v2/settings', headers })).statusCode;
  const statuses = [await ask(), await ask(), await ask()];
  assert.deepEqual([statuses[0], statuses.includes(429)], [200, true], statuses.join());
  const token = { authorization: `Bearer ${harness.token}` };
  assert.equal(
    (await harness.api.inject({ method: 'GET', url: '/v2/settings', headers: token })).statusCode,
    429,
    'of one instance',
  );
  await harness.close();
});

test('removes only the session secret from the headers that operations see', () => {
  const secret = 'es_x';
  assert.equal(secretOf({ cookie: `a=1; everstep_session=${secret};b=2` }), secret);
  assert.equal(secretOf({ cookie: 'everstep_session=; xeverstep_session=1' }), null);
  assert.deepEqual(removeSecret({ cookie: `a=1; everstep_session=${secret};b=2`, x: 'y' }), { cookie: 'a=1; b=2', x: 'y' });
  assert.deepEqual(removeSecret({ cookie: `everstep_session=${secret}`, x: 'y' }), { x: 'y' });
  const host = '__Host-everstep_session';
  assert.equal(secretOf({ cookie: `everstep_session=es_y; ${host}=eh_x` }), 'eh_x');
  assert.deepEqual(removeSecret({ cookie: `everstep_session=eh_y; b=2; ${host}=eh_x`, x: 'y' }), { cookie: 'b=2', x: 'y' });
  const other = { cookie: 'a=1', x: 'y' };
  assert.equal(removeSecret(other), other);
});

test('compares the origin of a page with the host by name and port; the default port is optional', () => {
  const check = (origin: string, host: string) => () => checkOrigin({ headers: { origin }, host });
  for (const [origin, host] of [
    ['http://a.test', 'a.test'],
    ['https://a.test', 'a.test:443'],
    ['http://a.test:80', 'A.test'],
    ['https://a.test:8443', 'a.test:8443'],
    ['http://[::1]:8080', '[::1]:8080'],
  ] as const)
    check(origin, host)();
  for (const [origin, host] of [
    ['http://a.test', 'b.test'],
    ['http://a.test:81', 'a.test'],
    ['https://a.test', 'a.test:80'],
    ['http://a.test.evil', 'a.test'],
    ['http://evil/a.test', 'a.test'],
    ['file://', 'a.test'],
    ['', 'a.test'],
  ] as const)
    assert.throws(check(origin, host), /the request comes from a page of/, `${origin} ${host}`);
});
