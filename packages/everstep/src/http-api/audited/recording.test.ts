import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { apiKeyOf, basicOf, emailOf } from '../../accounts/people.fixture.js';
import type { RepairEntry } from '../../contract/repairs.js';
import type { AuditEntry } from '../../ports/stores/account-store.js';
import { TestObjects } from '../testing/isolation-objects.js';

let objects: TestObjects;
before(async () => {
  objects = await TestObjects.open();
});
after(() => objects.harness.close());

async function entries(limit = 1): Promise<readonly AuditEntry[]> {
  return objects.harness.store.accounts.listAudit({ accountIds: null, after: null, limit });
}

async function latest(): Promise<AuditEntry> {
  const [entry] = await entries();
  return entry ?? assert.fail('nothing was recorded');
}

test('records a change with its caller, address and object, but without its content', async () => {
  const runId = await objects.run();
  const headers = { authorization: `Bearer ${objects.harness.token}`, 'user-agent': `curl/8 ${'x'.repeat(300)}` };
  await objects.harness.send({ method: 'DELETE', url: `/v2/workflows/runs/${runId}`, headers, remoteAddress: '192.0.2.7' });
  const { auditId, at, actor, ...rest } = await latest();
  assert.match(actor, /^token /);
  assert.deepEqual(rest, {
    action: 'run.cancel',
    subject: runId,
    details: {},
    address: '192.0.2.7',
    accountIds: [],
    request: {
      operation: 'cancelRun',
      credential: actor,
      userAgent: `curl/8 ${'x'.repeat(193)}`,
      instanceId: 'qi_1',
      outcome: 'done',
    },
  });
});

test('records a bulk action as one entry with its filter and counts, and URLs without their query', async () => {
  for (let n = 0; n < 2; n++) await objects.run('hang', { 'svc-label': 'bulk' });
  const before = (await latest()).auditId;
  const body = { label: 'bulk', workflowUrl: 'http://w.test/hang?key=hush', fromDate: 0 };
  const headers = { 'content-type': 'application/json' };
  await objects.harness.call('DELETE', '/v2/workflows/runs', { headers, body: JSON.stringify(body) });
  await objects.harness.call('DELETE', '/v2/workflows/runs', {
    headers,
    body: JSON.stringify({ ...body, workflowUrl: 'http://w.test/h' }),
  });
  const [second, first, known] = await entries(3);
  assert.equal(known?.auditId, before);
  assert.deepEqual(first?.details, { label: 'bulk', workflowUrl: 'http://w.test/hang', fromDate: 0, cancelled: 0 });
  assert.deepEqual([second?.action, second?.details.cancelled], ['run.cancel-many', 2]);
});

test('records a settings change with the names of the given fields', async () => {
  const headers = { 'content-type': 'application/json' };
  await objects.harness.call('PUT', '/v2/settings', { headers, body: JSON.stringify({ breaker: { enabled: false } }) });
  const { action, subject, details } = await latest();
  assert.deepEqual([action, subject, details], ['settings.change', 'qi_1', { fields: 'breaker' }]);
});

test('adds the API key to the existing entry of an account change', async () => {
  const { principals } = objects.people;
  const headers = { authorization: basicOf('owner'), 'content-type': 'application/json' };
  await objects.harness.send({
    method: 'POST',
    url: '/v2/team',
    headers,
    payload: '{"team_name":"a team"}',
    remoteAddress: '192.0.2.8',
  });
  const [made, login] = await entries(2);
  assert.equal(made?.action, 'team.create');
  assert.equal(made?.request?.operation, 'createTeam');
  assert.match(made?.request?.credential ?? '', /^api-key /);
  assert.deepEqual([login?.action, login?.subject, login?.address], ['login.basic', principals.owner.user.userId, '192.0.2.8']);
  await objects.harness.send({
    method: 'POST',
    url: '/v2/team',
    headers,
    payload: '{"team_name":"b team"}',
    remoteAddress: '192.0.2.8',
  });
  assert.deepEqual(
    (await entries(2)).map(({ action }) => action),
    ['team.create', 'team.create'],
    'one login per hour',
  );
});

test('records reads of secrets for their owners, once a minute, and no responses without secrets', async () => {
  const id = await objects.queue();
  const read = (person: 'owner' | 'finance') =>
    objects.harness.send({ method: 'GET', url: `/v2/queue/user/${id}`, headers: { authorization: basicOf(person) } });
  await read('owner');
  await read('owner');
  await read('finance');
  const reads = (await entries(9)).filter(({ action }) => action === 'queue.read-tokens');
  assert.deepEqual(
    reads.map(({ actor, subject, accountIds }) => [actor, subject, accountIds.includes(objects.people.teamId)]),
    [[emailOf('owner'), id, true]],
  );
  await objects.harness.call('GET', '/v2/keys');
  assert.equal((await latest()).action, 'queue.read-signing-keys');
});

test('records a planned repair with its id, even while another repair starts entries', async () => {
  const call = async (path: string, body?: unknown) => {
    const options = body === undefined ? {} : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
    const method = body === undefined ? 'GET' : 'POST';
    return (await objects.harness.call<RepairEntry>(method, `/v2/workflows/repairs${path}`, options)).body;
  };
  await objects.harness.fail(40);
  const running = await call('', { action: 'resume' });
  await call(`/${running.repairId}/start`, { ratePerSecond: 60 });
  const planned = [running.repairId];
  do planned.push((await call('', { action: 'resume', filter: { label: ['none'] } })).repairId);
  while (planned.length < 40 && (await call(`/${running.repairId}`)).state !== 'done');
  const subjects = (await entries(100)).flatMap(({ action, subject }) => (action === 'repair.plan' ? [subject] : []));
  assert.deepEqual(subjects.slice(0, planned.length), planned.toReversed());
});

test('does not record triggers, notifications and reads', async () => {
  const before = await latest();
  await objects.run('ok');
  await objects.harness.call('POST', '/v2/notify/e', {});
  await objects.harness.call('GET', '/v2/workflows/logs');
  assert.equal((await latest()).auditId, before.auditId);
});

test('records the session of a user, including for documents of a search index', async () => {
  const login = await objects.harness.send<{ csrf_token: string }>({
    method: 'POST',
    url: '/v2/session',
    headers: { 'content-type': 'application/json', 'user-agent': 'Firefox' },
    payload: JSON.stringify({ email: emailOf('owner'), api_key: apiKeyOf('owner') }),
  });
  const entry = await latest();
  assert.deepEqual([entry.action, entry.request?.userAgent, entry.request?.credential], ['session.begin', 'Firefox', 'none']);
  const cookie = String(login.headers['set-cookie']).split(';')[0] ?? '';
  const headers = { cookie, 'x-everstep-csrf': login.body.csrf_token, 'content-type': 'application/json' };
  const { index, token } = await objects.index();
  const url = `/search/${index.indexId}/upsert-data`;
  const payload = '{"id":"d","content":{"text":"hush"}}';
  const before = await latest();
  await objects.harness.send({
    method: 'POST',
    url,
    headers: { ...headers, cookie: '', authorization: `Bearer ${token}` },
    payload,
  });
  assert.equal((await latest()).auditId, before.auditId, 'an app with a token');
  const asked = await objects.harness.send({ method: 'POST', url, headers, payload });
  assert.equal(asked.status, 200, JSON.stringify(asked.body));
  const { action, subject, actor, request } = await latest();
  assert.deepEqual([action, subject, actor], ['search.upsert-documents', index.indexId, emailOf('owner')]);
  assert.match(request?.credential ?? '', /^session ses_/);
});

test('counts rejected requests: anonymous ones by network, others by caller', async () => {
  const bad = { authorization: 'Bearer not.a.token' };
  for (let n = 0; n < 5; n++)
    await objects.harness.send({ method: 'GET', url: '/v2/settings', headers: bad, remoteAddress: `2001:db8::${n}` });
  const readOnly = { authorization: `Bearer ${objects.harness.readOnlyToken}` };
  for (let n = 0; n < 3; n++)
    await objects.harness.send({ method: 'DELETE', url: '/v2/workflows/runs/r', headers: readOnly, remoteAddress: '192.0.2.9' });
  await objects.harness.call('DELETE', '/v2/workflows/runs/none');
  await objects.harness.call('GET', '/v2/workflows/runs/none');
  await objects.harness.audit.writeRefused();
  const refused = (await entries(9)).filter(({ action }) => action === 'request.refused');
  assert.deepEqual(
    refused.map(({ details, address, request }) => [details.code, details.count, address, request?.operation]),
    [
      ['not-found', 1, '127.0.0.1', 'cancelRun'],
      ['read-only-token', 3, '192.0.2.9', 'cancelRun'],
      ['bad-token', 5, '2001:db8:0:0', 'getSettings'],
    ],
  );
});
