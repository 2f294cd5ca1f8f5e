/** The order of a queue on nodes whose clocks are wrong, each differently. */
import assert from 'node:assert/strict';
import { after, afterEach, describe, test } from 'node:test';
import type { Run } from '../../../engine/runs/run.js';
import type { DueTask, Store, StoreWrite } from '../../../ports/stores/store.js';
import { apply, creation, INSTANCE, OTHER_INSTANCE, putTasks, sampleRun } from '../../conformance/samples.js';
import { Database, statement, type TransactionSession } from '../connection/connection.js';
import { migrate } from '../connection/migrate.js';
import { createPostgresStore } from '../index.js';
import { detectEngine } from '../sharding/detection.js';
import { openTestSchemas } from '../testing/schemas.js';
import { PostgresCluster } from './cluster.js';
import { takeGate } from './distributed-claims.js';
import { gateHolderOf } from './gate-leases.js';
import { claimQueued, claimQueuedOnServers } from './queue-claims.js';

const schemas = await openTestSchemas();
const log = { debug() {}, info() {}, warn() {}, error() {} };
const events = { onWork() {}, onSuspended() {}, onResumed() {}, onChanged() {} };

/** A cluster whose clock is wrong by the given number of milliseconds. */
class SkewedClockCluster extends PostgresCluster {
  aheadMs = 0;
  override now(): number {
    return super.now() + this.aheadMs;
  }
}

interface Node {
  readonly store: Store;
  readonly cluster: SkewedClockCluster;
}

interface OpenTransaction {
  commit(): Promise<void>;
  /** Resolves when another transaction waits for this one. */
  blocks(): Promise<void>;
}

if (typeof schemas === 'string') {
  describe('the order of a queue on PostgreSQL', { skip: schemas }, () => {});
} else {
  const schema = await schemas.make();
  const { url } = schema;
  const nodes: Node[] = [];
  const openTransactions: OpenTransaction[] = [];
  const database = new Database({ url, log });
  await migrate(database, url);
  database.engine = await detectEngine(database, log);
  const { isDistributed } = database.engine;
  after(() => database.close());
  afterEach(async () => {
    await Promise.allSettled(openTransactions.splice(0).map((held) => held.commit()));
    for (const { store } of nodes.splice(0)) await store.close();
    await schema.clear();
  });

  async function join(aheadMs: number): Promise<Node> {
    const own = new Database({ url, log });
    own.engine = database.engine;
    const cluster = new SkewedClockCluster(own, { url, log, facts: { host: 'test', version: '0' }, leaseMs: 60_000 });
    const node = { store: createPostgresStore(own, cluster), cluster };
    nodes.push(node);
    await cluster.readTime();
    cluster.aheadMs = aheadMs;
    await cluster.join(events);
    return node;
  }

  let made = 0;
  /** A message as a node creates it: its key and times are from that node's clock. */
  function message(
    { cluster }: Node,
    inMs = 0,
    instanceId = INSTANCE,
  ): { readonly run: Run; readonly writes: readonly StoreWrite[] } {
    const now = cluster.now();
    // Keys of one node sort by its time, and in any order within a millisecond.
    const key = `${now}${['Z', 'M', 'A'][made % 3]}${made}`;
    const settings = { message: { method: 'POST', queue: 'q' } };
    const run: Run = { ...sampleRun(++made, { settings, instanceId }), key, createdAt: now };
    const task = { kind: 'message', slot: 0, messageId: `msg_${key}`, dueAt: now + inMs, createdAt: now, retried: 0 } as const;
    return { run, writes: [creation(run), ...putTasks(key, [task])] };
  }
  /** Returns the keys that a read claims, in pages of length `limit`. */
  const claimed = async ({ cluster }: Node, { includesClaimed = false, limit = 500 } = {}) => {
    const all: string[] = [];
    let after: number | null = null;
    for (;;) {
      const page: readonly DueTask[] = await cluster.claimQueued({
        before: Number.MAX_SAFE_INTEGER,
        after,
        includesClaimed,
        limit,
      });
      all.push(...page.map(({ runKey }) => runKey));
      if (page.length < limit) return all;
      after = page.at(-1)?.dueAt ?? after;
    }
  };

  /** Sends messages one after the other through these nodes in turn. Resolves with their keys. */
  async function send(count: number, through: readonly Node[], instanceId = INSTANCE): Promise<readonly string[]> {
    const sent: string[] = [];
    for (let n = 0; n < count; n++) {
      const node = through[n % through.length] ?? assert.fail();
      const { run, writes } = message(node, 0, instanceId);
      await apply(node.store, writes);
      sent.push(run.key);
    }
    return sent;
  }

  const PID = statement('SELECT pg_backend_pid() AS pid');
  // On a Citus cluster, a worker holds the lock. Its process id contains the number of the server.
  const BLOCKED = statement(
    isDistributed
      ? 'SELECT 1 FROM citus_lock_waits WHERE blocking_gpid % 10000000000 = $1'
      : 'SELECT 1 FROM pg_stat_activity WHERE $1 = ANY(pg_blocking_pids(pid))',
  );
  const LOCK = statement('SELECT 1 FROM task WHERE instance_id = $1 AND run_key = ANY($2::text[]) FOR UPDATE');

  /** Claims messages within an open transaction. */
  const claimWithin = (session: TransactionSession, nodeId: string, limit: number) => {
    const query = { before: Number.MAX_SAFE_INTEGER, after: null, includesClaimed: false, limit };
    if (!isDistributed) return claimQueued(session, nodeId, query);
    return claimQueuedOnServers(session, (work) => work(session), nodeId, query);
  };

  /** Starts a transaction that stays open until `commit` is called. */
  async function open(work: (session: TransactionSession) => Promise<unknown>): Promise<OpenTransaction> {
    let commit = (): void => {};
    const committing = new Promise<void>((resolve) => {
      commit = resolve;
    });
    let opened = (_pid: number): void => {};
    const pid = new Promise<number>((resolve) => {
      opened = resolve;
    });
    const ended = database.transaction(async (session) => {
      await work(session);
      opened(Number((await session.query(PID))[0]?.pid));
      await committing;
    });
    await Promise.race([pid, ended]);
    const held: OpenTransaction = {
      commit: () => {
        commit();
        return ended;
      },
      blocks: async () => {
        const blocker = await pid;
        while ((await database.query(BLOCKED, [blocker])).length === 0) await new Promise((resolve) => setImmediate(resolve));
      },
    };
    openTransactions.push(held);
    return held;
  }

  /** Ends the lease of a node without notice to others, as if its process was killed. */
  const kill = ({ cluster }: Node) =>
    database.execute(statement(`UPDATE node SET lease_until = clock_timestamp() - interval '1 second' WHERE node_id = $1`), [
      cluster.nodeId,
    ]);

  describe('the order of a queue on PostgreSQL', { timeout: 60_000 }, () => {
    test('messages sent one after the other through nodes whose clocks differ are claimed in the order in which they were sent', async () => {
      const three = [await join(0), await join(-40), await join(40)];
      const [first] = three;
      assert.ok(first);
      await first.cluster.gateHolderOf(INSTANCE);
      const sent: string[] = [];
      for (let n = 0; n < 60; n++) {
        const node = three[(n * 2) % 3];
        assert.ok(node);
        const { run, writes } = message(node);
        await apply(node.store, writes);
        sent.push(run.key);
      }
      assert.deepEqual(await claimed(first), sent);
    });

    test('messages of one batch keep their order although they are due in the same millisecond', async () => {
      const node = await join(0);
      const batch = Array.from({ length: 50 }, () => message(node));
      await apply(
        node.store,
        batch.flatMap(({ writes }) => writes),
      );
      assert.deepEqual(
        await claimed(node),
        batch.map(({ run }) => run.key),
      );
    });

    test('a message that is due later keeps its due time, and a retried message keeps its position', async () => {
      const node = await join(-40);
      const [later, tried] = [message(node, 3_600_000), message(node)];
      await apply(node.store, [...later.writes, ...tried.writes]);
      const again = { kind: 'message', slot: 0, messageId: 'msg_again', createdAt: 1, retried: 1 } as const;
      await apply(node.store, [{ kind: 'put-task', runKey: tried.run.key, task: { ...again, dueAt: 1_000 } }]);
      const due = await node.cluster.claimQueued({
        before: Number.MAX_SAFE_INTEGER,
        after: null,
        includesClaimed: false,
        limit: 10,
      });
      assert.deepEqual(
        due.map(({ runKey, dueAt }) => [runKey, dueAt]),
        [
          [tried.run.key, 1_000],
          [later.run.key, later.run.createdAt + 3_600_000],
        ],
      );
    });

    test('a leaving node claims none of the messages it writes, but puts them in their position', async () => {
      const [leaving, other] = [await join(40), await join(-40)];
      await leaving.cluster.release({ tasks: [], gates: [] });
      const sent: string[] = [];
      for (const node of [leaving, other, leaving, other]) {
        const { run, writes } = message(node);
        await apply(node.store, writes);
        sent.push(run.key);
      }
      const rows = await database.query(statement('SELECT count(*) AS claimed FROM task WHERE claimed_by IS NOT NULL'));
      assert.deepEqual(rows, [{ claimed: 0 }]);
      assert.deepEqual(await claimed(other), sent);
    });

    test('a message whose row another transaction has locked is not overtaken', async () => {
      const node = await join(0);
      const sent = await send(4, [node]);
      const held = await open((session) => session.query(LOCK, [INSTANCE, [sent[0] ?? '', sent[2] ?? '']]));
      assert.deepEqual(await claimed(node), sent);
      await held.commit();
      // They are marked at the next read.
      assert.deepEqual(await claimed(node), [sent[0], sent[2]]);
      assert.deepEqual(await claimed(node), []);
    });

    test('only the node that holds the gates claims messages, although others read at the same time', async () => {
      const three = [await join(0), await join(0), await join(0)];
      for (let round = 0; round < 10; round++) {
        const sent = await send(5, three);
        const looks = Promise.all(three.map((node) => claimed(node)));
        const later = await send(3, three);
        const taken = await looks;
        const holder = await three[0]?.cluster.gateHolderOf(INSTANCE);
        for (const [n, node] of three.entries()) {
          const all = [...(taken[n] ?? []), ...(await claimed(node))];
          assert.deepEqual(all, node.cluster.nodeId === holder ? [...sent, ...later] : []);
        }
        // After that, no node claims them again.
        await database.execute(statement('DELETE FROM gate_lease'));
      }
    });

    test('messages sent while another node takes over come after those that the dead node had claimed', async () => {
      const [dead, two, three] = [await join(0), await join(0), await join(0)];
      await dead.cluster.gateHolderOf(INSTANCE);
      const before = await send(4, [dead, two]);
      assert.deepEqual(await claimed(dead), before);
      await kill(dead);
      // A message that is being written stops the takeover halfway.
      const held = await open((session) => session.query(LOCK, [INSTANCE, [before[0] ?? '']]));
      const joining = join(0);
      await held.blocks();
      const during = await send(3, [two, three]);
      assert.deepEqual([await claimed(two), await claimed(three)], [[], []]);
      await held.commit();
      const four = await joining;
      const after = await send(2, [two, three]);
      const taken = await Promise.all([two, three, four].map((node) => claimed(node)));
      assert.deepEqual(
        taken.filter((keys) => keys.length > 0),
        [[...before, ...during, ...after]],
      );
    });

    test('a claim that completes before a takeover goes to the new node in its position; a later claim is empty', async () => {
      const one = await join(0);
      await one.cluster.gateHolderOf(INSTANCE);
      const sent = await send(4, [one]);
      await kill(one);
      // Its claim has started and is not committed.
      const held = await open((session) => claimWithin(session, one.cluster.nodeId, 500));
      const joining = join(0);
      await held.blocks();
      await held.commit();
      const two = await joining;
      const later = await send(2, [two]);
      assert.deepEqual(await claimed(two), [...sent, ...later]);
      await send(1, [one]);
      assert.ok(one.cluster.canStartWork);
      assert.deepEqual(await claimed(one), []);
    });

    test('gates that a node acquires before a takeover completes go to the new node', async () => {
      const one = await join(0);
      await kill(one);
      const { nodeId } = one.cluster;
      const held = await open((session) =>
        gateHolderOf(session, INSTANCE, nodeId, isDistributed ? () => takeGate(session, INSTANCE, nodeId) : undefined),
      );
      const joining = join(0);
      await held.blocks();
      await held.commit();
      const two = await joining;
      assert.equal(await two.cluster.gateHolderOf(INSTANCE), two.cluster.nodeId);
      await assert.rejects(one.cluster.gateHolderOf(OTHER_INSTANCE).then((holder) => assert.equal(holder, 'nobody')));
    });

    test('after a claim whose response was lost, the node reads every message again, whenever the claim is committed', async () => {
      const node = await join(0);
      await node.cluster.gateHolderOf(INSTANCE);
      const sent = await send(4, [node]);
      const held = await open((session) => claimWithin(session, node.cluster.nodeId, 2));
      const more = await send(2, [node]);
      assert.deepEqual(await claimed(node, { includesClaimed: true }), [...sent, ...more]);
      await held.commit();
      assert.deepEqual(await claimed(node, { includesClaimed: true, limit: 1 }), [...sent, ...more]);
      assert.deepEqual(await claimed(node), []);
    });

    test('gates whose acquisition response was lost are known before the node reads again', async () => {
      const node = await join(0);
      const sent = await send(4, [node]);
      const { nodeId } = node.cluster;
      const held = await open((session) => claimWithin(session, nodeId, 2));
      const looking = claimed(node, { includesClaimed: true });
      await held.blocks();
      await held.commit();
      assert.deepEqual(await looking, sent);
    });

    test('messages with the same due time are not split across pages', async () => {
      const node = await join(0);
      const batches = Array.from({ length: 6 }, () => Array.from({ length: 20 }, () => message(node)));
      for (const batch of batches) {
        await apply(
          node.store,
          batch.flatMap(({ writes }) => writes),
        );
      }
      assert.deepEqual(
        await claimed(node, { limit: 7 }),
        batches.flat().map(({ run }) => run.key),
      );
    });

    test('messages of instances whose gates another node holds do not fill the page', async () => {
      const [one, two] = [await join(0), await join(0)];
      await two.cluster.gateHolderOf(OTHER_INSTANCE);
      const others = await send(6, [one], OTHER_INSTANCE);
      const own = await send(3, [two]);
      const page = await one.cluster.claimQueued({
        before: Number.MAX_SAFE_INTEGER,
        after: null,
        includesClaimed: false,
        limit: 2,
      });
      assert.deepEqual(
        page.map(({ runKey }) => runKey),
        own.slice(0, 2),
      );
      assert.deepEqual(await claimed(two), others);
    });

    test('a leaving node hands over its messages in their order, with the messages that it was about to deliver first', async () => {
      const [one, two] = [await join(0), await join(0)];
      await one.cluster.gateHolderOf(INSTANCE);
      const sent = await send(4, [one]);
      assert.deepEqual(await claimed(one), sent);
      await one.cluster.release({ tasks: [{ runKey: sent[0] ?? '', slot: 0 }], gates: [INSTANCE] });
      const later = await send(2, [one, two]);
      assert.deepEqual([await claimed(one), await claimed(two)], [[], []]);
      await one.cluster.release({ tasks: [], gates: [] });
      assert.deepEqual(await claimed(two), [...sent, ...later]);
    });
  });
}
