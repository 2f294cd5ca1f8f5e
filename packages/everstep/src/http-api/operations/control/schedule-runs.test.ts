import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { RunJournal } from '../../../contract/runs.js';
import type { ScheduleEntry } from '../../../contract/schedules.js';
import { ApiHarness } from '../../testing/api-harness.js';

interface StartedRun {
  readonly workflowRunId: string;
  readonly workflowCreatedAt: number;
  readonly started: number;
}

let harness: ApiHarness;
before(async () => {
  harness = await ApiHarness.open();
});
after(() => harness.close());

const create = async (scheduleId: string, headers: Record<string, string> = {}, url = 'http://w.test/ok') => {
  const cron = { 'svc-cron': '0 9 * * *', 'svc-cron-timezone': 'Europe/Berlin', 'svc-schedule-id': scheduleId };
  const response = await harness.call('POST', `/v2/schedules/${url}`, { headers: { ...cron, ...headers }, body: 'payload' });
  assert.equal(response.status, 200, JSON.stringify(response.body));
};
const get = async (id: string) => (await harness.call<ScheduleEntry>('GET', `/v2/schedules/${id}`)).body;
const run = (id: string) => harness.call<StartedRun>('POST', `/v2/schedules/${id}/run`);
const fires = (id: string, query = '') => harness.call<{ fires: number[] }>('GET', `/v2/schedules/${id}/next${query}`);

test('lists the requested number of run times, even of a paused schedule', async () => {
  await create('daily');
  const { body } = await fires('daily', '?count=50');
  assert.equal(body.fires.length, 50);
  assert.equal(body.fires[0], (await get('daily')).nextScheduleTime);
  const hours = body.fires.map((at) =>
    new Intl.DateTimeFormat('en-GB', { timeZone: 'Europe/Berlin', hour: '2-digit', hour12: false }).format(at),
  );
  assert.deepEqual([...new Set(hours)], ['09']);
  assert.deepEqual(
    [...body.fires].sort((a, b) => a - b),
    body.fires,
  );
  await harness.call('PATCH', '/v2/schedules/daily/pause');
  assert.deepEqual((await fires('daily')).body.fires, body.fires.slice(0, 10));
  assert.equal((await fires('daily', '?count=51')).status, 400);
  assert.equal((await fires('none')).status, 404);
});

test('running a schedule starts one run with its payload and settings and does not change its run times', async () => {
  await create('now', { 'svc-label': 'by-hand', 'svc-retries': '7' });
  const before = await get('now');
  const { status, body } = await run('now');
  assert.deepEqual([status, body.started], [200, 1]);
  const journal = await harness.journalWhen(body.workflowRunId, ({ workflowState }) => workflowState === 'RUN_SUCCESS');
  assert.deepEqual([journal.result, journal.labels, journal.maxRetries], [{ got: 'payload' }, ['by-hand'], 7]);
  assert.deepEqual(journal.workflowRunOrigin, { kind: 'schedule', scheduleId: 'now' });
  const { lastScheduleRunId, lastScheduleTime, ...rest } = await get('now');
  assert.deepEqual([lastScheduleRunId, lastScheduleTime], [body.workflowRunId, body.workflowCreatedAt]);
  assert.deepEqual(rest, before, 'the next run time stays the same');
});

test('runs a paused schedule, which stays paused, and applies its delay', async () => {
  await create('resting', { 'svc-delay': '1h' });
  await harness.call('PATCH', '/v2/schedules/resting/pause');
  const { body } = await run('resting');
  const journal = (await harness.call<RunJournal>('GET', `/v2/workflows/runs/${body.workflowRunId}`)).body;
  assert.equal(journal.tasks[0]?.dueAt, body.workflowCreatedAt + 3_600_000);
  assert.equal((await get('resting')).isPaused, true);
});

test('a manual start of a schedule counts as a trigger', async () => {
  await create('counted');
  const today = async () => {
    const counts = await harness.store.accounts.countsByDay({ instanceId: 'qi_1', fromDay: Math.floor(Date.now() / 86_400_000) });
    return counts.filter(({ what }) => what === 'run').reduce((sum, { count }) => sum + count, 0);
  };
  const before = await today();
  await run('counted');
  assert.equal(await today(), before + 1);
});

test('runs a schedule of messages: one message, or one for each endpoint of the group', async () => {
  const upstash = { 'upstash-cron': '0 9 * * *', 'upstash-forward-x-a': '1' };
  const schedule = (id: string, target: string) =>
    harness.call('POST', `/v2/schedules/${target}`, { headers: { ...upstash, 'upstash-schedule-id': id }, body: '{"n":1}' });
  assert.equal((await schedule('m-one', 'http://m.test/one')).status, 200);
  const one = await run('m-one');
  assert.deepEqual([one.status, one.body.started, one.body.workflowRunId.startsWith('msg_')], [200, 1, true]);

  const json = { 'content-type': 'application/json', 'upstash-telemetry-sdk': 'test' };
  const endpoints = ['a', 'b'].map((name) => ({ name, url: `http://m.test/${name}` }));
  await harness.call('POST', '/v2/topics/both/endpoints', { headers: json, body: JSON.stringify({ endpoints }) });
  assert.equal((await schedule('m-both', 'both')).status, 200);
  assert.equal((await run('m-both')).body.started, 2);
  await harness.runtime.idle();
  assert.deepEqual(
    new Set(harness.messages.sent.map(({ url }) => url)),
    new Set(['http://m.test/one', 'http://m.test/a', 'http://m.test/b']),
  );
  await harness.call('DELETE', '/v2/topics/both', { headers: json });
  const refused = await run('m-both');
  assert.deepEqual([refused.status, refused.headers['svc-error-code']], [409, 'conflict']);
});

test('rejects unknown schedules and read-only tokens', async () => {
  assert.equal((await run('none')).status, 404);
  const headers = { authorization: `Bearer ${harness.readOnlyToken}` };
  assert.equal((await harness.call('POST', '/v2/schedules/daily/run', { headers })).status, 403);
});
