/** Tests single sign-on against an identity provider that sends invalid responses. */
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { apiKeyOf, createPeople, emailOf, type People } from '../accounts/people.fixture.js';
import type { SignInSettings } from '../config/sign-in-settings.js';
import type { SignInError } from '../contract/sign-in.js';
import { createHttpApi, type HttpApi } from '../http-api/index.js';
import { ApiHarness } from '../http-api/testing/api-harness.js';
import type { ProviderFetch } from './bounded-fetch.js';
import { CLIENT_ID, type HostileProvider, type Overrides, openHostileProvider } from './hostile-provider.fixture.js';
import { createSignIn } from './sign-in.js';

const QUIET = { debug() {}, info() {}, warn() {}, error() {} };
const DASHBOARD = 'http://everstep.test';
const CALLBACK = '/v2/session/sso/callback';

interface StartedSignIn {
  readonly url: string;
  readonly cookie: string;
}

describe('single sign-on', () => {
  let harness: ApiHarness;
  let people: People;
  let provider: HostileProvider;
  const opened: HttpApi[] = [];
  let time = Date.now();

  before(async () => {
    provider = await openHostileProvider();
  });
  after(() => provider.close());
  beforeEach(async (context) => {
    provider.overrides = {};
    time = Date.now();
    harness = await ApiHarness.open();
    people = await createPeople(harness.store.accounts, harness.accounts);
    if ('after' in context)
      context.after(async () => {
        for (const api of opened.splice(0)) await api.close();
        await harness.close();
      });
  });

  async function open(more: Partial<SignInSettings> = {}, send: ProviderFetch = fetch): Promise<HttpApi> {
    const settings: SignInSettings = {
      ...{
        issuer: provider.issuer,
        clientId: CLIENT_ID,
        clientSecret: 'hush',
        scopes: 'openid email',
        roleClaim: null,
        grants: [],
      },
      ...{ domains: [], createUsers: true, linkByEmail: false, redirectUrl: null, ...more },
    };
    const { accounts, store } = harness;
    const dashboardUrl = () => DASHBOARD;
    const elapsedMs = () => performance.now();
    const sources = { store: store.accounts, accounts, now: () => time, elapsedMs, dashboardUrl, send };
    const options = { settings, ...sources, log: QUIET };
    const signIn = await createSignIn(options);
    const api = createHttpApi({ ...harness, service: harness.runtime, log: QUIET, version: '1', dashboard: null, signIn });
    opened.push(api);
    return api;
  }

  const cookieOf = (setCookie: unknown): string => String(setCookie).split(';', 1)[0] ?? '';

  async function begin(api: HttpApi, query = ''): Promise<StartedSignIn> {
    const { statusCode, headers } = await api.inject({ method: 'GET', url: `/v2/session/sso${query}` });
    assert.equal(statusCode, 303);
    return { url: String(headers.location), cookie: cookieOf(headers['set-cookie']) };
  }

  async function comeBack(api: HttpApi, query: string, cookie: string) {
    const { statusCode, headers } = await api.inject({ method: 'GET', url: `${CALLBACK}?${query}`, headers: { cookie } });
    assert.equal(statusCode, 303);
    return { location: String(headers.location), cookie: cookieOf(headers['set-cookie']) };
  }

  async function signIn(api: HttpApi, overrides: Overrides = {}) {
    provider.overrides = overrides;
    const { url, cookie } = await begin(api);
    return comeBack(api, provider.authorize(url), cookie);
  }

  const fails = async (api: HttpApi, error: SignInError, overrides: Overrides) => {
    const { location, cookie } = await signIn(api, overrides);
    assert.equal(location, `/login?sign-in-error=${error}`);
    assert.match(cookie, /^everstep_sign_in=$/);
  };

  const sessionOf = async (api: HttpApi, cookie: string) => {
    const { statusCode, payload } = await api.inject({ method: 'GET', url: '/v2/session', headers: { cookie } });
    return statusCode === 200 ? JSON.parse(payload) : null;
  };

  test('starts a normal session with PKCE and a bound state, and redirects to the requested page', async () => {
    const api = await open();
    const { url, cookie } = await begin(api, '?return=/runs%3Fstate%3Dfailed');
    const { searchParams } = new URL(url);
    assert.equal(searchParams.get('redirect_uri'), `${DASHBOARD}${CALLBACK}`);
    assert.deepEqual([searchParams.get('code_challenge_method'), searchParams.get('response_type')], ['S256', 'code']);
    const back = await comeBack(api, provider.authorize(url), cookie);
    assert.equal(back.location, '/runs?state=failed');
    assert.equal(provider.tokenRequests.at(-1)?.get('code_verifier')?.length, 43);
    const session = await sessionOf(api, back.cookie);
    assert.equal(session.user.email, 'ann@corp.test');
    assert.match(session.logout_url, /\/logout\?.*post_logout_redirect_uri=http%3A%2F%2Feverstep\.test/);
    const user = await harness.store.accounts.findUserByEmail({ email: 'ann@corp.test' });
    assert.ok(user);
    const log = await harness.store.accounts.listAudit({ accountIds: [user.userId], after: null, limit: 9 });
    assert.deepEqual(
      log.map(({ action }) => action),
      ['session.begin', 'user.create'],
    );
    // The same subject is the same user, whatever its current email.
    const again = await sessionOf(api, (await signIn(api, { claims: { email: 'new@corp.test' } })).cookie);
    assert.equal(again.user.id, session.user.id);
    // It is revoked like any other session.
    await harness.accounts.endSessions({ user, address: '' });
    assert.equal(await sessionOf(api, back.cookie), null);
  });

  test('sends every request to the identity provider with the given fetch', async () => {
    const asked: string[] = [];
    const api = await open({}, (url, request) => {
      asked.push(new URL(url).pathname);
      return fetch(url, request);
    });
    assert.equal((await signIn(api)).location, '/');
    assert.deepEqual(asked, ['/.well-known/openid-configuration', '/token', '/jwks']);
  });

  test('does not redirect to another host', async () => {
    const api = await open();
    for (const page of ['//evil.test/', '/%5Cevil.test', 'https://evil.test/', 'javascript:alert(1)', `/${'x'.repeat(600)}`]) {
      const { url, cookie } = await begin(api, `?return=${page}`);
      assert.equal((await comeBack(api, provider.authorize(url), cookie)).location, '/');
    }
  });

  test('refuses ID tokens for other sign-ins or from other issuers', async () => {
    const api = await open();
    const now = Math.floor(Date.now() / 1000);
    await fails(api, 'sso-invalid', { claims: { nonce: 'other' } });
    await fails(api, 'sso-invalid', { claims: { nonce: undefined } });
    await fails(api, 'sso-invalid', { signature: 'none' });
    await fails(api, 'sso-invalid', { signature: 'other' });
    await fails(api, 'sso-invalid', { claims: { aud: 'another-client' } });
    await fails(api, 'sso-invalid', { claims: { iss: 'https://other.test' } });
    await fails(api, 'sso-invalid', { claims: { exp: now - 600, iat: now - 900 } });
    await fails(api, 'sso-invalid', { body: '{"access_token":"at","token_type":"Bearer"}' });
    assert.equal(await harness.store.accounts.findUserByEmail({ email: 'ann@corp.test' }), null);
  });

  test('refuses a response that is too long', async () => {
    const api = await open();
    await fails(api, 'sso-invalid', { body: JSON.stringify({ id_token: 'x'.repeat(2 ** 21) }) });
  });

  test('requires a verified email in an allowed domain', async () => {
    const api = await open({ domains: ['corp.test'] });
    for (const email_verified of [false, undefined, 'false', 1])
      await fails(api, 'sso-email-unverified', { claims: { email_verified } });
    await fails(api, 'sso-email-unverified', { claims: { email: 'no email' } });
    await fails(api, 'sso-domain', { claims: { email: 'ann@other.test' } });
    await fails(api, 'sso-domain', { claims: { email: 'ann@corp.test.other.test' } });
  });

  test('accepts a response once, in time, in the browser that started the sign-in, and with the right state and issuer', async () => {
    const api = await open();
    const [first, second] = [await begin(api), await begin(api)];
    const query = provider.authorize(first.url);
    const expired = '/login?sign-in-error=sso-expired';
    assert.equal((await comeBack(api, query, '')).location, expired);
    assert.equal((await comeBack(api, query, 'everstep_sign_in=forged')).location, expired);
    // The state belongs to another user's sign-in.
    assert.equal((await comeBack(api, query, second.cookie)).location, '/login?sign-in-error=sso-invalid');
    assert.equal((await comeBack(api, query, first.cookie)).location, '/');
    assert.equal((await comeBack(api, query, first.cookie)).location, expired);
    const third = await begin(api);
    const mixedUp = new URLSearchParams(provider.authorize(third.url));
    mixedUp.set('iss', 'https://other.test');
    assert.equal((await comeBack(api, mixedUp.toString(), third.cookie)).location, '/login?sign-in-error=sso-invalid');
    const late = await begin(api);
    time += 11 * 60_000;
    assert.equal((await comeBack(api, provider.authorize(late.url), late.cookie)).location, expired);
    const refused = await begin(api);
    assert.equal(
      (
        await comeBack(
          api,
          `error=access_denied&state=${new URL(refused.url).searchParams.get('state')}&iss=${provider.issuer}`,
          refused.cookie,
        )
      ).location,
      '/login?sign-in-error=sso-refused',
    );
  });

  test('reports an unavailable identity provider, or one with a different issuer', async () => {
    provider.overrides = { issuer: 'https://other.test' };
    const api = await open();
    assert.equal((await begin(api)).url, '/login?sign-in-error=sso-unavailable');
    provider.overrides = {};
    assert.match((await begin(api)).url, /^http:\/\/127\.0\.0\.1/);
  });

  test('does not sign in the user of an email, unless the user links the identity or the operator trusts emails', async () => {
    const claims = { email: emailOf('dev') };
    const api = await open();
    await fails(api, 'sso-email-taken', { claims });
    const login = await harness.accounts.beginSession({ email: emailOf('dev'), apiKey: apiKeyOf('dev'), address: '' });
    assert.ok(login.kind === 'in');
    const headers = { cookie: `everstep_session=${login.secret}`, 'x-everstep-csrf': login.session.csrfToken };
    const link = await api.inject({ method: 'POST', url: '/v2/session/sso/link', headers });
    const { location } = JSON.parse(link.payload);
    provider.overrides = { claims };
    const back = await comeBack(api, provider.authorize(location), cookieOf(link.headers['set-cookie']));
    assert.equal(back.location, '/');
    const linked = await sessionOf(api, (await signIn(api, { claims: { email: 'else@corp.test' } })).cookie);
    assert.equal(linked.user.id, people.principals.dev.user.userId);
    const trusting = await open({ linkByEmail: true });
    const other = { sub: 'subject-2', email: emailOf('finance') };
    const { user } = await sessionOf(trusting, (await signIn(trusting, { claims: other })).cookie);
    assert.equal(user.id, people.principals.finance.user.userId);
  });

  test('does not link an identity after the session ended that started to link it, or to a disabled user', async () => {
    const { accounts } = harness.store;
    const { user } = people.principals.dev;
    const api = await open({ createUsers: false });
    const startLink = async () => {
      const login = await harness.accounts.beginSession({ email: emailOf('dev'), apiKey: apiKeyOf('dev'), address: '' });
      assert.ok(login.kind === 'in');
      const headers = { cookie: `everstep_session=${login.secret}`, 'x-everstep-csrf': login.session.csrfToken };
      const { payload, headers: sent } = await api.inject({ method: 'POST', url: '/v2/session/sso/link', headers });
      return { query: provider.authorize(JSON.parse(payload).location), cookie: cookieOf(sent['set-cookie']) };
    };
    const isLinked = async () =>
      (await accounts.findByIdentity({ issuer: provider.issuer, subject: 'subject-1' })) !== null ||
      (await accounts.listAudit({ accountIds: [user.userId], after: null, limit: 99 })).some(
        ({ action }) => action === 'user.link-identity',
      );
    for (const end of [
      () => harness.accounts.endSessions({ user, address: '' }),
      () => accounts.setUserDisabled({ userId: user.userId, at: 1 }),
    ]) {
      const { query, cookie } = await startLink();
      await end();
      // A new session of the user does not continue it.
      if ((await accounts.findUser(user))?.disabledAt === undefined) await startLink();
      assert.equal((await comeBack(api, query, cookie)).location, '/login?sign-in-error=sso-expired');
      assert.equal(await isLinked(), false);
    }
    await fails(await open({ linkByEmail: true }), 'sso-user-disabled', { claims: { email: emailOf('dev') } });
    assert.equal(await isLinked(), false, 'a disabled user gets no identity by email either');
  });

  test('refuses unknown users if users are not created, and disabled users', async () => {
    const api = await open({ createUsers: false });
    await fails(api, 'sso-unknown-user', {});
    const trusting = await open({ linkByEmail: true });
    const claims = { email: emailOf('dev') };
    const { cookie } = await signIn(trusting, { claims });
    const { userId } = people.principals.dev.user;
    await harness.store.accounts.setUserDisabled({ userId, at: 1 });
    assert.equal(await sessionOf(trusting, cookie), null);
    await fails(trusting, 'sso-user-disabled', { claims });
  });

  test('grants the roles in the claim and removes mapped roles that it no longer contains', async () => {
    const { teamId } = people;
    const grants = [
      { value: 'admins', grants: 'operator' },
      { value: 'devs', grants: 'dev', teamId },
      { value: 'leads', grants: 'admin', teamId },
    ] as const;
    const api = await open({ roleClaim: 'realm.roles', grants });
    const as = async (roles: unknown) => {
      const { is_operator, user } = await sessionOf(api, (await signIn(api, { claims: { realm: { roles } } })).cookie);
      return [is_operator, await harness.store.accounts.roleOf({ accountId: teamId, userId: user.id })];
    };
    assert.deepEqual(await as(['devs', 'leads', 'others']), [false, 'admin']);
    assert.deepEqual(await as(['admins', 'devs']), [true, 'dev']);
    assert.deepEqual(await as('devs'), [false, 'dev']);
    assert.deepEqual(await as({ devs: true }), [false, null]);
  });
});
