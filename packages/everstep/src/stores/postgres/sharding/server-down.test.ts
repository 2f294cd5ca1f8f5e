/** The store while one server of a Citus cluster is down. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { PartialCommitError } from '../../../ports/stores/commit-store.js';
import type { Store } from '../../../ports/stores/store.js';
import { ServerUnavailableError } from '../../../ports/stores/store-unavailable.js';
import { sampleInstance } from '../../conformance/accounts/account-samples.js';
import { advanceTask, apply, creation, failure, putTasks, sampleRun, sampleStep, T0, unit } from '../../conformance/samples.js';
import { openPostgresNode, openPostgresStore } from '../index.js';
import { verifyDatabase } from '../storage/consistency.js';
import { NO_CLUSTER, withClusterClient } from '../testing/citus.js';
import { type ClusterDatabase, makeClusterDatabase } from '../testing/cluster-database.js';
import { locationsOf } from './placement.js';

const log = { debug() {}, info() {}, warn() {}, error() {} };
const facts = { host: 'test', version: '0' };
const EVENTS = { onWork() {}, onSuspended() {}, onResumed() {}, onChanged() {} };
const INSTANCES = Array.from({ length: 8 }, (_, n) => `qi_${n}`);
const DUE = { before: T0 + 10, after: null, limit: 100 };
const unavailable = (server: string) => (error: unknown) => error instanceof ServerUnavailableError && error.server === server;

const WAYS = [
  ['refuses connections', 'stop'],
  ['does not answer', 'freeze'],
] as const;

for (const [what, takeDown] of WAYS)
  describe(`a server of a Citus cluster that ${what}`, { skip: NO_CLUSTER || false, timeout: 180_000 }, () => {
    let cluster: ClusterDatabase;
    let store: Store;
    /** An instance on the server that stops, and one on another server. */
    let [stopped, other, server] = ['', '', ''];
    let made = 0;

    before(async () => {
      cluster = await makeClusterDatabase();
      store = await openPostgresStore({ url: cluster.url, log });
      for (const id of INSTANCES) await store.accounts.createInstance(sampleInstance(id));
      await withClusterClient(cluster.url, async (client) => {
        const [first, ...others] = await locationsOf(client, { limit: 100 });
        const second = others.find((one) => one.server !== first?.server);
        [stopped, other, server] = [first?.instanceId ?? '', second?.instanceId ?? '', first?.server ?? ''];
      });
      assert.ok(stopped && other);
    });
    after(async () => {
      await store?.close();
      await cluster?.drop();
    });

    const start = async (instanceId: string): Promise<string> => {
      const run = sampleRun(++made, { instanceId });
      await apply(store, [creation(run), ...putTasks(run.key, [advanceTask(T0)])]);
      return run.key;
    };
    const record = (runKey: string, index: number) =>
      unit([{ kind: 'record-step', runKey, step: sampleStep(index) }], [{ kind: 'run-active', runKey }]);
    const stepsOf = async (runKey: string) => (await store.loadJournal({ runKey, from: 0 })).length;

    /** Runs `work` while the server is down. Resolves when the store has found out that it is back. */
    async function whileDown(work: () => Promise<void>): Promise<void> {
      await cluster[takeDown](server);
      try {
        await work();
      } finally {
        await cluster.start(server);
      }
      await store.servers?.whenAvailable(server);
    }

    test('refuses the units of its instances only, and they continue when it is back', async () => {
      const [mine, others] = [await start(stopped), await start(other)];
      await whileDown(async () => {
        // The first call detects the failure, and the second one uses that.
        for (const index of [0, 1]) {
          await assert.rejects(store.commit([record(mine, 0), record(others, index)]), (error) => {
            assert.ok(error instanceof PartialCommitError);
            const [failed, written] = error.outcomes;
            assert.ok(failed?.kind === 'failed' && unavailable(server)(failed.error));
            return written?.kind === 'applied';
          });
        }
        await assert.rejects(store.commit([record(mine, 0)]), unavailable(server));
        await assert.rejects(store.loadRun({ runKey: mine }), unavailable(server));
        await assert.rejects(start(stopped), unavailable(server));
        assert.equal(store.servers?.serverOf(stopped), server);
        assert.notEqual(store.servers?.serverOf(other), server);
        assert.equal(await stepsOf(others), 2);
      });
      assert.equal(await stepsOf(mine), 0);
      assert.deepEqual(await store.commit([record(mine, 0), record(others, 2)]), [{ kind: 'applied' }, { kind: 'applied' }]);
      assert.deepEqual([await stepsOf(mine), await stepsOf(others)], [1, 3]);
    });

    test('does not keep runs of other instances from starting, failing and being read', async () => {
      await whileDown(async () => {
        const keys = [];
        // Several runs, because the key decides which directory shard a run uses.
        for (let n = 0; n < 20; n++) keys.push(await start(other));
        for (const key of keys) assert.equal((await store.loadRun({ runKey: key }))?.key, key);
        const failed = sampleRun(++made, { instanceId: other });
        await apply(store, [creation(failed), ...failure(failed)]);
        const page = { instanceId: other, filter: {}, order: 'newest-first', after: null, horizon: null, limit: 5 } as const;
        assert.equal((await store.listRuns(page)).items.length, 5);
        assert.equal((await store.listDeadLetters(page)).items.length, 1);
        await store.probeWrites();
      });
    });

    test('is omitted by the reads over all instances', async () => {
      const [mine, others] = [await start(stopped), await start(other)];
      const instancesOf = async () => new Set((await store.dueTasks(DUE)).map(({ instanceId }) => instanceId));
      await whileDown(async () => {
        assert.deepEqual(await instancesOf(), new Set([other]));
        assert.deepEqual(await store.dueInstances({ from: 0, before: T0 + 10 }), [other]);
        await store.nextDueAt({ after: T0 });
        assert.ok((await store.latestTime()) > 0);
        assert.ok((await store.measure(T0)).activeRuns > 0);
        await store.dueSchedules({ before: T0, limit: 10 });
        await store.nextScheduleAt();
        await store.instancesWithDueSchedules({ before: T0 });
        await store.repairs.claimDue({ before: T0, limit: 10, limitPerInstance: 10, except: [], driver: null });
        await store.repairs.nextAt({ nodeId: null, after: 0 });
        await store.accounts.dueBudgetAlerts({ before: T0, limit: 10 });
        await store.accounts.nextBudgetAlertAt({ after: 0 });
        await store.findInvoker({ childRunKey: others });
        await store.removeStagedSteps();
        // The store cannot know whether the run exists.
        await assert.rejects(store.loadRun({ runKey: 'unknown' }), unavailable(server));
      });
      assert.deepEqual(await instancesOf(), new Set([stopped, other]));
      assert.equal(await store.loadRun({ runKey: 'unknown' }), null);
      assert.equal((await store.loadRun({ runKey: mine }))?.key, mine);
    });

    test('does not keep nodes from starting, claiming, taking over and leaving', async () => {
      const options = { url: cluster.url, log, facts };
      const lost = await openPostgresNode(options);
      await lost.cluster.join(EVENTS);
      const [mine, others] = [await start(stopped), await start(other)];
      const claimed = await lost.cluster.claimDue(DUE);
      assert.ok([mine, others].every((key) => claimed.some(({ runKey }) => runKey === key)));
      const keysOf = async (node: typeof lost) => (await node.cluster.claimDue(DUE)).map(({ runKey }) => runKey);
      await whileDown(async () => {
        const node = await openPostgresNode(options);
        await node.cluster.join(EVENTS);
        await lost.store.close();
        const again = await keysOf(node);
        assert.ok(again.includes(others) && !again.includes(mine));
        const late = await start(other);
        assert.deepEqual(await keysOf(node), [late]);
        assert.equal(await node.cluster.gateHolderOf(other), node.cluster.nodeId);
        assert.equal((await node.cluster.nodes()).length, 1);
        await node.store.close();
      });
      const node = await openPostgresNode({ ...options, leaseMs: 1_000 });
      await node.cluster.join(EVENTS);
      // Claims of nodes that left while the server was down are found when a lease is renewed.
      for (let found: readonly string[] = []; !found.includes(mine); found = await keysOf(node));
      await node.store.close();
    });

    test('leaves the store consistent', async () => {
      const results = await verifyDatabase(cluster.url, log);
      assert.deepEqual(
        results.filter(({ violations }) => violations > 0),
        [],
      );
    });
  });
