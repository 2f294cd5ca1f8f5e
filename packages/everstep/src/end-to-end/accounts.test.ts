/** Usage counts, budgets and budget alerts of a server that is killed. */
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { AdminClient } from '@everstep/sdk';
import { ServerProcess } from './service-process.fixture.js';

/** Starts a server with this default plan. Returns it with an admin client for its current process. */
async function startWithPlan(t: TestContext, plan: Readonly<Record<string, number>>) {
  const directory = await mkdtemp(join(tmpdir(), 'everstep-plans-'));
  const file = join(directory, 'plans.json');
  const write = (changed: typeof plan) => writeFile(file, JSON.stringify({ plans: [{ name: 'default', ...changed }] }));
  await write(plan);
  const service = await ServerProcess.create({ EVERSTEP_PLANS_FILE: file });
  t.after(async () => {
    await service.dispose();
    await rm(directory, { recursive: true });
  });
  await service.start();
  const admin = () =>
    new AdminClient({
      baseUrl: service.env.get('EVERSTEP_MANAGEMENT_URL') ?? '',
      email: service.env.get('EVERSTEP_ADMIN_EMAIL') ?? '',
      apiKey: service.env.get('EVERSTEP_ADMIN_API_KEY') ?? '',
    });
  const [queue] = await admin().instances.list();
  assert.ok(queue);
  /** No server listens at this URL; the runs are started anyway. */
  const trigger = async () => (await service.request('POST', '/v2/trigger/http://127.0.0.1:9/unused')).status;
  const restart = async () => {
    await service.end('SIGKILL');
    await service.start();
  };
  return { admin, queueId: queue.id, trigger, restart, write };
}

test('an alert that was pending when the server was killed is sent after the next start', async (t) => {
  const alerts: unknown[] = [];
  let status = 500;
  const owner = createServer(async (request, response) => {
    let text = '';
    for await (const chunk of request) text += chunk;
    alerts.push(JSON.parse(text));
    response.writeHead(status).end();
  });
  await new Promise<void>((resolve) => owner.listen(0, '127.0.0.1', resolve));
  t.after(() => owner.close());
  const address = owner.address();
  assert.ok(address && typeof address === 'object');
  // A message costs ten dollars.
  const { admin, queueId, trigger, restart } = await startWithPlan(t, { pricePer100kMessages: 1_000_000 });
  await admin().instances.updateBudget(queueId, 20);
  await admin().instances.setBudgetAlert(queueId, `http://127.0.0.1:${address.port}/budget`);
  const [first, second] = [await trigger(), await trigger()];
  assert.deepEqual([first, second], [200, 200]);
  const until = async (reached: () => boolean) => {
    for (const deadline = performance.now() + 60_000; !reached(); ) {
      assert.ok(performance.now() < deadline, JSON.stringify(alerts));
      await pause(20);
    }
  };
  await until(() => alerts.length === 1);
  await restart();
  status = 200;
  await until(() => alerts.length >= 2);
  const last = alerts.at(-1);
  assert.ok(last && typeof last === 'object' && 'percent' in last && 'queue_id' in last);
  assert.deepEqual([last.percent, last.queue_id], [100, queueId]);
});

test('a new price in the plans file applies to usage counted after the next start', async (t) => {
  const { admin, queueId, trigger, restart, write } = await startWithPlan(t, { pricePer100kMessages: 100_000 });
  const spent = async () => (await admin().instances.stats(queueId)).spent;
  const month = () => new Date().getUTCMonth();
  const startMonth = month();
  assert.equal(await trigger(), 200);
  await write({ pricePer100kMessages: 500_000 });
  await restart();
  assert.equal(await spent(), 1);
  assert.equal(await trigger(), 200);
  const sum = await spent();
  if (month() !== startMonth) return t.skip('the month changed during the test');
  assert.equal(sum, 1 + 5);
});

test('the runs of a day are counted exactly although the server is killed', async (t) => {
  const { admin, queueId, trigger, restart } = await startWithPlan(t, { maxRequestsPerDay: 5 });
  const today = () => new Date().getUTCDate();
  const startDay = today();
  for (let i = 0; i < 3; i++) assert.equal(await trigger(), 200);
  await restart();
  assert.equal((await admin().instances.get(queueId)).requests_today, 3);
  const responses = await Promise.all([1, 2, 3, 4].map(trigger));
  await restart();
  if (today() !== startDay) return t.skip('the day changed during the test');
  assert.deepEqual(responses.sort(), [200, 200, 429, 429]);
  assert.equal(await trigger(), 429);
  const stats = await admin().instances.stats(queueId);
  assert.equal(stats.requests_today, 5);
  assert.match(stats.refused.join(), /the plan default limits runs to 5 per day/);
});
