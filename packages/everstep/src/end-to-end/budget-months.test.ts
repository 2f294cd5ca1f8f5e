/** Budgets on a virtual clock, on which months pass in moments. */
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { serve } from '@everstep/sdk';
import { serveWorkflows, startTestService } from '@everstep/sdk/testing';

const DAY_MS = 86_400_000;
const BUDGET_DOLLARS = 20;
/** A message costs ten dollars, so the monthly budget is two messages. A run that ends immediately is one message. */
const PLANS = { plans: [{ name: 'default', pricePer100kMessages: 1_000_000 }] };

test('a schedule that ticks constantly stays within the budget of each month', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'everstep-plans-'));
  t.after(() => rm(directory, { recursive: true }));
  const plansFile = join(directory, 'plans.json');
  await writeFile(plansFile, JSON.stringify(PLANS));
  const service = await startTestService({ env: { EVERSTEP_PLANS_FILE: plansFile } });
  t.after(() => service.stop());
  const workflows = await serveWorkflows({ '/tick': serve(async () => 'done') });
  t.after(() => workflows.stop());
  const { admin } = service;
  const [queue] = await admin.instances.list();
  assert.ok(queue);
  await admin.instances.updateBudget(queue.id, BUDGET_DOLLARS);
  await service.client.schedules.create(workflows.urls['/tick'], { cron: '0 */6 * * *' });

  // The 30 days before the 31st of a month are all in that month.
  const isLastOfLong = new Date(Date.now() + 70 * DAY_MS).getUTCDate() === 31;
  await service.advance(isLastOfLong ? '71d' : '70d');
  const { months } = await admin.instances.stats(queue.id, { period: '30d' });
  assert.ok(months.length >= 2, JSON.stringify(months));
  for (const { month, messages } of months) assert.ok(messages <= 2, `${messages} messages in ${month}`);
  assert.equal(months.at(-1)?.messages, 2, 'the past month was fully used');
});
