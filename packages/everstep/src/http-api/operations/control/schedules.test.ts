import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { LIMITS } from '../../../config/limits.js';
import type { ScheduleEntry } from '../../../contract/schedules.js';
import { ApiHarness } from '../../testing/api-harness.js';

let harness: ApiHarness;
before(async () => {
  harness = await ApiHarness.open();
});
after(() => harness.close());

const create = async (url: string, headers: Record<string, string>, body = '') => {
  const response = await harness.call<{ scheduleId: string }>('POST', `/v2/schedules/${url}`, { headers, body });
  assert.equal(response.status, 200, JSON.stringify(response.body));
  return response.body.scheduleId;
};
const get = async (id: string) => (await harness.call<ScheduleEntry>('GET', `/v2/schedules/${encodeURIComponent(id)}`)).body;

test('a schedule shows what it starts and when', async () => {
  const id = await create(
    'http%3A%2F%2Fw.test%2Fok%3Fa%3D1',
    {
      'svc-cron': '0 9 * * *',
      'svc-cron-timezone': 'Europe/Berlin',
      'svc-schedule-id': 'daily/1',
      'svc-retries': '7',
      'svc-retry-delay': '1000',
      'svc-delay': '2m',
      'svc-timeout': '30s',
      'svc-label': 'a,b',
      'svc-flow-control-key': 'k',
      'svc-failure-callback': 'http://w.test/callback',
      'svc-forward-x-a': '1',
      'content-type': 'text/plain',
    },
    'payload',
  );
  assert.equal(id, 'daily/1');
  const { createdAt, nextScheduleTime, ...shown } = await get(id);
  assert.deepEqual(shown, {
    scheduleId: 'daily/1',
    cron: '0 9 * * *',
    timezone: 'Europe/Berlin',
    destination: 'http://w.test/ok?a=1',
    method: 'POST',
    header: { 'X-A': ['1'], 'Content-Type': ['text/plain'] },
    body: 'payload',
    retries: 7,
    retryDelay: '1000',
    timeoutMs: 30_000,
    delay: 120,
    failureCallback: 'http://w.test/callback',
    callerIP: '127.0.0.1',
    label: 'a',
    labels: ['a', 'b'],
    flowControlKey: 'k',
    isPaused: false,
  });
  assert.ok(Number(nextScheduleTime) > createdAt);
  assert.match(new Date(nextScheduleTime ?? 0).toISOString(), /T0[78]:00:00\.000Z$/);
});

test('accepts a raw URL and a time zone in the expression, and generates an id', async () => {
  const id = await create('http://w.test/ok?a=1&b=2', { 'svc-cron': 'CRON_TZ=Asia/Tokyo 0 9 * * *' });
  assert.match(id, /^sch_\w+$/);
  const shown = await get(id);
  assert.deepEqual(
    [shown.destination, shown.cron, shown.timezone, shown.delay, shown.retries],
    ['http://w.test/ok?a=1&b=2', '0 9 * * *', 'Asia/Tokyo', undefined, 3],
  );
  const utc = await get(await create('http://w.test/ok', { 'svc-cron': '* * * * *' }));
  assert.equal(utc.timezone, 'UTC');
});

test('replaces an existing schedule with the same id', async () => {
  await create('http://w.test/ok', { 'svc-cron': '0 9 * * *', 'svc-schedule-id': 'same' });
  await create('http://w.test/other', { 'svc-cron': '0 10 * * *', 'svc-schedule-id': 'same' });
  const listed = (await harness.call<ScheduleEntry[]>('GET', '/v2/schedules')).body.filter(
    ({ scheduleId }) => scheduleId === 'same',
  );
  assert.deepEqual(
    listed.map(({ cron, destination }) => [cron, destination]),
    [['0 10 * * *', 'http://w.test/other']],
  );
});

test('pauses, resumes and deletes a schedule', async () => {
  const id = await create('http://w.test/ok', { 'svc-cron': '0 9 * * *' });
  const paused = await harness.call<ScheduleEntry>('PATCH', `/v2/schedules/${id}/pause`);
  assert.deepEqual([paused.status, paused.body.isPaused, paused.body.nextScheduleTime], [200, true, undefined]);
  const resumed = await harness.call<ScheduleEntry>('PATCH', `/v2/schedules/${id}/resume`);
  assert.deepEqual([resumed.body.isPaused, typeof resumed.body.nextScheduleTime], [false, 'number']);
  const stranger = await harness.authority.issueToken({ instanceId: 'qi_2', access: 'read-write' });
  const headers = { authorization: `Bearer ${stranger}` };
  for (const [method, path] of [
    ['GET', ''],
    ['DELETE', ''],
    ['PATCH', '/pause'],
  ] as const)
    assert.equal((await harness.call(method, `/v2/schedules/${id}${path}`, { headers })).status, 404);
  assert.deepEqual((await harness.call('GET', '/v2/schedules', { headers })).body, []);
  assert.deepEqual((await harness.call('DELETE', `/v2/schedules/${id}`)).body, { deleted: 1 });
  assert.equal((await harness.call('DELETE', `/v2/schedules/${id}`)).status, 404);
});

test('limits the number of schedules but allows replacing one', async () => {
  const full = await ApiHarness.open();
  const headers = { 'svc-cron': '0 9 * * *', 'svc-schedule-id': 'there' };
  const put = (more: Record<string, string>) =>
    full.call('POST', '/v2/schedules/http://w.test/ok', { headers: { ...headers, ...more } });
  assert.equal((await put({})).status, 200);
  const { commit } = full.store;
  full.store.commit = async (units) => {
    const below = units.flatMap(({ guards }) => guards).find(({ kind }) => kind === 'schedules-below');
    if (below?.kind !== 'schedules-below') return commit(units);
    assert.equal(below.max, LIMITS.maxSchedules);
    return units.map(() => ({ kind: 'too-many-schedules', count: LIMITS.maxSchedules }));
  };
  full.store.listSchedules = () => assert.fail('to count them, no payload is read');
  const refused = await put({ 'svc-schedule-id': 'one more' });
  assert.deepEqual([refused.status, refused.headers['svc-error-code']], [409, 'too-many-schedules']);
  assert.match(refused.body.error, /limit of 10000 schedules/);
  assert.equal((await put({})).status, 200);
  await full.close();
});

test('a list omits long payloads and says so; a single schedule shows them', async () => {
  const body = 'x'.repeat(LIMITS.maxListedBodyBytes + 1);
  const headers = { 'svc-cron': '0 9 * * *', 'svc-schedule-id': 'long', 'content-type': 'text/plain' };
  assert.equal((await harness.call('POST', '/v2/schedules/http://w.test/ok', { headers, body })).status, 200);
  const list = (await harness.call<ScheduleEntry[]>('GET', '/v2/schedules')).body;
  const listed = list.find(({ scheduleId }) => scheduleId === 'long');
  assert.equal(listed?.bodyLeftOut, body.length);
  assert.notEqual(listed?.body, body);
  const alone = (await harness.call<ScheduleEntry>('GET', '/v2/schedules/long')).body;
  assert.deepEqual([alone.body, alone.bodyLeftOut], [body, undefined]);
});

test('a change replaces only the fields in its body and keeps everything else, including the next run time', async () => {
  const id = await create(
    'http://w.test/ok',
    {
      'svc-cron': '0 9 * * *',
      'svc-retries': '7',
      'svc-label': 'a',
      'svc-flow-control-key': 'k',
      'svc-flow-control-value': 'parallelism=3',
      'svc-forward-x-a': '1',
      'content-type': 'application/json',
    },
    '{"n":1}',
  );
  const before = await get(id);
  const change = (body: unknown) =>
    harness.call<ScheduleEntry>('PATCH', `/v2/schedules/${id}`, {
      body: JSON.stringify(body),
      headers: { 'content-type': 'application/json' },
    });
  const changed = await change({ body: '{"n":2}', retries: 0, labels: ['b', 'c'] });
  assert.equal(changed.status, 200);
  assert.deepEqual(changed.body, { ...before, body: '{"n":2}', retries: 0, label: 'b', labels: ['b', 'c'] });
  assert.deepEqual((await change({ labels: [] })).body.labels, []);
  const moved = (await change({ cron: '30 8 * * *', timezone: 'Europe/Berlin' })).body;
  assert.deepEqual([moved.cron, moved.timezone], ['30 8 * * *', 'Europe/Berlin']);
  assert.notEqual(moved.nextScheduleTime, before.nextScheduleTime);
  await harness.call('PATCH', `/v2/schedules/${id}/pause`);
  const paused = (await change({ cron: '0 7 * * *' })).body;
  assert.deepEqual([paused.isPaused, paused.nextScheduleTime, paused.body], [true, undefined, '{"n":2}']);
  for (const [body, text] of [
    [{}, /./],
    [{ cron: '61 * * * *' }, /^"cron" is not a valid cron expression: "61" is not a valid minute/],
    [{ cron: 'CRON_TZ=Mars/Base 0 7 * * *' }, /^"cron" is not a valid cron expression: unknown time zone "Mars\/Base"/],
    [{ timezone: 'Mars/Base' }, /^"timezone" is invalid: unknown time zone "Mars\/Base"/],
    [{ cron: 'CRON_TZ=UTC 0 7 * * *', timezone: 'Asia/Tokyo' }, /^"cron" and "timezone" both contain a time zone/],
    [{ labels: ['a,b'] }, /^"labels"/],
    [{ destination: 'http://w.test/other' }, /destination/],
  ] as const) {
    const received = await harness.call('PATCH', `/v2/schedules/${id}`, {
      body: JSON.stringify(body),
      headers: { 'content-type': 'application/json' },
    });
    assert.deepEqual([received.status, received.headers['svc-error-code']], [400, 'bad-body'], JSON.stringify(body));
    assert.match(received.body.error, text);
  }
  assert.equal((await get(id)).cron, '0 7 * * *');
});
