/** Nodes with a URL of two servers: a primary and the synchronous standby that replaces it. */
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import pg from 'pg';
import { findBinaries } from '../../stores/postgres/testing/binaries.js';
import { OwnServer } from '../../stores/postgres/testing/own-server.js';
import { Nodes, waitUntil } from '../nodes.fixture.js';
import { StepsUnderLoad } from './steps-under-load.fixture.js';

const RUNS = Number(process.env.NODES_TEST_DISTURBED_RUNS ?? 30);
const missing = process.env.EVERSTEP_TEST_POSTGRES === 'none' || findBinaries() === null;

suite('nodes and two servers', {
  skip: missing && 'no PostgreSQL server is installed here',
  timeout: Number(process.env.NODES_TEST_TIMEOUT_MS ?? 240_000),
}, () => {
  let old: OwnServer;
  let standby: OwnServer;
  let nodes: Nodes;
  let steps: StepsUnderLoad;

  before(async () => {
    const started = await OwnServer.start();
    assert.ok(started);
    old = started;
    standby = await old.startStandby();
    const hosts = [standby, old].map(({ port }) => `127.0.0.1:${port}`).join(',');
    nodes = await Nodes.start(2, { url: `postgres://everstep@${hosts}/postgres?target_session_attrs=read-write` });
    steps = await StepsUnderLoad.listen(nodes);
  });
  after(async () => {
    steps?.close();
    try {
      await nodes?.dispose();
    } finally {
      await standby?.end('SIGKILL');
      await old?.dispose();
    }
  });

  const allReady = () => Promise.all(nodes.all.map((node) => node.ready()));
  const ask = async (server: OwnServer, sql: string): Promise<number> => {
    const client = new pg.Client({ connectionString: server.url() });
    await client.connect();
    try {
      return Number((await client.query<{ n: string }>(sql)).rows[0]?.n);
    } finally {
      await client.end();
    }
  };
  /**
   * Returns the number of connections, without commits that wait for the removed standby: the server does not detect that their
   * clients are gone.
   */
  const connections = (server: OwnServer) =>
    ask(
      server,
      `SELECT count(*) AS n FROM pg_stat_activity
       WHERE application_name IN ('everstep', 'everstep (listens)') AND wait_event IS DISTINCT FROM 'SyncRep'`,
    );
  const runsOn = (server: OwnServer) => ask(server, 'SELECT count(*) AS n FROM run');

  test('nodes use the primary wherever it is in the URL', async () => {
    await steps.run('before', RUNS, async () => {});
    assert.ok((await connections(old)) > 0);
    assert.equal(await connections(standby), 0);
  });

  test('nodes leave the running old primary after a promotion without losing acknowledged changes', async (t) => {
    let promotedAt = 0;
    await steps.run('during', RUNS, async () => {
      await standby.promote();
      promotedAt = performance.now();
    });
    await allReady();
    t.diagnostic(`all runs ended ${Math.round(performance.now() - promotedAt)} ms after the promotion`);
    await waitUntil('no node talks to the old primary', async () => (await connections(old)) === 0);
    const onOld = await runsOn(old);
    await steps.run('after', RUNS, async () => {});
    assert.equal(await runsOn(old), onOld);
    assert.equal(await runsOn(standby), 3 * RUNS);
  });

  test('a restarted node uses the promoted server, and no node returns to the old one even if it is the only one', async () => {
    await nodes.node(1).end('SIGKILL');
    await nodes.node(1).start();
    assert.equal(await connections(old), 0);
    await standby.end('SIGKILL');
    await waitUntil('no node is ready', async () => {
      const ready = await Promise.all(nodes.all.map((node) => node.healthStatus('/ready')));
      return ready.every((status) => status === 503);
    });
    assert.equal(await connections(old), 0);
    await standby.start();
    await allReady();
    await steps.run('again', RUNS, async () => {});
    assert.equal(await runsOn(standby), 4 * RUNS);
  });
});
