/** Publishing messages through the API: duplicates. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { ApiHarness } from '../../testing/api-harness.js';

async function open(t: TestContext): Promise<ApiHarness> {
  const harness = await ApiHarness.open();
  t.after(() => harness.close());
  return harness;
}

test('content-based deduplication distinguishes methods, but not queues', async (t) => {
  const harness = await open(t);
  const isDuplicate = async (path: string, method?: string): Promise<boolean> => {
    const headers = {
      'upstash-content-based-deduplication': 'true',
      ...(method === undefined ? {} : { 'upstash-method': method }),
    };
    const url = `/v2/${path}/http://m.test/item`;
    const { status, body } = await harness.call<{ readonly deduplicated?: true }>('POST', url, { headers, body: '{}' });
    assert.equal(status, 200);
    return body.deduplicated === true;
  };
  assert.deepEqual(
    [
      await isDuplicate('publish', 'PUT'),
      await isDuplicate('publish', 'DELETE'),
      await isDuplicate('publish', 'PUT'),
      await isDuplicate('publish'),
      await isDuplicate('publish', 'POST'),
      await isDuplicate('enqueue/q'),
    ],
    [false, false, true, false, true, true],
  );
});
