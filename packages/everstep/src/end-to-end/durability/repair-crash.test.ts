/** A repair continues after its process is killed, and starts each dead letter once. */
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { Client, NonRetryableError, type Repair, serve } from '@everstep/sdk';
import { toNodeHandler } from '@everstep/sdk/node';
import { ServerProcess } from '../service-process.fixture.js';

const RUNS = 300;
const RATE_PER_SECOND = 60;
const KILLS = 3;
const TIMEOUT_MS = 60_000;

/** Starts a worker with two steps, the second of which fails while the deployment is broken. */
async function startWorker(keys: { readonly current: string; readonly next: string }) {
  const deployment = { isBroken: true };
  const first = new Map<number, number>();
  const handler = toNodeHandler(
    serve<{ readonly order: number }, number>(
      async (ctx) => {
        const { order } = ctx.payload;
        await ctx.run('reserve', () => void first.set(order, (first.get(order) ?? 0) + 1));
        return ctx.run('charge', () => {
          if (deployment.isBroken) throw new NonRetryableError('the deployment is broken');
          return order;
        });
      },
      { signingKeys: keys },
    ),
  );
  const server = createServer((request, response) => void handler(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/orders`,
    deployment,
    first,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

test('300 dead letters are resumed once each at the configured rate although the server is killed three times', {
  timeout: 180_000,
}, async (t) => {
  const service = await ServerProcess.create();
  t.after(() => service.dispose());
  await service.start();
  const worker = await startWorker({
    current: service.env.get('EVERSTEP_CURRENT_SIGNING_KEY') ?? '',
    next: service.env.get('EVERSTEP_NEXT_SIGNING_KEY') ?? '',
  });
  t.after(() => worker.close());
  const client = () =>
    new Client({ baseUrl: service.env.get('EVERSTEP_URL') ?? '', token: service.env.get('EVERSTEP_TOKEN') ?? '' });

  for (let order = 0; order < RUNS; order += 50) {
    const items = Array.from({ length: 50 }, (_, i) => ({ workflowUrl: worker.url, body: { order: order + i }, retries: 0 }));
    await client().triggerMany(items);
  }
  const giveUpAt = performance.now() + TIMEOUT_MS;
  const failed = async (): Promise<number> => {
    let count = 0;
    for await (const _entry of client().dlq.entries({ count: 100 })) count++;
    return count;
  };
  while ((await failed()) < RUNS) {
    assert.ok(performance.now() < giveUpAt, 'not all runs have failed');
    await pause(100);
  }
  const { repairId, plan } = await client().repairs.plan('resume');
  assert.equal(plan.stepsKept, RUNS);
  worker.deployment.isBroken = false;
  const startedAt = Date.now();
  await client().repairs.start(repairId, { ratePerSecond: RATE_PER_SECOND });
  let killed = 0;
  let repair: Repair;
  for (;;) {
    repair = await client().repairs.get(repairId);
    if (repair.state === 'done') break;
    assert.ok(performance.now() < giveUpAt + TIMEOUT_MS, `the repair did not end: ${JSON.stringify(repair)}`);
    const started = RUNS - repair.counts.pending;
    if (killed < KILLS && started >= ((killed + 1) * RUNS) / (KILLS + 1)) {
      await service.end('SIGKILL');
      await service.start();
      killed++;
    }
    await pause(20);
  }
  const tookMs = Date.now() - startedAt;
  assert.equal(killed, KILLS);
  assert.ok(tookMs >= ((RUNS - 1) / RATE_PER_SECOND) * 1000 - 200, `${tookMs} ms is too fast for ${RATE_PER_SECOND} per second`);
  assert.deepEqual([repair.counts.succeeded, repair.counts.total], [RUNS, RUNS], JSON.stringify(repair.counts));

  const resumed = new Map<string, number>();
  for await (const run of client().logs({ workflowUrl: worker.url })) {
    const { workflowRunOrigin: origin } = await client().runs.get(run.workflowRunId);
    if (origin) resumed.set(origin.workflowRunId ?? '', (resumed.get(origin.workflowRunId ?? '') ?? 0) + 1);
  }
  assert.equal(resumed.size, RUNS);
  assert.deepEqual(new Set(resumed.values()), new Set([1]));
  assert.deepEqual([worker.first.size, new Set(worker.first.values())], [RUNS, new Set([1])], 'recorded steps are not repeated');
  assert.deepEqual((await client().dlq.list()).messages, []);
  const items = [];
  for await (const item of client().repairs.allItems(repairId, { count: 1_000 })) items.push(item);
  assert.equal(new Set(items.map(({ newWorkflowRunId }) => newWorkflowRunId)).size, RUNS);
});
