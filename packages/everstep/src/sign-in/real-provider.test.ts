/** Tests single sign-on with a real third-party OpenID Connect provider, which enforces its own client requirements. */
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import Provider from 'oidc-provider';
import type { SignInSettings } from '../config/sign-in-settings.js';
import { createSignIn } from './sign-in.js';

const QUIET = { warn() {} };
const DASHBOARD = 'https://everstep.test';

/** Follows the provider like a browser, with cookies, until it redirects to the dashboard. */
async function browse(start: string): Promise<URL> {
  const cookies = new Map<string, string>();
  for (let url = new URL(start), hops = 0; hops < 20; hops++) {
    if (url.href.startsWith(DASHBOARD)) return url;
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const received = await fetch(url, { redirect: 'manual', headers: { cookie } });
    for (const each of received.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(each) ?? [];
      if (value === '') cookies.delete(name);
      else cookies.set(name, value);
    }
    const location = received.headers.get('location');
    assert.ok(location !== null, `${received.status} ${url.href}`);
    url = new URL(location, url);
  }
  throw new Error('the provider did not redirect to the dashboard');
}

test('a user signs in with an OpenID Connect provider and is identified by its claims', async () => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: 'everstep',
        client_secret: 'hush-hush',
        redirect_uris: [`${DASHBOARD}/v2/session/sso/callback`],
        token_endpoint_auth_method: 'client_secret_post',
      },
    ],
    pkce: { required: () => true },
    claims: { email: ['email', 'email_verified'], openid: ['sub'] },
    findAccount: (_context: unknown, id: string) => ({
      accountId: id,
      claims: () => ({ sub: id, email: `${id}@corp.test`, email_verified: true }),
    }),
    interactions: {
      url: (_context: unknown, { uid, prompt }: { readonly uid: string; readonly prompt: { readonly name: string } }) =>
        `/interaction/${uid}?${prompt.name}`,
    },
    cookies: { keys: ['for the test'] },
    features: { devInteractions: { enabled: false } },
  });
  const callback = provider.callback();
  server.on('request', (request, response) => {
    if (request.url?.startsWith('/interaction/') !== true) return callback(request, response);
    const result = request.url.endsWith('?consent') ? consent(request, response) : { login: { accountId: 'ann' } };
    void Promise.resolve(result).then((given) => provider.interactionFinished(request, response, given));
  });
  async function consent(...exchange: Parameters<typeof provider.interactionDetails>) {
    const { params, session } = await provider.interactionDetails(...exchange);
    const grant = new provider.Grant({ accountId: session?.accountId ?? '', clientId: String(params.client_id) });
    grant.addOIDCScope('openid email');
    return { consent: { grantId: await grant.save() } };
  }

  const signedIn: unknown[] = [];
  const settings: SignInSettings = {
    ...{ issuer, clientId: 'everstep', clientSecret: 'hush-hush', scopes: 'openid email', roleClaim: null, grants: [] },
    ...{ domains: [], createUsers: true, linkByEmail: false, redirectUrl: null },
  };
  const signIn = await createSignIn({
    settings,
    store: { findOrCreateSecret: async ({ value }) => value },
    accounts: {
      loginWaitMs: () => 0,
      countFailedSignIn: () => {},
      async signIn({ identity }) {
        signedIn.push(identity);
        return { kind: 'refused', reason: 'sso-unknown-user' };
      },
    },
    now: () => Date.now(),
    elapsedMs: () => performance.now(),
    dashboardUrl: () => DASHBOARD,
    log: QUIET,
  });
  try {
    const started = await signIn?.begin({ returnTo: '/', link: null });
    assert.ok(started?.kind === 'started');
    const query = (await browse(started.url)).search.slice(1);
    const finished = await signIn?.finish({ query, cookie: started.cookie, address: '', isHttps: false });
    assert.deepEqual(finished, { kind: 'failed', error: 'sso-unknown-user' });
    const roles = { isOperator: null, teams: new Map() };
    assert.deepEqual(signedIn, [{ issuer, subject: 'ann', email: 'ann@corp.test', roles }]);
  } finally {
    server.closeAllConnections();
    await new Promise<void>((resolve) => server.close(() => resolve()));
  }
});
