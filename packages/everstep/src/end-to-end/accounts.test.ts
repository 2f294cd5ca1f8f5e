/** What plans and budgets count, and whom they tell, in a service that is killed. */
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { AdminClient } from '@everstep/sdk';
import { ServiceProcess } from './service-process.fixture.js';

/** A service whose default plan this is, with somebody who logs in to its present life. */
async function startWithPlan(t: TestContext, plan: Readonly<Record<string, number>>) {
  const directory = await mkdtemp(join(tmpdir(), 'everstep-plans-'));
  const file = join(directory, 'plans.json');
  const write = (changed: typeof plan) => writeFile(file, JSON.stringify({ plans: [{ name: 'default', ...changed }] }));
  await write(plan);
  const service = await ServiceProcess.create({ EVERSTEP_PLANS_FILE: file });
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
  const [queue] = await admin().queues.list();
  assert.ok(queue);
  /** Nobody listens there: the runs are started all the same. */
  const trigger = async () => (await service.request('POST', '/v2/trigger/http://127.0.0.1:9/nobody')).status;
  const restart = async () => {
    await service.end('SIGKILL');
    await service.start();
  };
  return { admin, queueId: queue.id, trigger, restart, write };
}

test('an alert that nobody had taken when the service was killed is sent after the next start', async (t) => {
  const told: unknown[] = [];
  let status = 500;
  const owner = createServer(async (request, response) => {
    let text = '';
    for await (const chunk of request) text += chunk;
    told.push(JSON.parse(text));
    response.writeHead(status).end();
  });
  await new Promise<void>((resolve) => owner.listen(0, '127.0.0.1', resolve));
  t.after(() => owner.close());
  const address = owner.address();
  assert.ok(address && typeof address === 'object');
  // Ten dollars a message.
  const { admin, queueId, trigger, restart } = await startWithPlan(t, { pricePer100kMessages: 1_000_000 });
  await admin().queues.updateBudget(queueId, 20);
  await admin().queues.setBudgetAlert(queueId, `http://127.0.0.1:${address.port}/budget`);
  const [first, second] = [await trigger(), await trigger()];
  assert.deepEqual([first, second], [200, 200]);
  const until = async (reached: () => boolean) => {
    for (const deadline = performance.now() + 60_000; !reached(); ) {
      assert.ok(performance.now() < deadline, JSON.stringify(told));
      await pause(20);
    }
  };
  await until(() => told.length === 1);
  await restart();
  status = 200;
  await until(() => told.length >= 2);
  const last = told.at(-1);
  assert.ok(last && typeof last === 'object' && 'percent' in last && 'queue_id' in last);
  assert.deepEqual([last.percent, last.queue_id], [100, queueId]);
});

test('another price in the plans file is for what is counted after the start that reads it', async (t) => {
  const { admin, queueId, trigger, restart, write } = await startWithPlan(t, { pricePer100kMessages: 100_000 });
  const spent = async () => (await admin().queues.stats(queueId)).spent;
  const month = () => new Date().getUTCMonth();
  const begun = month();
  assert.equal(await trigger(), 200);
  await write({ pricePer100kMessages: 500_000 });
  await restart();
  assert.equal(await spent(), 1);
  assert.equal(await trigger(), 200);
  const sum = await spent();
  if (month() !== begun) return t.skip('another month came in between');
  assert.equal(sum, 1 + 5);
});

test('the runs of a day are counted exactly in a service that is killed', async (t) => {
  const { admin, queueId, trigger, restart } = await startWithPlan(t, { maxRequestsPerDay: 5 });
  const today = () => new Date().getUTCDate();
  const begun = today();
  for (let i = 0; i < 3; i++) assert.equal(await trigger(), 200);
  await restart();
  assert.equal((await admin().queues.get(queueId)).requests_today, 3);
  const answers = await Promise.all([1, 2, 3, 4].map(trigger));
  await restart();
  if (today() !== begun) return t.skip('midnight came in between');
  assert.deepEqual(answers.sort(), [200, 200, 429, 429]);
  assert.equal(await trigger(), 429);
  const stats = await admin().queues.stats(queueId);
  assert.equal(stats.requests_today, 5);
  assert.match(stats.refused.join(), /the plan default starts at most 5 runs a day/);
});
