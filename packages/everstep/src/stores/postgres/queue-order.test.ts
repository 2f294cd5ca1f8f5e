/** The order of a queue over nodes that are wrong about the time, each in its own way. */
import assert from 'node:assert/strict';
import { after, afterEach, describe, test } from 'node:test';
import type { Run } from '../../engine/run.js';
import type { Store, StoreWrite } from '../../ports/store.js';
import { apply, creation, INSTANCE, putTasks, sampleRun } from '../conformance/samples.js';
import { PostgresCluster } from './cluster.js';
import { Database, statement } from './connection.js';
import { createPostgresStore } from './index.js';
import { migrate } from './migrate.js';
import { openTestSchemas } from './testing/schemas.js';

const schemas = await openTestSchemas();
const log = { debug() {}, info() {}, warn() {}, error() {} };
const events = { work() {}, suspended() {}, resumed() {}, changed() {} };

/** One that is wrong about the time by so many ms. */
class Mistaken extends PostgresCluster {
  aheadMs = 0;
  override now(): number {
    return super.now() + this.aheadMs;
  }
}

interface Node {
  readonly store: Store;
  readonly cluster: Mistaken;
}

if (typeof schemas === 'string') {
  describe('the order of a queue on PostgreSQL', { skip: schemas }, () => {});
} else {
  const schema = await schemas.make();
  const { url } = schema;
  const nodes: Node[] = [];
  const database = new Database({ url, log });
  await migrate(database, url);
  after(() => database.close());
  afterEach(async () => {
    for (const { store } of nodes.splice(0)) await store.close();
    await schema.clear();
  });

  async function join(aheadMs: number): Promise<Node> {
    const own = new Database({ url, log });
    const cluster = new Mistaken(own, { url, log, facts: { host: 'test', version: '0' }, leaseMs: 60_000 });
    const node = { store: createPostgresStore(own, cluster), cluster };
    nodes.push(node);
    await cluster.readTime();
    cluster.aheadMs = aheadMs;
    await cluster.join(events);
    return node;
  }

  let made = 0;
  /** A message as a node makes it: its key and its times are of the clock of that node. */
  function message({ cluster }: Node, inMs = 0): { readonly run: Run; readonly writes: readonly StoreWrite[] } {
    const now = cluster.now();
    // Keys of one node sort by its time, and within a millisecond anyhow.
    const key = `${now}${['Z', 'M', 'A'][made % 3]}${made}`;
    const run: Run = { ...sampleRun(++made, { settings: { message: { method: 'POST', queue: 'q' } } }), key, createdAt: now };
    const task = { kind: 'message', slot: 0, messageId: `msg_${key}`, dueAt: now + inMs, createdAt: now, retried: 0 } as const;
    return { run, writes: [creation(run), ...putTasks(key, [task])] };
  }
  const claimed = async ({ cluster }: Node) => {
    const all: string[] = [];
    for (;;) {
      const page = await cluster.claimDue({ before: Number.MAX_SAFE_INTEGER, limit: 500 });
      if (page.length === 0) return all;
      all.push(...page.map(({ runKey }) => runKey));
    }
  };

  describe('the order of a queue on PostgreSQL', { timeout: 60_000 }, () => {
    test('messages that are sent one after the other through nodes that differ about the time are taken in their order', async () => {
      const three = [await join(0), await join(-40), await join(40)];
      const [first] = three;
      assert.ok(first);
      await first.cluster.holderOfGates(INSTANCE);
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

    test('those of one batch keep their order, though they are due in the same millisecond', async () => {
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

    test('one that is due later keeps the time that it was given, and one that was tried before its place', async () => {
      const node = await join(-40);
      const [later, tried] = [message(node, 3_600_000), message(node)];
      await apply(node.store, [...later.writes, ...tried.writes]);
      const again = { kind: 'message', slot: 0, messageId: 'msg_again', createdAt: 1, retried: 1 } as const;
      await apply(node.store, [{ kind: 'put-task', runKey: tried.run.key, task: { ...again, dueAt: 1_000 } }]);
      const due = await node.cluster.claimDue({ before: Number.MAX_SAFE_INTEGER, limit: 10 });
      assert.deepEqual(
        due.map(({ runKey, dueAt }) => [runKey, dueAt]),
        [
          [tried.run.key, 1_000],
          [later.run.key, later.run.createdAt + 3_600_000],
        ],
      );
    });

    test('a node that leaves claims nothing that it writes, and puts it in its place all the same', async () => {
      const [leaving, other] = [await join(40), await join(-40)];
      await leaving.cluster.giveBack({ tasks: [], gates: [] });
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
  });
}
