/** Tests the limits of a plan on search indexes through the API. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPeople } from '../../accounts/people.fixture.js';
import { loadPlans } from '../../accounts/plans/plans.js';
import { ApiHarness } from '../testing/api-harness.js';

test('rejects documents over the storage quota and calls over the rate limit of the account', async (t) => {
  const read = loadPlans(JSON.stringify({ plans: [{ name: 'standard', maxStoredBytes: 1_000, apiCallsPerSecond: 3 }] }));
  assert.ok(read.ok);
  const harness = await ApiHarness.open({}, { plans: read.plans });
  t.after(() => harness.close());
  const { owner } = (await createPeople(harness.store.accounts, harness.accounts)).principals;
  const made = await harness.search.create(owner, { name: 'films', region: 'eu-central-1', type: 'free' });
  assert.ok(made.kind === 'done');
  const { index, token } = made.value;
  const { port } = await harness.api.listen({ host: '127.0.0.1', port: 0 });
  const upsert = async (title: string) => {
    const response = await fetch(`http://127.0.0.1:${port}/search/${index.indexId}/upsert-data/films`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify([{ id: 'a', content: { title } }]),
    });
    await response.arrayBuffer();
    return [response.status, response.headers.get('svc-error-code'), response.headers.get('retry-after')];
  };
  assert.deepEqual(await upsert('short'), [200, null, null]);
  assert.deepEqual(await upsert('x'.repeat(600)), [409, 'storage-quota-exceeded', null]);
  // Some calls become possible again while others are made.
  let last = await upsert('short');
  for (let n = 0; n < 100 && last[0] === 200; n++) last = await upsert('short');
  assert.deepEqual(last, [429, 'rate-limited', '1']);
});
