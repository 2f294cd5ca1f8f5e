import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { basicOf, doneValue, type Person } from '../../accounts/people.fixture.js';
import type { AuditLogPage } from '../../contract/audit.js';
import type { InstanceRecord } from '../../contract/management.js';
import type { TriggeredRun } from '../../contract/runs.js';
import type { Method } from '../operation.js';
import type { ApiResponse, ErrorResponse } from '../testing/api-harness.js';
import { REGION, TestObjects } from '../testing/isolation-objects.js';

let objects: TestObjects;
before(async () => {
  objects = await TestObjects.open();
});
after(() => objects.harness.close());

const call = <Body = ErrorResponse>(person: Person, method: Method, url: string): Promise<ApiResponse<Body>> =>
  objects.harness.send<Body>({ method, url, headers: { authorization: basicOf(person) } });

test('a deleted queue instance is 404 and its tokens get 401; deleting requires its name', async () => {
  const { harness, people } = objects;
  const request = { name: 'my app', region: REGION, teamId: people.teamId };
  const made = doneValue(await harness.accounts.createInstance(people.principals.owner, request));
  const { instanceId } = made.instance;
  const named = { instanceId, name: 'ci', scopes: ['write'], lifetimeMs: null } as const;
  const { token: namedToken } = doneValue(await harness.accounts.createToken(people.principals.owner, named));
  const tokens = [made.token ?? '', made.readOnlyToken ?? '', namedToken];
  const as = (token: string) => ({ authorization: `Bearer ${token}` });
  const run = { method: 'POST', url: '/v2/trigger/http://w.test/hang', headers: as(namedToken) } as const;
  assert.equal((await harness.send<TriggeredRun>(run)).status, 200);
  const logs = (token: string) => harness.send<unknown>({ method: 'GET', url: '/v2/workflows/logs', headers: as(token) });
  for (const token of tokens) assert.equal((await logs(token)).status, 200);

  const url = `/v2/queue/user/${instanceId}`;
  assert.equal((await call('owner', 'DELETE', url)).status, 400);
  assert.equal((await call('owner', 'DELETE', `${url}?confirm=app`)).status, 409);
  const deleted = await call<string>('admin', 'DELETE', `${url}?confirm=my%20app`);
  assert.deepEqual([deleted.status, deleted.body], [200, 'OK']);

  for (const token of tokens) assert.equal((await logs(token)).status, 401);
  assert.equal((await call('owner', 'GET', url)).status, 404);
  assert.equal((await call('owner', 'DELETE', `${url}?confirm=my%20app`)).status, 404);
  assert.equal((await harness.send({ method: 'GET', url: `/v2/jwks/${instanceId}` })).status, 404);
  const listed = async (person: Person) =>
    (await call<InstanceRecord[]>(person, 'GET', '/v2/queue/users')).body.find(({ id }) => id === instanceId);
  assert.equal(await listed('stranger'), undefined);
  await harness.runtime.idle();
  assert.equal(await listed('owner'), undefined);
  const { body } = await call<AuditLogPage>('finance', 'GET', '/v2/auditlogs');
  const entry = body.auditlogs.find(({ action }) => action === 'queue.delete');
  assert.deepEqual(entry?.details, { name: 'my app', region: REGION });
});

test('members see an instance as deleting until its rows are removed', async () => {
  const { instanceId } = await objects.queueRecord();
  const { store, accounts } = objects.harness;
  // The removal of its rows is not started in this test.
  await store.accounts.deleteInstance({ instanceId, at: Date.now() });
  const listed = (await call<InstanceRecord[]>('finance', 'GET', '/v2/queue/users')).body.find(({ id }) => id === instanceId);
  assert.deepEqual([listed?.state, listed?.token], ['deleting', undefined]);
  assert.deepEqual(await accounts.listDeletedInstances(objects.people.principals.stranger), []);
  await store.accounts.markEmptied({ instanceId, at: Date.now() });
  const { body } = await call<InstanceRecord[]>('finance', 'GET', '/v2/queue/users');
  assert.ok(!body.some(({ id }) => id === instanceId));
});
