/**
 * The published SDKs with a PostgreSQL store. Other tests cover the features of the SDKs; this one shows that they do not
 * depend on the store.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Client } from '@upstash/qstash';
import { Client as WorkflowClient, WorkflowNonRetryableError } from '@upstash/workflow';
import { serve } from '@upstash/workflow/hono';
import { Hono } from 'hono';
import { openTestSchemas } from '../../stores/postgres/testing/schemas.js';
import { ServerProcess } from '../service-process.fixture.js';
import { Endpoints } from './published-messages.fixture.js';
import { eventually, resultOf, serveApp, setAppEnvironment } from './published-sdk.fixture.js';

// Registered before the PostgreSQL server of the tests is opened, which ends after these tests: the store is checked at the
// end.
after(async () => {
  if (skip !== false) return;
  await service.dispose();
  await endpoints.close();
});

const schemas = await openTestSchemas();
const skip = typeof schemas === 'string' ? schemas : false;
const endpoints = new Endpoints();
let service: ServerProcess;
let client: Client;

before(async () => {
  if (typeof schemas === 'string') return;
  service = await ServerProcess.create({ EVERSTEP_STORE: (await schemas.make()).url });
  await service.start();
  setAppEnvironment(service);
  client = new Client({ retry: false });
  await endpoints.listen();
});
test('a schedule publishes at each tick, even after the server was killed', { skip }, async () => {
  const destination = endpoints.url('/ticks');
  const { scheduleId } = await client.schedules.create({ destination, cron: '* * * * * *', body: 'tick', label: 'ticks' });
  await eventually(() => endpoints.at('/ticks').length > 0);
  assert.equal(endpoints.at('/ticks')[0]?.headers['upstash-schedule-id'], scheduleId);
  assert.deepEqual(
    (await client.schedules.list()).map((schedule) => [schedule.scheduleId, schedule.destination, schedule.body]),
    [[scheduleId, destination, 'tick']],
  );
  await service.end('SIGKILL');
  const before = endpoints.at('/ticks').length;
  await service.start();
  setAppEnvironment(service);
  client = new Client({ retry: false });
  await eventually(() => endpoints.at('/ticks').length > before);
  await client.schedules.pause({ schedule: scheduleId });
  assert.equal((await client.schedules.get(scheduleId)).isPaused, true);
  await client.schedules.delete(scheduleId);
  assert.deepEqual(await client.schedules.list(), []);
});

test('messages are sent to URLs, groups and queues with callbacks, and failed ones become dead letters', { skip }, async () => {
  const url = endpoints.url('/plain');
  await client.urlGroups.addEndpoints({
    name: 'both',
    endpoints: [{ url: endpoints.url('/one') }, { url: endpoints.url('/two') }],
  });
  await client.batchJSON([
    { url, body: { n: 1 }, callback: endpoints.url('/called') },
    { urlGroup: 'both', body: { n: 2 } },
  ]);
  await eventually(() => ['/plain', '/called', '/one', '/two'].every((path) => endpoints.at(path).length === 1));
  const queue = client.queue({ queueName: 'line' });
  const line = endpoints.when('/line', ({ body }, nth) => ({ status: body === '1' && nth === 1 ? 500 : 200 }));
  for (const body of ['1', '2', '3']) await queue.enqueue({ url: line, body, retries: 1, retryDelay: '10' });
  await eventually(() => endpoints.at('/line').length === 4);
  assert.deepEqual(endpoints.bodiesAt('/line'), ['1', '1', '2', '3']);
  const failing = endpoints.when('/fails', () => ({ status: 500 }));
  const { messageId } = await client.publish({ url: failing, retries: 0, failureCallback: endpoints.url('/failed') });
  await eventually(() => endpoints.at('/failed').length === 1);
  const { messages } = await client.dlq.listMessages({ filter: { messageId } });
  assert.deepEqual(
    messages.map((message) => [message.messageId, message.responseStatus]),
    [[messageId, 500]],
  );
  const { logs } = await client.logs({ filter: { messageId } });
  assert.deepEqual(
    logs.map(({ state }) => state),
    ['FAILED', 'ERROR', 'ACTIVE', 'CREATED'],
  );
});

test('a workflow runs, waits, calls, fails and is resumed', { skip }, async (t) => {
  const app = new Hono();
  let broken = true;
  app.post(
    '/flow',
    serve<{ id: string }>(async (context) => {
      const [first] = await Promise.all([context.run('first', () => 1), context.sleep('nap', 1)]);
      const { status } = await context.call('call', { url: endpoints.url('/called'), method: 'POST', body: 'x' });
      const { eventData } = await context.waitForEvent('event', `event-${context.requestPayload.id}`);
      const last = await context.run('last', () => {
        if (broken) throw new WorkflowNonRetryableError('broken');
        return 'mended';
      });
      return [first, status, eventData, last];
    }),
  );
  const server = await serveApp(t, (request) => app.fetch(request));
  const workflows = new WorkflowClient({ retry: false });
  const { workflowRunId } = await workflows.trigger({ url: `${server.origin}/flow`, body: { id: 'a' }, retries: 0 });
  await eventually(async () => (await workflows.notify({ eventId: 'event-a', eventData: { ok: true } })).length > 0);
  const letter = await eventually(async () => {
    const { messages } = await workflows.dlq.list({ filter: { workflowRunId } });
    return messages[0];
  });
  broken = false;
  const { workflowRunId: resumed } = await workflows.dlq.resume({ dlqId: letter.dlqId });
  assert.deepEqual(await resultOf(service, resumed), [1, 200, { ok: true }, 'mended']);
});
