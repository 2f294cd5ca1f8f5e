/** Single sign-on against an identity provider that lies. */
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { apiKeyOf, createPeople, emailOf, type People } from '../accounts/people.fixture.js';
import type { SignInSettings } from '../config/sign-in-settings.js';
import type { SignInError } from '../contract/sign-in.js';
import { createHttpApi, type HttpApi } from '../http-api/index.js';
import { ApiWorld } from '../http-api/testing/api-world.js';
import { CLIENT_ID, type HostileProvider, type Lies, openHostileProvider } from './hostile-provider.fixture.js';
import { createSignIn } from './sign-in.js';

const QUIET = { debug() {}, info() {}, warn() {}, error() {} };
const DASHBOARD = 'http://everstep.test';
const CALLBACK = '/v2/session/sso/callback';

interface Begun {
  readonly url: string;
  readonly cookie: string;
}

describe('single sign-on', () => {
  let world: ApiWorld;
  let people: People;
  let provider: HostileProvider;
  const opened: HttpApi[] = [];
  let time = Date.now();

  before(async () => {
    provider = await openHostileProvider();
  });
  after(() => provider.close());
  beforeEach(async (context) => {
    provider.lies = {};
    time = Date.now();
    world = await ApiWorld.open();
    people = await createPeople(world.store.accounts, world.accounts);
    if ('after' in context)
      context.after(async () => {
        for (const api of opened.splice(0)) await api.close();
        await world.close();
      });
  });

  async function open(more: Partial<SignInSettings> = {}): Promise<HttpApi> {
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
    const { accounts, store } = world;
    const dashboardUrl = () => DASHBOARD;
    const elapsedMs = () => performance.now();
    const options = { settings, store: store.accounts, accounts, now: () => time, elapsedMs, dashboardUrl, log: QUIET };
    const signIn = await createSignIn(options);
    const api = createHttpApi({ ...world, service: world.runtime, log: QUIET, version: '1', dashboard: null, signIn });
    opened.push(api);
    return api;
  }

  const cookieOf = (setCookie: unknown): string => String(setCookie).split(';', 1)[0] ?? '';

  async function begin(api: HttpApi, query = ''): Promise<Begun> {
    const { statusCode, headers } = await api.inject({ method: 'GET', url: `/v2/session/sso${query}` });
    assert.equal(statusCode, 303);
    return { url: String(headers.location), cookie: cookieOf(headers['set-cookie']) };
  }

  async function comeBack(api: HttpApi, query: string, cookie: string) {
    const { statusCode, headers } = await api.inject({ method: 'GET', url: `${CALLBACK}?${query}`, headers: { cookie } });
    assert.equal(statusCode, 303);
    return { location: String(headers.location), cookie: cookieOf(headers['set-cookie']) };
  }

  async function signIn(api: HttpApi, lies: Lies = {}) {
    provider.lies = lies;
    const { url, cookie } = await begin(api);
    return comeBack(api, provider.authorize(url), cookie);
  }

  const fails = async (api: HttpApi, error: SignInError, lies: Lies) => {
    const { location, cookie } = await signIn(api, lies);
    assert.equal(location, `/login?sign-in-error=${error}`);
    assert.match(cookie, /^everstep_sign_in=$/);
  };

  const sessionOf = async (api: HttpApi, cookie: string) => {
    const { statusCode, payload } = await api.inject({ method: 'GET', url: '/v2/session', headers: { cookie } });
    return statusCode === 200 ? JSON.parse(payload) : null;
  };

  test('begins an ordinary session, with PKCE and a bound state, and leads back to the page that was asked for', async () => {
    const api = await open();
    const { url, cookie } = await begin(api, '?return=/runs%3Fstate%3Dfailed');
    const { searchParams } = new URL(url);
    assert.equal(searchParams.get('redirect_uri'), `${DASHBOARD}${CALLBACK}`);
    assert.deepEqual([searchParams.get('code_challenge_method'), searchParams.get('response_type')], ['S256', 'code']);
    const back = await comeBack(api, provider.authorize(url), cookie);
    assert.equal(back.location, '/runs?state=failed');
    assert.equal(provider.asked.at(-1)?.get('code_verifier')?.length, 43);
    const session = await sessionOf(api, back.cookie);
    assert.equal(session.user.email, 'ann@corp.test');
    assert.match(session.logout_url, /\/logout\?.*post_logout_redirect_uri=http%3A%2F%2Feverstep\.test/);
    const user = await world.store.accounts.findUserByEmail({ email: 'ann@corp.test' });
    assert.ok(user);
    const log = await world.store.accounts.listAudit({ accountIds: [user.userId], after: null, limit: 9 });
    assert.deepEqual(
      log.map(({ action }) => action),
      ['session.begin', 'user.create'],
    );
    // The same subject is the same user, whatever the e-mail is by now.
    const again = await sessionOf(api, (await signIn(api, { claims: { email: 'new@corp.test' } })).cookie);
    assert.equal(again.user.id, session.user.id);
    // It is revoked like any other.
    await world.accounts.endSessions({ user, address: '' });
    assert.equal(await sessionOf(api, back.cookie), null);
  });

  test('leads to no other host', async () => {
    const api = await open();
    for (const page of ['//evil.test/', '/%5Cevil.test', 'https://evil.test/', 'javascript:alert(1)', `/${'x'.repeat(600)}`]) {
      const { url, cookie } = await begin(api, `?return=${page}`);
      assert.equal((await comeBack(api, provider.authorize(url), cookie)).location, '/');
    }
  });

  test('refuses ID tokens that are not for this sign-in, or not from the identity provider', async () => {
    const api = await open();
    const now = Math.floor(Date.now() / 1000);
    await fails(api, 'sso-invalid', { claims: { nonce: 'other' } });
    await fails(api, 'sso-invalid', { claims: { nonce: undefined } });
    await fails(api, 'sso-invalid', { signed: 'none' });
    await fails(api, 'sso-invalid', { signed: 'other' });
    await fails(api, 'sso-invalid', { claims: { aud: 'another-client' } });
    await fails(api, 'sso-invalid', { claims: { iss: 'https://other.test' } });
    await fails(api, 'sso-invalid', { claims: { exp: now - 600, iat: now - 900 } });
    await fails(api, 'sso-invalid', { body: '{"access_token":"at","token_type":"Bearer"}' });
    assert.equal(await world.store.accounts.findUserByEmail({ email: 'ann@corp.test' }), null);
  });

  test('refuses an answer that is too long', async () => {
    const api = await open();
    await fails(api, 'sso-invalid', { body: JSON.stringify({ id_token: 'x'.repeat(2 ** 21) }) });
  });

  test('demands a verified e-mail of a domain that is let in', async () => {
    const api = await open({ domains: ['corp.test'] });
    for (const email_verified of [false, undefined, 'false', 1])
      await fails(api, 'sso-email-unverified', { claims: { email_verified } });
    await fails(api, 'sso-email-unverified', { claims: { email: 'no e-mail' } });
    await fails(api, 'sso-domain', { claims: { email: 'ann@other.test' } });
    await fails(api, 'sso-domain', { claims: { email: 'ann@corp.test.other.test' } });
  });

  test('takes an answer once, in the browser that began it, in time, and with its state and issuer', async () => {
    const api = await open();
    const [first, second] = [await begin(api), await begin(api)];
    const query = provider.authorize(first.url);
    const expired = '/login?sign-in-error=sso-expired';
    assert.equal((await comeBack(api, query, '')).location, expired);
    assert.equal((await comeBack(api, query, 'everstep_sign_in=forged')).location, expired);
    // Of somebody else's sign-in: the state differs.
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

  test('tells that the identity provider cannot be used, also where it says to be another one', async () => {
    provider.lies = { issuer: 'https://other.test' };
    const api = await open();
    assert.equal((await begin(api)).url, '/login?sign-in-error=sso-unavailable');
    provider.lies = {};
    assert.match((await begin(api)).url, /^http:\/\/127\.0\.0\.1/);
  });

  test('does not sign in as a user who has the e-mail, unless the user links the identity or an operator lets e-mails count', async () => {
    const claims = { email: emailOf('dev') };
    const api = await open();
    await fails(api, 'sso-email-taken', { claims });
    const login = await world.accounts.beginSession({ email: emailOf('dev'), apiKey: apiKeyOf('dev'), address: '' });
    assert.ok(login.kind === 'in');
    const headers = { cookie: `everstep_session=${login.secret}`, 'x-everstep-csrf': login.session.csrfToken };
    const link = await api.inject({ method: 'POST', url: '/v2/session/sso/link', headers });
    const { location } = JSON.parse(link.payload);
    provider.lies = { claims };
    const back = await comeBack(api, provider.authorize(location), cookieOf(link.headers['set-cookie']));
    assert.equal(back.location, '/');
    const linked = await sessionOf(api, (await signIn(api, { claims: { email: 'else@corp.test' } })).cookie);
    assert.equal(linked.user.id, people.principals.dev.user.userId);
    const trusting = await open({ linkByEmail: true });
    const other = { sub: 'subject-2', email: emailOf('finance') };
    const { user } = await sessionOf(trusting, (await signIn(trusting, { claims: other })).cookie);
    assert.equal(user.id, people.principals.finance.user.userId);
  });

  test('refuses unknown users where none are created, and users who are disabled', async () => {
    const api = await open({ createUsers: false });
    await fails(api, 'sso-unknown-user', {});
    const trusting = await open({ linkByEmail: true });
    const claims = { email: emailOf('dev') };
    const { cookie } = await signIn(trusting, { claims });
    const { userId } = people.principals.dev.user;
    await world.store.accounts.setUserDisabled({ userId, at: 1 });
    assert.equal(await sessionOf(trusting, cookie), null);
    await fails(trusting, 'sso-user-disabled', { claims });
  });

  test('gives the roles that the claim grants, and takes those of the mapping that it does not grant any more', async () => {
    const { teamId } = people;
    const grants = [
      { value: 'admins', grants: 'operator' },
      { value: 'devs', grants: 'dev', teamId },
      { value: 'leads', grants: 'admin', teamId },
    ] as const;
    const api = await open({ roleClaim: 'realm.roles', grants });
    const as = async (roles: unknown) => {
      const { is_operator, user } = await sessionOf(api, (await signIn(api, { claims: { realm: { roles } } })).cookie);
      return [is_operator, await world.store.accounts.roleOf({ accountId: teamId, userId: user.id })];
    };
    assert.deepEqual(await as(['devs', 'leads', 'others']), [false, 'admin']);
    assert.deepEqual(await as(['admins', 'devs']), [true, 'dev']);
    assert.deepEqual(await as('devs'), [false, 'dev']);
    assert.deepEqual(await as({ devs: true }), [false, null]);
  });
});
