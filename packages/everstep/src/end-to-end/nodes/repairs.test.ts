/** A repair on several nodes: one drives it, any node accepts commands, and another continues when the driver dies. */
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { type Client, NonRetryableError, type Repair, serve } from '@everstep/sdk';
import { toNodeHandler } from '@everstep/sdk/node';
import { openTestSchemas } from '../../stores/postgres/testing/schemas.js';
import { type Endpoint, listen, Nodes } from '../nodes.fixture.js';

const RUNS = 60;
const RATE_PER_SECOND = 10;
const TIMEOUT_MS = 60_000;

const schemas = await openTestSchemas();

suite('a repair on several nodes', { skip: typeof schemas === 'string' && schemas, timeout: 240_000 }, () => {
  let nodes: Nodes;
  let endpoint: Endpoint;
  let isBroken = true;

  before(async () => {
    if (typeof schemas === 'string') return;
    nodes = await Nodes.start(2, { url: (await schemas.make()).url });
    const handler = toNodeHandler(
      serve(
        async (ctx) =>
          ctx.run('work', () => {
            if (isBroken) throw new NonRetryableError('broken');
          }),
        { signingKeys: nodes.signingKeys },
      ),
    );
    endpoint = await listen((request, response) => void handler(request, response));
  });
  after(async () => {
    endpoint?.close();
    await nodes?.dispose();
  });

  async function until(look: () => Promise<boolean>, what: string): Promise<void> {
    const giveUpAt = performance.now() + TIMEOUT_MS;
    while (!(await look())) {
      assert.ok(performance.now() < giveUpAt, what);
      await pause(50);
    }
  }

  const startedOf = ({ counts }: Repair): number => counts.total - counts.pending;
  const countLetters = async (client: Client): Promise<number> => (await client.dlq.list({ count: 100 })).messages.length;

  test('a repair is paused and continued at another node, and each dead letter is started once although its driver is killed', async () => {
    const [first, second] = [nodes.client(0), nodes.client(1)];
    const items = Array.from({ length: RUNS }, () => ({ workflowUrl: endpoint.url, body: {}, retries: 0 }));
    await first.triggerMany(items);
    await until(async () => (await countLetters(first)) === RUNS, 'not all runs have failed');
    isBroken = false;
    const { repairId } = await first.repairs.plan('resume');
    await first.repairs.start(repairId, { ratePerSecond: RATE_PER_SECOND });
    await until(async () => startedOf(await second.repairs.get(repairId)) >= 10, 'the repair makes no progress');

    await second.repairs.pause(repairId);
    // Starts in progress at the time of the pause are reported later.
    let paused = await first.repairs.get(repairId);
    await until(async () => {
      const before = paused;
      await pause(1_500);
      paused = await first.repairs.get(repairId);
      return startedOf(paused) === startedOf(before);
    }, 'runs start while the repair is paused');
    assert.equal(paused.state, 'paused');
    assert.ok(startedOf(paused) < RUNS, 'the repair was paused before it was done');

    await first.repairs.continue(repairId);
    await until(
      async () => startedOf(await second.repairs.get(repairId)) >= startedOf(paused) + 5,
      'the repair did not continue',
    );
    await nodes.node(0).end('SIGKILL');
    const at = performance.now();
    const atKill = startedOf(await second.repairs.get(repairId));
    await until(
      async () => startedOf(await second.repairs.get(repairId)) > atKill + RATE_PER_SECOND / 2,
      'no node took the repair over',
    );
    assert.ok(performance.now() - at < 45_000, `taken over after ${performance.now() - at} ms`);
    await until(async () => (await second.repairs.get(repairId)).state === 'done', 'the repair is not done');

    const done = await second.repairs.get(repairId);
    assert.deepEqual([done.counts.succeeded, done.counts.total], [RUNS, RUNS], JSON.stringify(done.counts));
    const resumed: string[] = [];
    for await (const run of second.logs({ workflowUrl: endpoint.url })) {
      const { workflowRunOrigin: origin } = await second.runs.get(run.workflowRunId);
      if (origin?.workflowRunId) resumed.push(origin.workflowRunId);
    }
    assert.equal(resumed.length, RUNS);
    assert.equal(new Set(resumed).size, RUNS);
    assert.equal(await countLetters(second), 0);
  });
});
