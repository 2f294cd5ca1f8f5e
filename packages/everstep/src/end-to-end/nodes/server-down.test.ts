/** Two nodes on a Citus cluster, one of whose servers goes down while runs of several queue instances are in progress. */
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { AdminClient, Client, EverstepError, serve } from '@everstep/sdk';
import { toNodeHandler } from '@everstep/sdk/node';
import { locationsOf } from '../../stores/postgres/sharding/placement.js';
import { NO_CLUSTER, withClusterClient } from '../../stores/postgres/testing/citus.js';
import { type ClusterDatabase, makeClusterDatabase } from '../../stores/postgres/testing/cluster-database.js';
import { type Endpoint, forEachIndex, listen, Nodes, waitUntil } from '../nodes.fixture.js';

const RUNS = 20;
const STEPS = ['one', 'two', 'three'];
const SLEEP_SECONDS = 1;

function unlessUnavailable(error: unknown): null {
  if (error instanceof EverstepError && error.status === 503) return null;
  throw error;
}

interface Tenant {
  readonly instanceId: string;
  readonly server: string;
  readonly token: string;
}

suite('a server of a Citus cluster that goes down', { skip: NO_CLUSTER || false, timeout: 240_000 }, () => {
  let cluster: ClusterDatabase;
  let nodes: Nodes;
  let endpoint: Endpoint;
  let [stopped, other]: readonly Tenant[] = [];
  /** Number of executions of each step of each run. */
  const executed = new Map<string, number>();

  before(async () => {
    cluster = await makeClusterDatabase();
    nodes = await Nodes.start(2, { url: cluster.url });
    const admin = new AdminClient({ baseUrl: nodes.node(0).url, ...nodes.admin });
    const tenants: Tenant[] = [];
    for (let n = 0; n < 12; n++) {
      const made = await admin.instances.create({ name: `tenant-${n}`, region: 'eu-central-1' });
      const server = (await onServer(made.id)) ?? assert.fail();
      tenants.push({ instanceId: made.id, server, token: made.token ?? assert.fail() });
    }
    stopped = tenants[0];
    other = tenants.find(({ server }) => server !== stopped?.server);
    const workflow = serve(
      async (ctx) => {
        for (const step of STEPS) {
          await ctx.run(step, () => {
            const key = `${ctx.runId} ${step}`;
            executed.set(key, (executed.get(key) ?? 0) + 1);
            return step;
          });
          await ctx.sleep(`after ${step}`, SLEEP_SECONDS);
        }
      },
      { allowUnsigned: true },
    );
    const handler = toNodeHandler(workflow);
    endpoint = await listen((request, response) => void handler(request, response));
  });
  after(async () => {
    endpoint?.close();
    await nodes?.dispose();
    await cluster?.drop();
  });

  async function onServer(instanceId: string): Promise<string | null> {
    let server: string | null = null;
    await withClusterClient(cluster.url, async (client) => {
      server = (await locationsOf(client, { only: instanceId, limit: 1 }))[0]?.server ?? null;
    });
    return server;
  }
  const clientOf = (tenant: Tenant, n: number) => new Client({ baseUrl: nodes.node(n % 2).url, token: tenant.token });
  const start = (tenant: Tenant, name: string) =>
    forEachIndex(RUNS, 8, async (n) => void (await clientOf(tenant, n).trigger(endpoint.url, { runId: `${name}-${n}` })));
  const areEnded = async (tenant: Tenant, name: string) => {
    for (let n = 0; n < RUNS; n++) {
      const run = await clientOf(tenant, n).runs.get(`${name}-${n}`).catch(unlessUnavailable);
      if (run?.workflowState !== 'RUN_SUCCESS') return false;
    }
    return true;
  };

  for (const [title, takeDown] of [
    ['refuses connections', 'stop'],
    ['does not answer', 'freeze'],
  ] as const)
    test(`stops the runs of its instances only if it ${title}, and these continue when it is back`, async () => {
      assert.ok(stopped && other);
      executed.clear();
      const [early, healthy, late, refused] = ['early', 'healthy', 'late', 'refused'].map((name) => `${takeDown}-${name}`);
      assert.ok(early && healthy && late);
      await start(stopped, early);
      await start(other, healthy);
      await cluster[takeDown](stopped.server);
      await start(other, late);
      await waitUntil(
        'the runs of the other instance have ended',
        async () => other !== undefined && (await areEnded(other, healthy)),
      );
      await waitUntil(
        'the runs started during the outage have ended',
        async () => other !== undefined && (await areEnded(other, late)),
      );
      await assert.rejects(
        new Client({ baseUrl: nodes.node(0).url, token: stopped.token }).trigger(endpoint.url, { runId: refused }),
        (error) => error instanceof EverstepError && error.status === 503,
      );
      assert.deepEqual([await nodes.node(0).healthStatus('/ready'), await nodes.node(1).healthStatus('/ready')], [200, 200]);
      await cluster.start(stopped.server);
      await waitUntil('the stopped runs have ended', async () => stopped !== undefined && (await areEnded(stopped, early)));
      for (const name of [early, healthy, late])
        for (let n = 0; n < RUNS; n++)
          for (const step of STEPS) assert.ok((executed.get(`${name}-${n} ${step}`) ?? 0) >= 1, `${name}-${n} ${step}`);
      // Without a failure of the process, only a step in flight while the server stopped can be repeated.
      for (const [key, count] of executed) if (!key.startsWith(early)) assert.equal(count, 1, key);
    });
});
