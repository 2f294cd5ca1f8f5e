import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseConfig } from '../config/config.js';
import { Addresses, usesHttps } from './addresses.js';

const [url, managementUrl] = ['http://127.0.0.1:8080', 'http://127.0.0.1:8081'];
const PUBLIC = { EVERSTEP_PUBLIC_URL: 'https://everstep.example.com' };
const SEPARATE = { ...PUBLIC, EVERSTEP_MANAGEMENT_ADDRESS: '8081' };
const SIGN_IN = {
  EVERSTEP_OIDC_ISSUER: 'https://id.example.com',
  EVERSTEP_OIDC_CLIENT_ID: 'everstep',
  EVERSTEP_OIDC_REDIRECT_URL: 'https://sso.example.com/v2/session/sso/callback',
};
const DASHBOARD = { EVERSTEP_DASHBOARD_URL: 'https://dashboard.example.com' };

const CASES: readonly (readonly [string, Readonly<Record<string, string>>, string])[] = [
  ['the address of the server', {}, managementUrl],
  ['the public URL', { ...PUBLIC, ...SIGN_IN }, 'https://everstep.example.com'],
  ['the address of the management API if it is separate', SEPARATE, managementUrl],
  ['the origin of the redirect URL if the management API is separate', { ...SEPARATE, ...SIGN_IN }, 'https://sso.example.com'],
  ['the configured URL', { ...SEPARATE, ...SIGN_IN, ...DASHBOARD }, 'https://dashboard.example.com'],
  ['the configured URL with a shared address', { ...PUBLIC, ...DASHBOARD }, 'https://dashboard.example.com'],
];
function configOf(env: Readonly<Record<string, string>>) {
  const parsed = parseConfig({ mode: 'serve', flags: {}, env, cwd: '/srv' });
  assert.ok(parsed.ok);
  return parsed.config;
}

for (const [name, env, expected] of CASES)
  test(`the dashboard is at ${name}`, () => {
    const config = configOf(env);
    const addresses = new Addresses(config);
    addresses.set({ url, managementUrl, listeners: [] });
    assert.equal(addresses.dashboardUrl, expected);
    assert.equal(addresses.publicUrl, config.publicUrl ?? url);
  });

test('the cookies of the dashboard depend on its own URL, and on the public URL only if no other is known', () => {
  const apis = (env: Readonly<Record<string, string>>) =>
    (['runtime', 'management', 'both'] as const).map((serves) => usesHttps(configOf(env), serves));
  assert.deepEqual(apis({}), [false, false, false]);
  assert.deepEqual(apis(PUBLIC), [true, true, true]);
  assert.deepEqual(apis(SEPARATE), [true, true, true]);
  assert.deepEqual(apis({ ...SEPARATE, EVERSTEP_DASHBOARD_URL: 'http://10.0.0.5:8081' }), [true, false, false]);
  assert.deepEqual(apis({ EVERSTEP_MANAGEMENT_ADDRESS: '8081', ...DASHBOARD }), [false, true, true]);
});
