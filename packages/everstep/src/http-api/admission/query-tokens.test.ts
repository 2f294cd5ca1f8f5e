import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiHarness } from '../testing/api-harness.js';

test('with tokens in URLs disabled, every dialect rejects them and accepts headers', async () => {
  const harness = await ApiHarness.open({ acceptsQueryTokens: false });
  const { token } = harness;
  const headers = { authorization: `Bearer ${token}` };
  assert.equal((await harness.send({ method: 'GET', url: '/v2/keys', headers })).status, 200);
  for (const url of [
    `/v2/keys?svc_token=${token}`,
    `/v2/workflows/logs?svc_token=${token}`,
    `/v2/queues?qstash_token=${token}`,
  ]) {
    const refused = await harness.send({ method: 'GET', url });
    assert.deepEqual([refused.status, refused.headers['www-authenticate']], [401, 'Bearer'], url);
    assert.match(refused.body.error, /request has no token.*does not accept tokens in URLs/);
  }
  const beside = await harness.send({
    method: 'GET',
    url: `/v2/keys?svc_token=${token}`,
    headers: { cookie: 'everstep_session=x' },
  });
  assert.equal(beside.status, 401);
  await harness.close();
});
