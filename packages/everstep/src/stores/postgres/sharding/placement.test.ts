/** Distribution of a store with data, and moves of instances while they are used, on a Citus cluster. */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import type { Store } from '../../../ports/stores/store.js';
import { sampleInstance } from '../../conformance/accounts/account-samples.js';
import { advanceTask, apply, creation, putTasks, sampleRun, sampleStep, T0, unit } from '../../conformance/samples.js';
import { openPostgresNode, openPostgresStore } from '../index.js';
import { verifyDatabase } from '../storage/consistency.js';
import { NO_CLUSTER, withClusterClient } from '../testing/citus.js';
import { openTestSchemas } from '../testing/schemas.js';
import { DistributionError, distribute, distributionState } from './distribute.js';
import { locationsOf, moveInstance, serversOf } from './placement.js';

const schemas = NO_CLUSTER || (await openTestSchemas());
const log = { debug() {}, info() {}, warn() {}, error() {} };
/** More instances than shards, so that some instances share a shard. */
const INSTANCES = Array.from({ length: 8 }, (_, n) => `qi_${n}`);
const RUNS = 40;

const runs = Array.from({ length: RUNS }, (_, n) => sampleRun(n, { instanceId: INSTANCES[n % INSTANCES.length] ?? '' }));

async function assertHolds(url: string): Promise<void> {
  const results = await verifyDatabase(url, log);
  assert.deepEqual(
    results.filter(({ violations }) => violations > 0),
    [],
  );
}

/** Starts the runs, with one step each. */
async function fill(store: Store): Promise<void> {
  for (const id of INSTANCES) await store.accounts.createInstance(sampleInstance(id));
  for (const run of runs) {
    await apply(store, [creation(run), ...putTasks(run.key, [advanceTask(T0)])]);
    await apply(store, [{ kind: 'record-step', runKey: run.key, step: sampleStep(0) }]);
  }
}

const recordNext = (runKey: string, index: number) =>
  unit([{ kind: 'record-step', runKey, step: sampleStep(index) }], [{ kind: 'run-active', runKey }]);

describe('tables on a Citus cluster', { skip: typeof schemas === 'string' && schemas }, () => {
  if (typeof schemas === 'string') return;

  test('a store with data is distributed and continues to work, and distributing it again changes nothing', async () => {
    const { url } = await schemas.make({ hasTables: false });
    const before = await openPostgresStore({ url, log });
    await fill(before);
    await before.close();
    await withClusterClient(url, async (client) => {
      await distribute(client, { shards: 4 });
      assert.deepEqual((await distributionState(client)).pending, []);
      await distribute(client, { shards: 4 });
      // An earlier version distributed the directory like this.
      await client.query(`SELECT undistribute_table('run_directory')`);
      await client.query('ALTER TABLE run_directory DROP CONSTRAINT run_directory_pkey, ADD PRIMARY KEY (run_key)');
      await client.query(`SELECT create_distributed_table('run_directory', 'run_key', colocate_with => 'none')`);
      const { pending } = await distributionState(client);
      assert.deepEqual(pending, [{ table: 'run_directory', by: 'instance_id' }]);
      await distribute(client, { shards: 4 });
      assert.deepEqual((await distributionState(client)).pending, []);
    });
    const store = await openPostgresStore({ url, log });
    after(() => store.close());
    for (const { key } of runs) assert.equal((await store.loadJournal({ runKey: key, from: 0 })).length, 1);
    const results = await store.commit(runs.map(({ key }) => recordNext(key, 1)));
    assert.deepEqual(new Set(results.map(({ kind }) => kind)), new Set(['applied']));
    await assertHolds(url);
  });

  test('a store that is opened while the tables are distributed waits, and then uses distributed tables', async () => {
    const { url } = await schemas.make({ hasTables: false });
    await (await openPostgresStore({ url, log })).close();
    const opening: Promise<Store>[] = [];
    const openFirst = () => {
      if (opening.length === 0) opening.push(openPostgresStore({ url, log }));
    };
    await withClusterClient(url, (client) => distribute(client, { shards: 4, done: openFirst }));
    const store = (await opening[0]) ?? assert.fail('no table was distributed');
    after(() => store.close());
    assert.ok(store.servers);
  });

  test('a node that was opened before the tables were distributed cannot join, and one that has joined prevents that', async () => {
    const { url } = await schemas.make({ hasTables: false });
    const facts = { host: 'test', version: '0' };
    const events = { onWork() {}, onSuspended() {}, onResumed() {}, onChanged() {} };
    const [joined, late] = await Promise.all([1, 2].map(() => openPostgresNode({ url, log, facts, leaseMs: 60_000 })));
    assert.ok(joined && late);
    await joined.cluster.join(events);
    await withClusterClient(url, (client) => assert.rejects(distribute(client, { shards: 4 }), DistributionError));
    await joined.store.close();
    await withClusterClient(url, (client) => distribute(client, { shards: 4 }));
    await assert.rejects(late.cluster.join(events), /start the node again/);
    await late.store.close();
  });

  test('an instance moves to another server and back while its runs continue', { timeout: 120_000 }, async () => {
    const { url } = await schemas.make();
    const store = await openPostgresStore({ url, log });
    after(() => store.close());
    await fill(store);
    let instanceId = '';
    await withClusterClient(url, async (client) => {
      const locations = await locationsOf(client, { limit: 100 });
      const shared = locations.find((one) => locations.some((other) => other !== one && other.shard === one.shard));
      instanceId = shared?.instanceId ?? assert.fail('no instances share a shard');
    });
    const moved = runs.find((run) => run.instanceId === instanceId);
    assert.ok(moved);
    const state = { isMoving: true, steps: 1 };
    const writing = (async () => {
      while (state.isMoving) {
        const [result] = await store.commit([recordNext(moved.key, state.steps++)]);
        assert.equal(result?.kind, 'applied');
      }
    })();
    await withClusterClient(url, async (client) => {
      const servers = (await serversOf(client)).map(({ server }) => server);
      const from = (await locationsOf(client, { only: instanceId, limit: 1 }))[0]?.server ?? assert.fail();
      const to = servers.find((server) => server !== from) ?? assert.fail('the cluster has one server');
      await assert.rejects(moveInstance(client, { instanceId, to: 'nowhere:1' }), DistributionError);
      await assert.rejects(moveInstance(client, { instanceId: 'qi_unknown', to }), DistributionError);
      try {
        const alone = await moveInstance(client, { instanceId, to });
        assert.equal(alone.server, to);
        assert.ok(
          (await locationsOf(client, { limit: 100 })).every((one) => one.instanceId === instanceId || one.shard !== alone.shard),
        );
        assert.deepEqual(await moveInstance(client, { instanceId, to }), alone, 'the instance is already there');
        // The instance moves back, with a shard of its own.
        assert.deepEqual(await moveInstance(client, { instanceId, to: from }), { ...alone, server: from });
      } finally {
        state.isMoving = false;
      }
    });
    await writing;
    assert.equal((await store.loadJournal({ runKey: moved.key, from: 0 })).length, state.steps);
    for (const { key } of runs.filter((run) => run !== moved))
      assert.equal((await store.loadJournal({ runKey: key, from: 0 })).length, 1);
    await assertHolds(url);
  });
});
