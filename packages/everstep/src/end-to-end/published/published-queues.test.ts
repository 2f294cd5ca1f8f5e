/** Queues, flow control, schedules, keys and management with the published client. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Receiver } from '@upstash/qstash';
import { serve } from '@upstash/workflow/hono';
import { Hono } from 'hono';
import { gate, type Harness, only, openHarness } from './published-messages.fixture.js';
import { serveApp } from './published-sdk.fixture.js';

let harness: Harness;
before(async () => {
  harness = await openHarness();
});
after(() => harness?.stop());

/** Resolves when `reached` returns true. The work needs only turns of the event loop and requests, but no time to pass. */
async function until(reached: () => Promise<boolean>, what: string): Promise<void> {
  for (let turn = 0; turn < 500; turn++) {
    if (await reached()) return;
    await new Promise((resolve) => setImmediate(resolve));
  }
  assert.fail(`${what} did not happen`);
}

test('a queue sends one message at a time in order, and a retry keeps its position', async () => {
  const { client, endpoints, service } = harness;
  const queue = client.queue({ queueName: 'fifo' });
  const url = endpoints.when('/fifo', ({ body }, nth) => ({ status: body === '2' && nth < 4 ? 500 : 200 }));
  for (const body of ['1', '2', '3', '4']) await queue.enqueue({ url, body, retries: 3, retryDelay: '60000' });
  await service.settle();
  assert.deepEqual(endpoints.bodiesAt('/fifo'), ['1', '2'], 'the third message waits for the second');
  const { name, parallelism, paused, lag } = await queue.get();
  assert.deepEqual({ name, parallelism, paused, lag }, { name: 'fifo', parallelism: 1, paused: false, lag: 3 });
  await service.advance('10m');
  assert.deepEqual(endpoints.bodiesAt('/fifo'), ['1', '2', '2', '2', '3', '4']);
  assert.ok(endpoints.at('/fifo').every(({ concurrentCount: together }) => together === 1));
  assert.equal((await queue.get()).lag, 0);
});

test('after a permanent failure the next message is sent', async () => {
  const { client, endpoints, service } = harness;
  const queue = client.queue({ queueName: 'makes-room' });
  const url = endpoints.when('/makes-room', ({ body }) => ({ status: body === '"bad"' ? 500 : 200 }));
  for (const body of ['bad', 'good']) await queue.enqueueJSON({ url, body, retries: 1, retryDelay: '1000' });
  await service.advance('1m');
  assert.deepEqual(endpoints.bodiesAt('/makes-room'), ['"bad"', '"bad"', '"good"']);
});

test('a queue sends as many messages at a time as its parallelism', async () => {
  const { client, endpoints } = harness;
  const queue = client.queue({ queueName: 'wide' });
  await queue.upsert({ parallelism: 3 });
  const held = gate();
  const url = endpoints.when('/wide', async () => {
    await held.opened;
    return {};
  });
  for (let n = 0; n < 7; n++) await queue.enqueue({ url, body: String(n) });
  await endpoints.waitForDeliveries('/wide', 3);
  assert.equal((await queue.get()).lag, 7);
  held.open();
  await endpoints.waitForDeliveries('/wide', 7);
  assert.equal(Math.max(...endpoints.at('/wide').map(({ concurrentCount: together }) => together)), 3);
});

test('a paused queue accepts messages and sends none until it is resumed; a deleted queue drops its waiting messages', async () => {
  const { client, endpoints, service } = harness;
  const queue = client.queue({ queueName: 'paused' });
  await queue.upsert({ parallelism: 1, paused: true });
  const url = endpoints.url('/paused');
  for (const body of ['a', 'b']) await queue.enqueue({ url, body });
  await service.settle();
  assert.deepEqual(endpoints.at('/paused'), []);
  assert.deepEqual([(await queue.get()).paused, (await queue.get()).lag], [true, 2]);
  await queue.resume();
  await service.settle();
  assert.deepEqual(endpoints.bodiesAt('/paused'), ['a', 'b']);
  await queue.pause();
  await queue.enqueue({ url, body: 'c' });
  assert.ok((await queue.list()).some(({ name, paused }) => name === 'paused' && paused));
  assert.deepEqual(await client.messages.cancel({ filter: { queueName: 'paused' } }), { cancelled: 1 });
  await queue.enqueue({ url, body: 'd' });
  await queue.delete();
  await assert.rejects(queue.get(), { name: 'QstashError', status: 404 });
  await service.advance('1h');
  assert.deepEqual(endpoints.bodiesAt('/paused'), ['a', 'b']);
});

test('a flow control key limits its messages, and is paused, pinned and unpinned', async () => {
  const { client, endpoints, service } = harness;
  const held = gate();
  const url = endpoints.when('/flow', async () => {
    await held.opened;
    return {};
  });
  const flowControl = { key: 'flow', parallelism: 2 };
  for (let n = 0; n < 5; n++) await client.publish({ url, flowControl });
  await endpoints.waitForDeliveries('/flow', 2);
  const info = await client.flowControl.get('flow');
  assert.deepEqual(
    [info.flowControlKey, info.parallelismMax, info.parallelismCount, info.waitListSize, info.rateMax, info.isPaused],
    ['flow', 2, 2, 3, 0, false],
  );
  const global = await client.flowControl.getGlobalParallelism();
  assert.ok(global.parallelismMax > 0 && global.parallelismCount >= 2);
  await client.flowControl.pause('flow');
  held.open();
  await until(async () => (await client.flowControl.get('flow')).parallelismCount === 0, 'the end of what was in flight');
  assert.deepEqual([(await client.flowControl.get('flow')).isPaused, endpoints.at('/flow').length], [true, 2]);
  await client.flowControl.resume('flow');
  await service.settle();
  assert.equal(endpoints.at('/flow').length, 5);
  assert.ok(endpoints.at('/flow').every(({ concurrentCount: together }) => together <= 2));

  await client.flowControl.pin('flow', { parallelism: 4 });
  await client.publish({ url, flowControl });
  const pinned = await client.flowControl.get('flow');
  assert.deepEqual([pinned.parallelismMax, pinned.isPinnedParallelism, pinned.isPinnedRate], [4, true, false]);
  await client.flowControl.unpin('flow', { rate: true });
  assert.equal((await client.flowControl.get('flow')).isPinnedParallelism, true, 'the request did not unpin it');
  await client.flowControl.unpin('flow', { parallelism: true });
  await client.publish({ url, flowControl });
  const unpinned = await client.flowControl.get('flow');
  assert.deepEqual([unpinned.parallelismMax, unpinned.isPinnedParallelism], [2, false]);
  await client.flowControl.resetRate('flow');
});

test('a flow control key with slashes is read, paused, resumed, pinned, unpinned and reset', async () => {
  const { client, endpoints } = harness;
  for (const key of ['lanes/eu', 'lanes/eu/pause', 'lanes/eu/1']) {
    await client.publish({ url: endpoints.url('/lanes'), flowControl: { key, parallelism: 2, rate: 1000 } });
    const get = () => client.flowControl.get(key === 'lanes/eu/pause' ? encodeURIComponent(key) : key);
    assert.equal((await get()).flowControlKey, key);
    await client.flowControl.pause(key);
    assert.equal((await get()).isPaused, true);
    await client.flowControl.resume(key);
    await client.flowControl.pin(key, { parallelism: 3 });
    assert.deepEqual([(await get()).isPaused, (await get()).isPinnedParallelism], [false, true]);
    await client.flowControl.unpin(key, { parallelism: true });
    await client.flowControl.resetRate(key);
    assert.equal((await get()).isPinnedParallelism, false);
  }
});

test('the parallelism and the rate of a key are pinned and unpinned separately', async () => {
  const { client, endpoints } = harness;
  const key = 'separately';
  const pinned = async () => {
    const { isPinnedParallelism, isPinnedRate, parallelismMax, rateMax, ratePeriod } = await client.flowControl.get(key);
    return [isPinnedParallelism, isPinnedRate, parallelismMax, rateMax, ratePeriod];
  };
  const publish = (limits: { parallelism: number; rate: number; period: number }) =>
    client.publish({ url: endpoints.url('/separately'), flowControl: { key, ...limits } });
  await client.flowControl.pin(key, { parallelism: 2, rate: 7, period: 60 });
  assert.deepEqual(await pinned(), [true, true, 2, 7, 60]);
  await client.flowControl.unpin(key, { parallelism: true });
  assert.deepEqual(await pinned(), [false, true, 2, 7, 60]);
  await publish({ parallelism: 5, rate: 9, period: 30 });
  assert.deepEqual(await pinned(), [false, true, 5, 7, 60], 'the pinned limit stays, the other is that of the message');
  await client.flowControl.unpin(key, { rate: true });
  await client.flowControl.pin(key, { parallelism: 3 });
  assert.deepEqual(await pinned(), [true, false, 3, 7, 60]);
  await publish({ parallelism: 5, rate: 9, period: 30 });
  assert.deepEqual(await pinned(), [true, false, 3, 9, 30]);
  await client.flowControl.unpin(key, { parallelism: true, rate: true });
  assert.deepEqual((await pinned()).slice(0, 2), [false, false]);
});

test('a rate limits the messages in its period', async () => {
  const { client, endpoints, service } = harness;
  const url = endpoints.url('/rate');
  for (let n = 0; n < 5; n++) await client.publish({ url, flowControl: { key: 'rate', rate: 2, period: '1m' } });
  await service.settle();
  const counts = [endpoints.at('/rate').length];
  for (let minute = 0; minute < 2; minute++) {
    await service.advance('1m');
    counts.push(endpoints.at('/rate').length);
  }
  assert.deepEqual(counts, [2, 4, 5]);
});

test('a schedule publishes at each tick, and is shown, paused, resumed and deleted', async () => {
  const { client, endpoints, service, request } = harness;
  const destination = endpoints.url('/ticks');
  const { scheduleId } = await client.schedules.create({
    destination,
    cron: '0 * * * *',
    scheduleId: 'hourly',
    method: 'PUT',
    body: '{"tick":1}',
    retries: 2,
    label: 'ticks',
    headers: { 'x-mine': 'yes' },
    callback: endpoints.url('/ticks/callback'),
  });
  assert.equal(scheduleId, 'hourly');
  const shown = await client.schedules.get(scheduleId);
  assert.deepEqual(
    [
      shown.cron,
      shown.destination,
      shown.method,
      shown.body,
      shown.retries,
      shown.isPaused,
      shown.label,
      shown.header?.['X-Mine'],
    ],
    ['0 * * * *', destination, 'PUT', '{"tick":1}', 2, false, 'ticks', ['yes']],
  );
  assert.equal(shown.callback, endpoints.url('/ticks/callback'));
  assert.ok((shown.nextScheduleTime ?? 0) > (await service.now()));
  await service.advance('2h');
  const ticks = endpoints.at('/ticks');
  assert.deepEqual(
    ticks.map(({ method, body, headers }) => [method, body, headers['x-mine'], headers['upstash-schedule-id']]),
    Array.from({ length: 2 }, () => ['PUT', '{"tick":1}', 'yes', 'hourly']),
  );
  assert.equal(endpoints.at('/ticks/callback').length, 2);
  const ticked = await client.schedules.get(scheduleId);
  assert.deepEqual(Object.values(ticked.lastScheduleStates ?? {}), ['SUCCESS']);
  const { logs } = await client.logs({ filter: { scheduleId, state: 'DELIVERED' } });
  assert.equal(logs.length, 2);
  await client.schedules.pause({ schedule: scheduleId });
  assert.equal((await client.schedules.get(scheduleId)).isPaused, true);
  await service.advance('3h');
  assert.equal(endpoints.at('/ticks').length, 2);
  await client.schedules.resume({ schedule: scheduleId });
  await service.advance('1h');
  assert.equal(endpoints.at('/ticks').length, 3);
  assert.equal((await request('POST', `/v2/schedules/${scheduleId}/pause`)).status, 200, 'the documented method');
  assert.ok((await client.schedules.list()).some((each) => each.scheduleId === scheduleId && each.isPaused));
  await client.schedules.delete(scheduleId);
  await assert.rejects(client.schedules.get(scheduleId), { name: 'QstashError', status: 404 });
  await service.advance('2h');
  assert.equal(endpoints.at('/ticks').length, 3);
});

test('a schedule without a body is returned without one', async () => {
  const { client, endpoints } = harness;
  const { scheduleId } = await client.schedules.create({ destination: endpoints.url('/empty'), cron: '0 0 1 1 *' });
  assert.equal('body' in (await client.schedules.get(scheduleId)), false);
  const listed = (await client.schedules.list()).find((each) => each.scheduleId === scheduleId);
  assert.equal(listed && 'body' in listed, false);
  await client.schedules.delete(scheduleId);
});

test('a schedule publishes to a URL group and a queue in its time zone', async () => {
  const { client, endpoints, service } = harness;
  await client.urlGroups.addEndpoints({
    name: 'ticking',
    endpoints: [{ url: endpoints.url('/tick/a') }, { url: endpoints.url('/tick/b') }],
  });
  const toGroup = await client.schedules.create({ destination: 'ticking', cron: 'CRON_TZ=Europe/Berlin 30 * * * *' });
  const toQueue = await client.schedules.create({
    destination: endpoints.url('/tick/queue'),
    cron: '30 * * * *',
    queueName: 'tick-queue',
  });
  const shown = await client.schedules.get(toGroup.scheduleId);
  assert.deepEqual([shown.destination, shown.cron], ['ticking', 'CRON_TZ=Europe/Berlin 30 * * * *']);
  assert.equal((await client.schedules.get(toQueue.scheduleId)).queueName, 'tick-queue');
  await service.advance('1h');
  assert.deepEqual(
    ['/tick/a', '/tick/b', '/tick/queue'].map((path) => endpoints.at(path).length),
    [1, 1, 1],
  );
  assert.ok((await client.queue({ queueName: 'tick-queue' }).list()).some(({ name }) => name === 'tick-queue'));
  await client.schedules.delete(toGroup.scheduleId);
  await client.schedules.delete(toQueue.scheduleId);
  await assert.rejects(client.schedules.create({ destination: 'no-such-group', cron: '* * * * *' }), {
    status: 404,
    message: /URL group .* does not exist/,
  });
});

test('a message to a workflow starts a run, and so does each tick of a schedule', async (t) => {
  const { client, service } = harness;
  const app = new Hono();
  const ended: string[] = [];
  app.post(
    '/flow',
    serve<{ by: string }>(
      async (context) => {
        const by = await context.run('by', () => context.requestPayload.by);
        await context.run('end', () => void ended.push(by));
      },
      { qstashClient: client },
    ),
  );
  const { origin } = await serveApp(t, (request) => app.fetch(request));
  await client.publishJSON({ url: `${origin}/flow`, body: { by: 'message' } });
  await service.settle();
  assert.deepEqual(ended, ['message']);
  const { scheduleId } = await client.schedules.create({
    destination: `${origin}/flow`,
    cron: '15 * * * *',
    body: JSON.stringify({ by: 'schedule' }),
  });
  await service.advance('2h');
  assert.deepEqual(ended, ['message', 'schedule', 'schedule']);
  await client.schedules.delete(scheduleId);
});

test('messages and runs are listed separately', async () => {
  const { client, endpoints, service } = harness;
  const { messageId } = await client.publish({ url: endpoints.url('/apart'), label: 'apart' });
  await service.settle();
  for await (const run of service.client.logs({ label: 'apart' })) assert.fail(`a run: ${run.workflowRunId}`);
  const { logs } = await client.logs({ filter: { label: 'apart', state: 'DELIVERED' } });
  assert.equal(only(logs).messageId, messageId);
});

test('keys are shown and rotated, and the receiver accepts both during a rotation', async () => {
  const { client, endpoints, service, request, receiver } = harness;
  const keys = async (method: string, path: string): Promise<{ current: string; next: string }> =>
    (await request(method, path)).json() as Promise<{ current: string; next: string }>;
  const before = await keys('GET', '/v2/keys');
  assert.deepEqual(before, service.signingKeys);
  const rotated = await keys('POST', '/v2/keys/rotate');
  assert.equal(rotated.current, before.next);
  const url = endpoints.url('/rotated');
  await client.publish({ url, body: 'b' });
  await service.settle();
  const signature = String(only(endpoints.at('/rotated')).headers['upstash-signature']);
  assert.equal(await receiver.verify({ signature, body: 'b', url }), true, 'with the previous next key');
  const later = new Receiver({ currentSigningKey: rotated.current, nextSigningKey: rotated.next });
  assert.equal(await later.verify({ signature, body: 'b', url }), true);
});
