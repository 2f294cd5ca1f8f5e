import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { basicOf, doneValue, type Person } from '../../accounts/people.fixture.js';
import type { InstanceRecord } from '../../contract/management.js';
import { readCarriedToken } from '../../dialects/upstash/token.js';
import type { Method } from '../operation.js';
import { REGION, TestObjects } from '../testing/isolation-objects.js';

let objects: TestObjects;
before(async () => {
  objects = await TestObjects.open();
});
after(() => objects.harness.close());

function ask<Body>(person: Person, method: Method, url: string, body?: unknown) {
  const headers = { authorization: basicOf(person), 'content-type': 'application/json' };
  const payload = body === undefined ? {} : { payload: JSON.stringify(body) };
  return objects.harness.send<Body>({ method, url, headers, ...payload });
}

test('queue instances equal those of the native paths, with tokens in the SDK format', async () => {
  const id = await objects.queue();
  const own = await ask<InstanceRecord>('owner', 'GET', `/v2/queue/user/${id}`);
  const theirs = await ask<InstanceRecord>('owner', 'GET', `/v2/qstash/user/${id}`);
  const { token, read_only_token: readOnly, ...record } = theirs.body;
  const { token: ownToken, read_only_token: ownReadOnly, ...ownRecord } = own.body;
  assert.deepEqual(record, ownRecord);
  assert.deepEqual([readCarriedToken(token ?? ''), readCarriedToken(readOnly ?? '')], [ownToken, ownReadOnly]);
  const listed = await ask<InstanceRecord[]>('owner', 'GET', '/v2/qstash/users');
  assert.deepEqual(
    listed.body.find((each) => each.id === id),
    theirs.body,
  );
});

test('a rotated token works for the runtime API immediately, and the old one does not', async () => {
  const id = await objects.queue();
  const before = await ask<InstanceRecord>('owner', 'GET', `/v2/qstash/user/${id}`);
  const after = await ask<InstanceRecord>('owner', 'POST', `/v2/qstash/rotate-token/${id}`);
  assert.equal(after.status, 200);
  const statusWith = async (token: string | undefined) => {
    const headers = { authorization: `Bearer ${token}` };
    return (await objects.harness.send({ method: 'GET', url: '/v2/topics', headers })).status;
  };
  assert.deepEqual([await statusWith(before.body.token), await statusWith(after.body.token)], [401, 200]);
});

test('an instance can be moved to a team and given a budget with the field names of this API', async () => {
  const { harness, people } = objects;
  const request = { name: objects.name(), region: REGION } as const;
  const { instance } = doneValue(await harness.accounts.createInstance(people.principals.owner, request));
  const id = instance.instanceId;
  const moved = await ask('owner', 'POST', '/v2/qstash/move-to-team', { qstash_id: id, target_team_id: people.teamId });
  assert.deepEqual([moved.status, moved.body], [200, 'OK']);
  const budget = await ask('owner', 'PATCH', `/v2/qstash/update-budget/${id}`, { budget: 50 });
  assert.deepEqual([budget.status, budget.body], [200, 'OK']);
  const { body } = await ask<InstanceRecord>('owner', 'GET', `/v2/qstash/user/${id}`);
  assert.deepEqual([body.customer_id, body.budget], [people.teamId, 50]);
  const ours = await ask<{ error: string }>('owner', 'POST', '/v2/qstash/move-to-team', {
    queue_id: id,
    target_team_id: people.teamId,
  });
  assert.equal(ours.status, 400);
  assert.match(ours.body.error, /queue_id|qstash_id/);
});
