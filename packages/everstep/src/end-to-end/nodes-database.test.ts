/** Nodes whose database goes away for a while, is lost to another one, or whose connections break. */
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { serve } from '@everstep/sdk';
import { toNodeHandler } from '@everstep/sdk/node';
import pg from 'pg';
import { findBinaries } from '../stores/postgres/testing/binaries.js';
import { OwnServer } from '../stores/postgres/testing/own-server.js';
import { DatabaseProxy } from './database-proxy.fixture.js';
import { type Endpoint, each, listen, Nodes, until } from './nodes.fixture.js';

const STEPS = 3;
const RUNS = Number(process.env.NODES_TEST_DISTURBED_RUNS ?? 30);
const missing = process.env.EVERSTEP_TEST_POSTGRES === 'none' || findBinaries() === null;

suite('nodes and their database', {
  skip: missing && 'no PostgreSQL server is installed here',
  timeout: Number(process.env.NODES_TEST_TIMEOUT_MS ?? 240_000),
}, () => {
  let primary: OwnServer;
  let standby: OwnServer | null = null;
  let proxy: DatabaseProxy;
  let nodes: Nodes;
  let endpoint: Endpoint;

  before(async () => {
    const started = await OwnServer.start();
    assert.ok(started);
    primary = started;
    proxy = new DatabaseProxy(primary.port);
    await proxy.listen();
    nodes = await Nodes.start(2, { url: primary.url(proxy.port) });
    const workflow = serve(
      async (ctx) => {
        let sum = 0;
        for (let step = 1; step <= STEPS; step++) sum += await ctx.run(`step ${step}`, () => pause(10, step));
        return sum;
      },
      { signingKeys: nodes.signingKeys },
    );
    const handler = toNodeHandler(workflow);
    endpoint = await listen((request, response) => void handler(request, response));
  });
  after(async () => {
    endpoint?.close();
    await nodes?.dispose();
    await proxy?.close();
    await standby?.end('SIGKILL');
    await primary?.dispose();
  });

  /** Triggers runs through all nodes until each is acknowledged, while `disturb` goes on. All of them end, recorded once. */
  async function underLoad(name: string, count: number, disturb: () => Promise<void>): Promise<void> {
    const runIds = Array.from({ length: count }, (_, n) => `${name}-${n}`);
    const load = each(count, 6, async (n) => {
      const runId = runIds[n] ?? '';
      await nodes.anywhere((client) => client.trigger(endpoint.url, { runId, deduplicationId: runId, retryDelay: '50' }));
      await pause(10);
    });
    await Promise.all([load, pause(150).then(disturb)]);
    await each(count, 8, async (n) => {
      const runId = runIds[n] ?? '';
      const ended = await nodes.anywhere((client) => client.runs.result<number>(runId, { timeout: '60s' }));
      assert.equal('result' in ended ? ended.result : JSON.stringify(ended), 6, runId);
      const { steps } = await nodes.anywhere((client) => client.runs.get(runId));
      const named = steps.map(({ stepName }) => stepName).filter((step) => step?.startsWith('step '));
      assert.deepEqual(named.sort(), ['step 1', 'step 2', 'step 3'], runId);
    });
    const entries: string[] = [];
    for await (const { workflowRunId } of nodes.client(0).runs.entries({ workflowUrl: endpoint.url }))
      entries.push(workflowRunId);
    assert.equal(entries.filter((runId) => runId.startsWith(`${name}-`)).length, count, 'one run for each id');
  }

  const allReady = () => Promise.all(nodes.all.map((node) => node.ready()));

  test('connections that are cut in the middle of transactions lose nothing, and do nothing twice', async () => {
    await underLoad('cut', RUNS, async () => {
      for (let cuts = 0; cuts < 6; cuts++) {
        proxy.cut();
        await pause(120);
      }
    });
    await allReady();
  });

  test('a commit whose answer was lost is neither lost nor made twice', async (t) => {
    const before = proxy.answersLost;
    await underLoad('answer', RUNS, async () => {
      for (let losses = 0; losses < 10; losses++) {
        proxy.answersToLose = 1;
        await pause(60);
      }
      proxy.answersToLose = 0;
    });
    t.diagnostic(`${proxy.answersLost - before} answers were lost`);
    assert.ok(proxy.answersLost > before);
    await allReady();
  });

  test('a database that is killed and started again under load is taken up by itself; nodes say that they are alive and not ready', async (t) => {
    let backAt = 0;
    await underLoad('restart', RUNS, async () => {
      await primary.end('SIGKILL');
      await until('both say so', async () => {
        const ready = await Promise.all(nodes.all.map((node) => node.standing('/ready')));
        return ready.every((status) => status === 503);
      });
      // Their leases end meanwhile.
      await pause(1_500);
      for (const node of nodes.all) {
        assert.equal(await node.standing('/health'), 200);
        assert.equal(await node.standing('/ready'), 503);
      }
      await primary.start();
      backAt = performance.now();
    });
    await allReady();
    t.diagnostic(`all runs ended ${Math.round(performance.now() - backAt)} ms after the database was back`);
  });

  test('a node that cannot reach the database is not ready, though it was until now; it is again when it can', async () => {
    proxy.refusing = true;
    proxy.cut();
    await until('both say so', async () => {
      const ready = await Promise.all(nodes.all.map((node) => node.standing('/ready')));
      return ready.every((status) => status === 503);
    });
    proxy.refusing = false;
    await allReady();
  });

  test('a database of which every connection waits for long is waited for, and nothing is lost', async () => {
    await underLoad('stuck', RUNS, async () => {
      const client = new pg.Client({ connectionString: primary.url() });
      await client.connect();
      await client.query('BEGIN; LOCK TABLE task IN ACCESS EXCLUSIVE MODE');
      await pause(2_500);
      await client.query('COMMIT');
      await client.end();
    });
    await allReady();
  });

  // The last: the first server is gone afterwards.
  test('a synchronous standby that is promoted goes on with all that was acknowledged', async () => {
    standby = await primary.follow();
    await allReady();
    await underLoad('failover', RUNS, async () => {
      await primary.end('SIGKILL');
      proxy.cut();
      proxy.target = standby?.port ?? 0;
      await standby?.promote();
    });
    await allReady();
    // What was acknowledged before it.
    const { workflowState } = await nodes.client(0).runs.result('cut-0');
    assert.equal(workflowState, 'RUN_SUCCESS');
  });
});
