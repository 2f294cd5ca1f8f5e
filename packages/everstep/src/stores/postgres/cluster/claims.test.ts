/** Claims of tasks by two nodes on one database, each with its own lease. */
import assert from 'node:assert/strict';
import { after, afterEach, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { createSystemClock } from '../../../clock/system-clock.js';
import type { Run } from '../../../engine/runs/run.js';
import type { Cluster, ClusterEvents, SharedChange } from '../../../ports/cluster.js';
import type { DueTask } from '../../../ports/stores/store.js';
import { advanceTask, apply, creation, INSTANCE, OTHER_INSTANCE, putTasks, sampleRun } from '../../conformance/samples.js';
import { Database, statement } from '../connection/connection.js';
import { type OpenedNode, openPostgresNode } from '../index.js';
import { detectEngine } from '../sharding/detection.js';
import { openTestSchemas } from '../testing/schemas.js';
import { PostgresCluster } from './cluster.js';

const schemas = await openTestSchemas();
const log = { debug() {}, info() {}, warn() {}, error() {} };
const LONG_LEASE_MS = 60_000;

const keys = (tasks: readonly DueTask[]) => tasks.map(({ runKey }) => runKey);

/** Collects the notices that a node receives, and waits for them. */
class ReceivedNotices implements ClusterEvents {
  readonly changes: SharedChange[] = [];
  readonly states: string[] = [];
  works = 0;
  private waiting: (() => void)[] = [];

  onWork(): void {
    this.works++;
    this.wake();
  }
  onSuspended(): void {
    this.states.push('suspended');
    this.wake();
  }
  onResumed({ isNewNode }: { readonly isNewNode: boolean }): void {
    this.states.push(isNewNode ? 'new node' : 'resumed');
    this.wake();
  }
  onChanged(change: SharedChange): void {
    this.changes.push(change);
    this.wake();
  }

  /** Resolves when the condition holds. The timeout of the test ends a wait that never ends. */
  async until(condition: () => boolean): Promise<void> {
    while (!condition()) await new Promise<void>((resolve) => this.waiting.push(resolve));
  }

  private wake(): void {
    const waiting = this.waiting;
    this.waiting = [];
    for (const resolve of waiting) resolve();
  }
}

interface Node extends OpenedNode {
  readonly notices: ReceivedNotices;
}

if (typeof schemas === 'string') {
  describe('claims on PostgreSQL', { skip: schemas }, () => {});
} else {
  const schema = await schemas.make();
  const { url } = schema;
  const database = new Database({ url, log });
  after(() => database.close());
  const opened: Node[] = [];
  /** Number of nodes whose work others have taken over. */
  let lost = 0;

  async function join(leaseMs = LONG_LEASE_MS): Promise<Node> {
    const onTakeover = (nodes: number) => {
      lost += nodes;
    };
    const node = await openPostgresNode({ url, log, facts: { host: 'test', version: '0' }, leaseMs, onTakeover });
    const notices = new ReceivedNotices();
    opened.push({ ...node, notices });
    await node.cluster.join(notices);
    return { ...node, notices };
  }
  afterEach(async () => {
    for (const { store } of opened.splice(0)) await store.close();
    await schema.clear();
  });

  const before = Number.MAX_SAFE_INTEGER;
  const claim = (cluster: Cluster, limit = 100) => cluster.claimDue({ before: cluster.now(), limit });
  const own = ({ store }: OpenedNode) => store.dueTasks({ before, after: null, limit: 100 });
  /** Ends the lease of a node without notice to others, as if its process was killed. */
  const kill = (nodeId: string) =>
    database.execute(statement(`UPDATE node SET lease_until = clock_timestamp() - interval '1 second' WHERE node_id = $1`), [
      nodeId,
    ]);
  /** Creates runs whose first tasks are due after the given numbers of milliseconds. */
  async function start(node: OpenedNode, inMs: readonly number[]): Promise<readonly Run[]> {
    const now = node.cluster.now();
    const runs = inMs.map((_, n) => sampleRun(n + 1));
    const writes = runs.flatMap((run, n) => [creation(run), ...putTasks(run.key, [advanceTask(now + (inMs[n] ?? 0))])]);
    await apply(node.store, writes);
    return runs;
  }

  describe('claims on PostgreSQL', { timeout: 60_000 }, () => {
    test('a task that is due immediately belongs to the node that writes it; a task that is due later is unclaimed', async () => {
      const [one, two] = [await join(), await join()];
      const [now, later] = await start(one, [0, 3_600_000]);
      assert.deepEqual(keys(await own(one)), [now?.key]);
      assert.deepEqual(keys(await own(two)), []);
      assert.deepEqual(keys(await claim(two.cluster)), []);
      // It is unclaimed, so every node sets a timer for it.
      const dueAt = await two.store.nextDueAt({ after: two.cluster.now() });
      assert.equal(await one.store.nextDueAt({ after: one.cluster.now() }), dueAt);
      const late = await two.cluster.claimDue({ before, limit: 100 });
      assert.deepEqual(keys(late), [later?.key]);
      assert.deepEqual(keys(await own(two)), [later?.key]);
      assert.equal(await one.store.nextDueAt({ after: 0 }), null);
    });

    test('a task belongs to the node that writes it if it is due by the clock of the node, although the database is behind', async () => {
      const one = await join();
      // The store has recorded a later time, or the clock of the database was set back.
      const clock = createSystemClock({ notBefore: one.cluster.now() + 3_600_000, wall: () => one.cluster.now() });
      one.setClock(clock.now);
      const run = sampleRun(1);
      await apply(one.store, [creation(run), ...putTasks(run.key, [advanceTask(clock.now())])]);
      assert.deepEqual(keys(await own(one)), [run.key]);
    });

    test('each node lists all nodes and the tasks that they have claimed', async () => {
      const [one, two] = [await join(), await join()];
      await start(one, [0, 0, 3_600_000]);
      await one.cluster.gateHolderOf(INSTANCE);
      const listed = async ({ cluster }: Node) =>
        (await cluster.nodes()).map(({ nodeId, host, version, self, leaving, runsClaimed, gates }) => ({
          is: nodeId === one.cluster.nodeId ? 'one' : 'two',
          ...{ host, version, self, leaving, runsClaimed, gates },
        }));
      const node = { host: 'test', version: '0', leaving: false };
      assert.deepEqual(await listed(two), [
        { ...node, is: 'one', self: false, runsClaimed: 2, gates: 1 },
        { ...node, is: 'two', self: true, runsClaimed: 0, gates: 0 },
      ]);
      await one.cluster.release({ tasks: [], gates: [] });
      const [leaving, other] = await listed(one);
      assert.deepEqual([leaving?.leaving, leaving?.self, leaving?.runsClaimed, other?.self], [true, true, 0, false]);
      const [first] = await two.cluster.nodes();
      const now = two.cluster.now();
      assert.ok(first && (first.leaseUntil ?? 0) > now && Math.abs(first.startedAt - now) < 60_000);
      await kill(two.cluster.nodeId);
      const expired = (await one.cluster.nodes()).map((listedNode) => listedNode.expired);
      assert.deepEqual(expired, [false, true]);
    });

    test('when several nodes read due tasks, each task goes to one node, in the order of the due times', async () => {
      const [one, two] = [await join(), await join()];
      const runs = await start(
        one,
        Array.from({ length: 40 }, (_, n) => 3_600_000 + n),
      );
      const taken = await Promise.all(
        Array.from({ length: 10 }, (_, n) => (n % 2 ? one : two).cluster.claimDue({ before, limit: 7 })),
      );
      const all = [...taken.flat(), ...(await two.cluster.claimDue({ before, limit: 100 }))];
      assert.deepEqual(keys(all).sort(), runs.map(({ key }) => key).sort());
      for (const batch of taken) assert.deepEqual(keys(batch), [...keys(batch)].sort());
      assert.equal((await own(one)).length + (await own(two)).length, 40);
    });

    test('a task that is handed over is found by its new node and by no other', async () => {
      const [one, two, three] = [await join(), await join(), await join()];
      const [run] = await start(one, [0]);
      assert.ok(run);
      await one.cluster.handOver([{ runKey: run.key, slot: 0 }], two.cluster.nodeId);
      assert.deepEqual(keys(await own(one)), []);
      assert.deepEqual([await claim(one.cluster), await claim(three.cluster)], [[], []]);
      await two.notices.until(() => two.notices.works > 0);
      assert.deepEqual(keys(await claim(two.cluster)), [run.key]);
      assert.deepEqual(keys(await own(two)), [run.key]);
      // A node can hand over only its own tasks.
      await one.cluster.handOver([{ runKey: run.key, slot: 0 }], three.cluster.nodeId);
      assert.deepEqual(keys(await own(two)), [run.key]);
    });

    test('claims, handed-over tasks and gates of a killed node are taken over when its lease has ended', async () => {
      const [one, two] = [await join(), await join()];
      const [mine, handed] = await start(one, [0, 0]);
      assert.ok(mine && handed);
      const lostBefore = lost;
      assert.equal(await one.cluster.gateHolderOf(INSTANCE), one.cluster.nodeId);
      assert.equal(await two.cluster.gateHolderOf(OTHER_INSTANCE), two.cluster.nodeId);
      await two.store.commit([
        {
          guards: [],
          writes: [creation(sampleRun(9)), ...putTasks(sampleRun(9).key, [advanceTask(two.cluster.now())])],
        },
      ]);
      await two.cluster.handOver([{ runKey: sampleRun(9).key, slot: 0 }], one.cluster.nodeId);
      await kill(one.cluster.nodeId);
      // A node that joins looks for expired nodes first.
      const three = await join();
      await two.notices.until(() => two.notices.works > 0);
      const taken = await claim(three.cluster);
      assert.deepEqual(keys(taken).sort(), [mine.key, handed.key, sampleRun(9).key].sort());
      assert.equal(await three.cluster.gateHolderOf(INSTANCE), three.cluster.nodeId);
      assert.equal(await three.cluster.gateHolderOf(OTHER_INSTANCE), two.cluster.nodeId);
      assert.equal(lost - lostBefore, 1, 'one node reports the lost one');
    });

    test('a loan to a killed node lasts until its lease has ended; the task is then taken over without a lender', async () => {
      const [lender, borrower] = [await join(), await join()];
      const [run] = await start(lender, [0]);
      assert.ok(run);
      const loan = { runKey: run.key, slot: 0, to: borrower.cluster.nodeId };
      await lender.cluster.handOver([loan], loan.to, { isLent: true });
      assert.deepEqual(await lender.cluster.openLoans([loan]), [loan]);
      const [borrowed] = await claim(borrower.cluster);
      assert.deepEqual([borrowed?.runKey, borrowed?.lentBy], [run.key, lender.cluster.nodeId]);
      assert.deepEqual(await lender.cluster.openLoans([loan]), [loan]);
      await kill(borrower.cluster.nodeId);
      // A node that joins looks for expired nodes first.
      const third = await join();
      assert.deepEqual(await lender.cluster.openLoans([loan]), []);
      const [taken] = await claim(third.cluster);
      assert.deepEqual([taken?.runKey, taken?.lentBy], [run.key, undefined]);
    });

    test('a leaving node keeps its deliveries in flight and releases the rest; what it writes from then on is unclaimed', async () => {
      const [one, two] = [await join(), await join()];
      const [out, waits] = await start(one, [0, 0]);
      assert.ok(out && waits);
      await one.cluster.gateHolderOf(INSTANCE);
      await one.cluster.gateHolderOf(OTHER_INSTANCE);
      await one.cluster.release({ tasks: [{ runKey: out.key, slot: 0 }], gates: [INSTANCE] });
      await two.notices.until(() => two.notices.works > 0);
      assert.deepEqual(keys(await claim(two.cluster)), [waits.key]);
      assert.deepEqual(keys(await own(one)), [out.key]);
      assert.equal(await two.cluster.gateHolderOf(INSTANCE), one.cluster.nodeId);
      assert.equal(await two.cluster.gateHolderOf(OTHER_INSTANCE), two.cluster.nodeId);
      const written = sampleRun(9);
      await apply(one.store, [creation(written), ...putTasks(written.key, [advanceTask(one.cluster.now())])]);
      assert.deepEqual(keys(await own(one)), [out.key]);
      assert.deepEqual(keys(await claim(one.cluster)), []);
      assert.deepEqual(keys(await claim(two.cluster)), [written.key]);
      await one.cluster.release({ tasks: [], gates: [] });
      assert.deepEqual(keys(await claim(two.cluster)), [out.key]);
    });

    test('a task handed to a node that is gone is unclaimed, and the sender is notified', async () => {
      const [one, two] = [await join(), await join()];
      const [run] = await start(one, [0]);
      assert.ok(run);
      const gone = two.cluster.nodeId;
      await two.cluster.leave();
      const before = one.notices.works;
      await one.cluster.handOver([{ runKey: run.key, slot: 0 }], gone);
      assert.ok(one.notices.works > before);
      assert.deepEqual(keys(await claim(one.cluster)), [run.key]);
    });

    test('a node that was silent for too long joins again under a new id and cannot overwrite its successor', async () => {
      // Long enough that it does not renew its lease before the other node has joined.
      const leaseMs = 3_000;
      const one = await join(leaseMs);
      const was = one.cluster.nodeId;
      const [run] = await start(one, [0]);
      assert.ok(run);
      const seen = await one.store.loadRun({ runKey: run.key });
      await kill(was);
      const two = await join();
      assert.deepEqual(keys(await claim(two.cluster)), [run.key]);
      const decided = (name: string) => ({
        guards: [{ kind: 'run-active', runKey: run.key, version: seen?.version ?? 0, next: 1 } as const],
        writes: [{ kind: 'keep-event', runKey: run.key, event: eventOf(name) } as const],
      });
      assert.deepEqual(await two.store.commit([decided('two')]), [{ kind: 'applied' }]);
      assert.deepEqual(await one.store.commit([decided('one')]), [{ kind: 'run-moved' }]);
      await one.notices.until(() => one.notices.states.includes('new node'));
      assert.deepEqual(one.notices.states, ['suspended', 'new node']);
      assert.notEqual(one.cluster.nodeId, was);
      assert.deepEqual(keys(await own(one)), []);
      assert.ok(one.cluster.canStartWork);
    });

    test('a claim that a node writes after another node has taken over its work is released at the next heartbeat', async () => {
      const one = await join();
      await kill(one.cluster.nodeId);
      const two = await join(1_200);
      assert.ok(one.cluster.canStartWork);
      const [run] = await start(one, [0]);
      const found: string[] = [];
      while (found.length === 0) {
        const seen = two.notices.works;
        found.push(...keys(await claim(two.cluster)));
        if (found.length === 0) await two.notices.until(() => two.notices.works > seen);
      }
      assert.deepEqual(found, [run?.key]);
    });

    test('a node releases its claims when all of its writes are finished', async () => {
      const [one, two] = [await join(), await join()];
      const written = sampleRun(9);
      const writing = apply(one.store, [creation(written), ...putTasks(written.key, [advanceTask(one.cluster.now())])]);
      await one.cluster.release({ tasks: [], gates: [] });
      await writing;
      assert.deepEqual(keys(await claim(two.cluster)), [written.key]);
    });

    test('a node keeps its lease although all of its connections are in use', async () => {
      const leaseMs = 1_200;
      const own = new Database({ url, log, maxConnections: 2 });
      own.engine = await detectEngine(own, log);
      const cluster = new PostgresCluster(own, { url, log, facts: { host: 'test', version: '0' }, leaseMs });
      const notices = new ReceivedNotices();
      await cluster.readTime();
      await cluster.join(notices);
      let release = (): void => {};
      const released = new Promise<void>((resolve) => {
        release = resolve;
      });
      const held = [1, 2].map(() => own.withConnection(() => released));
      const joinedAs = cluster.nodeId;
      await pause(3 * leaseMs);
      assert.ok(cluster.canStartWork);
      assert.deepEqual([notices.states, cluster.nodeId], [[], joinedAs]);
      release();
      await Promise.all(held);
      await cluster.leave();
      await own.close();
    });

    test('a node that leaves releases its claims immediately, and the others look for them', async () => {
      const [one, two] = [await join(), await join()];
      const [run] = await start(one, [0]);
      assert.equal(await one.cluster.gateHolderOf(INSTANCE), one.cluster.nodeId);
      await one.cluster.leave();
      await two.notices.until(() => two.notices.works > 0);
      assert.deepEqual(keys(await claim(two.cluster)), [run?.key]);
      assert.equal(await two.cluster.gateHolderOf(INSTANCE), two.cluster.nodeId);
    });

    test('every node, including the committing one, is notified of limits exactly when a commit changes them', async () => {
      const [one, two] = [await join(), await join()];
      const keysOf = ({ notices }: Node) =>
        notices.changes.flatMap((change) => (change.kind === 'flow-control' ? [change.key] : []));
      const set = ({ store }: Node, key: string, parallelism?: number) => {
        const flowControl = parallelism === undefined ? { key } : { key, parallelism };
        return apply(store, [{ kind: 'put-flow-control', instanceId: INSTANCE, flowControl, at: 0 }]);
      };
      await set(one, 'k', 1);
      await set(two, 'k', 10);
      await set(one, 'k', 1);
      await set(one, 'k', 1);
      await set(two, 'k');
      await set(two, 'last', 1);
      const expectedKeys = ['k', 'k', 'k', 'last'];
      for (const node of [one, two]) {
        await node.notices.until(() => keysOf(node).length >= expectedKeys.length);
        assert.deepEqual(keysOf(node).toSorted(), expectedKeys);
      }
    });

    test('other nodes receive a notice of a change; its sender does not', async () => {
      const [one, two] = [await join(), await join()];
      const change = { kind: 'account', instanceId: INSTANCE } as const;
      one.cluster.notify(change);
      two.cluster.notify({ kind: 'queue', instanceId: INSTANCE, name: 'é' });
      await two.notices.until(() => two.notices.changes.length > 0);
      await one.notices.until(() => one.notices.changes.length > 0);
      assert.deepEqual(two.notices.changes, [change]);
      assert.deepEqual(one.notices.changes, [{ kind: 'queue', instanceId: INSTANCE, name: 'é' }]);
    });
  });
}

const eventOf = (name: string) => ({
  eventKey: `evt_${name}`,
  eventId: 'paid',
  content: { kind: 'data', body: { encoding: 'utf8', data: name } } as const,
  receivedAt: 1,
});
