import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { ApiHarness } from '../testing/api-harness.js';

const PROXY = '10.0.0.2';
const CALLER = '203.0.113.9';

let trusting: ApiHarness;
let plain: ApiHarness;
before(async () => {
  trusting = await ApiHarness.open({ trustedProxies: ['10.0.0.0/24', 'fd00::/64'] });
  plain = await ApiHarness.open();
});
after(() => Promise.all([trusting.close(), plain.close()]));

/** Returns the caller address that a triggered run stores. */
async function callerOf(harness: ApiHarness, remoteAddress: string, forwardedFor?: string): Promise<string | undefined> {
  const headers = {
    authorization: `Bearer ${harness.token}`,
    forwarded: 'for=192.0.2.99',
    'x-real-ip': '192.0.2.99',
    ...(forwardedFor === undefined ? {} : { 'x-forwarded-for': forwardedFor }),
  };
  const url = '/v2/trigger/http://w.test/ok';
  const triggered = await harness.send<{ workflowRunId: string }>({ method: 'POST', url, headers, remoteAddress });
  const found = await harness.store.findRun({ instanceId: 'qi_1', workflowRunId: triggered.body.workflowRunId });
  return found?.callerIp;
}

test('ignores forwarding headers without trusted proxies', async () => {
  assert.equal(await callerOf(plain, PROXY, CALLER), PROXY);
  assert.equal(await callerOf(trusting, '198.51.100.1', CALLER), '198.51.100.1', 'no trusted proxy');
});

test('uses the forwarded address of a trusted proxy and ignores what the client itself sends', async () => {
  assert.equal(await callerOf(trusting, PROXY, CALLER), CALLER);
  assert.equal(await callerOf(trusting, PROXY, `192.0.2.1, ${CALLER}`), CALLER);
  assert.equal(await callerOf(trusting, PROXY, `192.0.2.1, ${CALLER}, 10.0.0.3`), CALLER, 'two proxies');
  assert.equal(await callerOf(trusting, 'fd00::7', '2001:db8::1'), '2001:db8::1');
  assert.equal(await callerOf(trusting, '::ffff:10.0.0.2', `::ffff:${CALLER}`), CALLER);
});

test('a proxy that forwards no address is the caller', async () => {
  assert.equal(await callerOf(trusting, PROXY), PROXY);
  for (const nonsense of ['', 'unknown', '"><script>', `${CALLER}:8080`])
    assert.equal(await callerOf(trusting, PROXY, nonsense), PROXY);
});
