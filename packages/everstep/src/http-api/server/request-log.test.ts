import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { apiKeyOf, createPeople, emailOf } from '../../accounts/people.fixture.js';
import { ApiHarness } from '../testing/api-harness.js';

let harness: ApiHarness;
before(async () => {
  harness = await ApiHarness.open({ isAccessLogEnabled: true });
  await createPeople(harness.store.accounts, harness.accounts);
});
after(() => harness.close());

const idOf = async (url: string, headers: Readonly<Record<string, string>> = {}) =>
  (await harness.send({ method: 'GET', url, headers })).headers['x-request-id'];

test('every response has the request id that was sent or a new one', async () => {
  for (const url of ['/health', '/v2/keys', '/v2/nothing', '/v2/trigger/%zz', '/openapi.json']) {
    assert.equal(await idOf(url, { 'x-request-id': 'req-1.a:b' }), 'req-1.a:b', url);
    assert.match(String(await idOf(url)), /^[0-9a-f-]{36}$/, url);
  }
  assert.notEqual(await idOf('/health'), await idOf('/health'));
});

test('replaces an invalid request id, because ids appear in logs', async () => {
  for (const sent of ['', ' ', 'a b', 'a"b', '{"a":1}', 'x'.repeat(129), 'é', '<b>'])
    assert.match(String(await idOf('/health', { 'x-request-id': sent })), /^[0-9a-f-]{36}$/, JSON.stringify(sent));
});

test('the access log contains the id, route, caller and address, but no URL', async () => {
  const from = harness.logged.length;
  const basic = `Basic ${btoa(`${emailOf('dev')}:${apiKeyOf('dev')}`)}`;
  const headers = { 'x-request-id': 'req-2' };
  await harness.send({
    method: 'GET',
    url: '/v2/workflows/runs/a-secret-run',
    headers: { ...headers, authorization: `Bearer ${harness.token}` },
  });
  await harness.send({ method: 'GET', url: '/v2/account', headers: { authorization: basic } });
  await harness.send({ method: 'GET', url: '/v2/nothing-there' });
  const lines = harness.logged.slice(from).filter(({ message }) => message === 'request');
  assert.deepEqual(
    lines.map(({ level, details: { route, status, callerIp, caller, instanceId } }) => [
      level,
      route,
      status,
      callerIp,
      caller,
      instanceId,
    ]),
    [
      ['info', '/v2/workflows/runs/{workflowRunId}', 404, '127.0.0.1', lines[0]?.details.caller, 'qi_1'],
      ['info', '/v2/account', 200, '127.0.0.1', emailOf('dev'), undefined],
      ['info', null, 404, '127.0.0.1', undefined, undefined],
    ],
  );
  assert.equal(lines[0]?.details.requestId, 'req-2');
  assert.match(String(lines[0]?.details.caller), /^token \S+ \(read-write token\)$/);
  const text = JSON.stringify(lines);
  for (const word of [harness.token, 'a-secret-run', 'nothing-there', apiKeyOf('dev')]) assert.ok(!text.includes(word), word);
});

test('logs an internal error with the id of the request', async () => {
  const broken = await ApiHarness.open();
  broken.store.findRun = async () => {
    throw new Error('broken');
  };
  const response = await broken.call('GET', '/v2/workflows/runs/a', { headers: { 'x-request-id': 'req-3' } });
  assert.equal(response.headers['x-request-id'], 'req-3');
  assert.equal(broken.logged.find(({ level }) => level === 'error')?.details.requestId, 'req-3');
  assert.ok(
    broken.logged.every(({ details }) => !('callerIp' in details)),
    'the access log is not enabled',
  );
  await broken.close();
});
