/** Nodes whose database is unavailable, is replaced by a standby, or whose connections break. */
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { findBinaries } from '../../stores/postgres/testing/binaries.js';
import { DatabaseProxy } from '../../stores/postgres/testing/database-proxy.js';
import { OwnServer } from '../../stores/postgres/testing/own-server.js';
import { Nodes, waitUntil } from '../nodes.fixture.js';
import { StepsUnderLoad } from './steps-under-load.fixture.js';

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
  let steps: StepsUnderLoad;

  before(async () => {
    const started = await OwnServer.start();
    assert.ok(started);
    primary = started;
    proxy = new DatabaseProxy(primary.port);
    await proxy.listen();
    nodes = await Nodes.start(2, { url: primary.url(proxy.port) });
    steps = await StepsUnderLoad.listen(nodes);
  });
  after(async () => {
    steps?.close();
    try {
      await nodes?.dispose();
    } finally {
      await proxy?.close();
      await standby?.end('SIGKILL');
      await primary?.dispose();
    }
  });

  const underLoad = (name: string, count: number, disturb: () => Promise<void>) => steps.run(name, count, disturb);
  const allReady = () => Promise.all(nodes.all.map((node) => node.ready()));

  test('connections cut during transactions neither lose nor repeat changes', async () => {
    await underLoad('cut', RUNS, async () => {
      for (let cuts = 0; cuts < 6; cuts++) {
        proxy.cut();
        await pause(120);
      }
    });
    await allReady();
  });

  test('a commit whose response was lost is neither lost nor repeated', async (t) => {
    const before = proxy.lostResponses;
    await underLoad('answer', RUNS, async () => {
      for (let losses = 0; losses < 10; losses++) {
        proxy.responsesToLose = 1;
        await pause(60);
      }
      proxy.responsesToLose = 0;
    });
    t.diagnostic(`${proxy.lostResponses - before} responses were lost`);
    assert.ok(proxy.lostResponses > before);
    await allReady();
  });

  test('nodes reconnect to a restarted database automatically, and are alive but not ready until then', async (t) => {
    let backAt = 0;
    await underLoad('restart', RUNS, async () => {
      await primary.end('SIGKILL');
      await waitUntil('both nodes report it', async () => {
        const ready = await Promise.all(nodes.all.map((node) => node.healthStatus('/ready')));
        return ready.every((status) => status === 503);
      });
      // The leases of the nodes expire during the pause.
      await pause(1_500);
      for (const node of nodes.all) {
        assert.equal(await node.healthStatus('/health'), 200);
        assert.equal(await node.healthStatus('/ready'), 503);
      }
      await primary.start();
      backAt = performance.now();
    });
    await allReady();
    t.diagnostic(`all runs ended ${Math.round(performance.now() - backAt)} ms after the database was back`);
  });

  test('a node is not ready while it cannot reach the database', async () => {
    proxy.isRefusing = true;
    proxy.cut();
    await waitUntil('both nodes report it', async () => {
      const ready = await Promise.all(nodes.all.map((node) => node.healthStatus('/ready')));
      return ready.every((status) => status === 503);
    });
    proxy.isRefusing = false;
    await allReady();
  });

  test('nodes wait for a database that does not respond for long, and lose nothing', async () => {
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

  // This test is the last one, because the first server is gone afterward.
  test('a promoted synchronous standby continues all acknowledged runs', async () => {
    standby = await primary.startStandby();
    await allReady();
    await underLoad('failover', RUNS, async () => {
      await primary.end('SIGKILL');
      proxy.cut();
      proxy.targetPort = standby?.port ?? 0;
      await standby?.promote();
    });
    await allReady();
    // These runs were acknowledged before the promotion.
    const { workflowState } = await nodes.client(0).runs.result('cut-0');
    assert.equal(workflowState, 'RUN_SUCCESS');
  });
});
