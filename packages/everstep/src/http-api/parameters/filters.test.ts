/** Tests the declared filters: their conversion to store filters and back, and their schemas in queries and bodies. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { REPAIR_FILTERS } from '../../contract/filters/dead-letter-filters.js';
import type { Filter, RequestFilters } from '../../contract/filters/filter.js';
import { MESSAGE_FILTERS } from '../../contract/filters/message-filters.js';
import { RUN_FILTERS } from '../../contract/filters/run-filters.js';
import { ApiHarness } from '../testing/api-harness.js';
import { requestFiltersOf, storeFilterOf } from './filters.js';

function sampleOf(filter: Filter): unknown {
  switch (filter.kind) {
    case 'time':
      return 1_000;
    case 'text':
      return 'a';
    case 'choices':
      return [filter.values[0]];
    case 'numbers':
      return [filter.minimum];
    default:
      return ['a', 'b,c'];
  }
}

test('every filter of a repair is converted to the store filter and back', () => {
  const asked: RequestFilters<typeof REPAIR_FILTERS> = Object.fromEntries(
    Object.entries(REPAIR_FILTERS).map(([name, filter]) => [name, sampleOf(filter)]),
  );
  const stored = storeFilterOf(REPAIR_FILTERS, asked);
  assert.equal(Object.keys(stored).length, Object.keys(REPAIR_FILTERS).length);
  assert.deepEqual(requestFiltersOf(REPAIR_FILTERS, stored), asked);
});

test('one value becomes a list, a state becomes a status, and the first of two filters with the same field applies', () => {
  assert.deepEqual(storeFilterOf(RUN_FILTERS, { workflowUrl: 'http://a', state: 'RUN_SUCCESS', label: 'a', fromDate: 0 }), {
    workflowUrls: ['http://a'],
    statuses: ['succeeded'],
    fromDate: 0,
    labels: ['a'],
  });
  assert.deepEqual(storeFilterOf(MESSAGE_FILTERS, { callerIp: ['1'], callerIP: ['2'] }), { callerIps: ['1'] });
  assert.deepEqual(storeFilterOf(MESSAGE_FILTERS, { callerIP: ['2'] }), { callerIps: ['2'] });
});

const JSON_TYPE = { 'content-type': 'application/json' };

test('a filter has the same limits in queries and in bodies', async () => {
  const harness = await ApiHarness.open();
  const [short, long] = ['a'.repeat(64), 'a'.repeat(65)];
  const send = async (method: 'POST' | 'DELETE', path: string, body: object) =>
    (await harness.call(method, path, { headers: JSON_TYPE, body: JSON.stringify(body) })).status;
  const list = async (query: string) => (await harness.call('GET', `/v2/workflows/dlq?${query}`)).status;
  try {
    const fingerprint = '0123456789abcdef';
    const plan = (filter: object) => send('POST', '/v2/workflows/repairs', { action: 'resume', filter });
    assert.deepEqual([await list(`fingerprint=${fingerprint}`), await list('fingerprint=x')], [200, 400]);
    assert.deepEqual([await plan({ fingerprint: [fingerprint] }), await plan({ fingerprint: ['x'] })], [201, 400]);
    assert.deepEqual([await list(`callerIp=${short}`), await list(`callerIp=${long}`)], [200, 400]);
    assert.deepEqual([await plan({ callerIp: [short] }), await plan({ callerIp: [long] })], [201, 400]);
    const cancel = (callerIp: string) => send('DELETE', '/v2/workflows/runs', { callerIp });
    assert.deepEqual([await cancel(short), await cancel(long)], [200, 400]);
  } finally {
    await harness.close();
  }
});
