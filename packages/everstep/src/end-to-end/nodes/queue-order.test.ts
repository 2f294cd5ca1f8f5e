/**
 * The order of queues over several nodes, observed from outside. Nodes are killed, paused beyond their lease and stopped, and
 * their connections and database fail. `NODES_TEST_KILLS=30` injects more faults.
 */
import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { after, before, suite, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { SeededRandom } from '../../clock/testing/seeded-random.js';
import { findBinaries } from '../../stores/postgres/testing/binaries.js';
import { DatabaseProxy } from '../../stores/postgres/testing/database-proxy.js';
import { OwnServer } from '../../stores/postgres/testing/own-server.js';
import { type NodeProcess, Nodes, waitUntil } from '../nodes.fixture.js';
import { QueueReceiver } from './queue-receiver.fixture.js';

const COUNT = 3;
const LEASE_MS = 2_000;
const QUEUES = ['red', 'green', 'blue'];
/** Number of faults of each kind that ends or pauses a node. */
const ROUNDS = Math.ceil(Number(process.env.NODES_TEST_KILLS ?? 2) / 2);
const WORK_MS = 3;
/** Pause between the response to a message and the next message of its queue. */
const GAP_MS = 4;
/** One in this number of messages fails once. */
const FAILS = 25;
/** Request timeout: a paused node does not respond. */
const ANSWER_MS = 1_500;
const missing = process.env.EVERSTEP_TEST_POSTGRES === 'none' || findBinaries() === null;

suite('the order of queues over nodes', {
  skip: missing && 'no PostgreSQL server is installed here',
  timeout: Number(process.env.NODES_TEST_TIMEOUT_MS ?? 240_000),
}, () => {
  let server: OwnServer;
  let proxy: DatabaseProxy;
  let nodes: Nodes;
  let receiver: QueueReceiver;

  before(async () => {
    const started = await OwnServer.start();
    assert.ok(started);
    server = started;
    proxy = new DatabaseProxy(server.port);
    await proxy.listen();
    nodes = await Nodes.start(COUNT, {
      url: server.url(proxy.port),
      settings: { EVERSTEP_NODE_LEASE: String(LEASE_MS / 1000), EVERSTEP_LOG_LEVEL: 'info' },
    });
    receiver = await QueueReceiver.listen({ workMs: WORK_MS, fails: (number) => number % FAILS === FAILS - 1 });
  });
  after(async () => {
    receiver?.close();
    try {
      await nodes?.dispose();
    } finally {
      await proxy?.close();
      await server?.dispose();
    }
  });

  /** Returns the node that delivers the queues; any node if it is unknown. */
  async function holder(): Promise<NodeProcess> {
    const client = new pg.Client({ connectionString: server.url() });
    client.on('error', () => {});
    await client.connect();
    const { rows } = await client.query<{ readonly node_id: string }>('SELECT node_id FROM gate_lease');
    await client.end();
    const id = rows[0]?.node_id ?? '';
    return nodes.all.find(({ output }) => id !== '' && output.includes(id)) ?? nodes.node(0);
  }

  /** Describes the next message of each queue, and its claim. */
  async function stuck(): Promise<string> {
    const client = new pg.Client({ connectionString: server.url() });
    await client.connect();
    const { rows } = await client.query<{ readonly id: string }>(`
      SELECT DISTINCT ON (t.queue) t.queue, count(*) OVER (PARTITION BY t.queue) AS messages, r.workflow_run_id AS id, t.retried,
        t.due_at - extract(epoch FROM now()) * 1000 AS due_in_ms, t.claimed_by, t.wanted_by, g.node_id AS gates,
        array(SELECT node_id FROM node) AS nodes
      FROM task t LEFT JOIN gate_lease g USING (instance_id) JOIN run r USING (instance_id, run_key)
      WHERE t.queue IS NOT NULL ORDER BY t.queue, t.due_at`);
    await client.end();
    const why = rows.flatMap(({ id }) => nodes.all.map((_, n) => nodes.client(n).runs.explain(id).catch(String)));
    return [...rows, ...(await Promise.all(why)), ...nodes.all.map(({ output }) => output.slice(-3_000))]
      .map((found) => (typeof found === 'string' ? found : JSON.stringify(found)))
      .join('\n');
  }

  /** Sends the message to one node after the other until one accepts it. Its id deduplicates the attempts. */
  async function send(queue: string, number: number, random: SeededRandom): Promise<void> {
    const body = `${queue}:${number}`;
    const headers = {
      authorization: `Bearer ${nodes.token}`,
      'upstash-deduplication-id': body,
      'upstash-retries': '100',
      'upstash-retry-delay': '50',
    };
    for (;;) {
      const node = nodes.node(random.below(COUNT));
      const signal = AbortSignal.timeout(ANSWER_MS);
      const status = await fetch(`${node.url}/v2/enqueue/${queue}/${receiver.url}`, {
        method: 'POST',
        headers,
        body,
        signal,
      }).then(
        async (response) => {
          const text = await response.text();
          assert.ok(response.ok || response.status === 429 || response.status >= 500, text);
          return response.status;
        },
        () => 0,
      );
      if (status >= 200 && status < 300) return;
      await pause(20);
    }
  }

  test('each message is delivered after all messages accepted before it, despite faults of nodes and database', async (t) => {
    const seed = Number(process.env.NODES_RANDOM_SEED ?? randomInt(2 ** 31));
    t.diagnostic(`seed ${seed} (set NODES_RANDOM_SEED to repeat)`);
    const random = new SeededRandom(seed);
    let disturbing = true;
    const sent = new Map<string, number>();
    const produce = async (queue: string) => {
      for (let number = 0; disturbing; number++) {
        await send(queue, number, random);
        sent.set(queue, number + 1);
        await pause(GAP_MS);
      }
    };
    /** Restarts nodes like a process manager: a node that cannot join within its lease exits. */
    const started = async (node: NodeProcess) => {
      for (let starting = true; starting; ) {
        node.spawn();
        await waitUntil('a node is ready or has ended', async () => node.isEnded || (await node.healthStatus('/ready')) === 200);
        starting = node.isEnded;
      }
    };
    const disturbances: Readonly<Record<string, () => Promise<void>>> = {
      'the node with the gates is killed': async () => {
        const node = await holder();
        await node.end('SIGKILL');
        await pause(random.below(1.5 * LEASE_MS));
        await started(node);
      },
      'the node with the gates is paused': async () => {
        const node = await holder();
        node.signal('SIGSTOP');
        await pause(0.8 * LEASE_MS + random.below(LEASE_MS));
        node.signal('SIGCONT');
      },
      'the node with the gates is stopped': async () => {
        const node = await holder();
        await node.end('SIGTERM');
        await started(node);
      },
      'connections are cut': async () => {
        for (let cuts = 0; cuts < 4; cuts++) {
          proxy.cut();
          await pause(random.below(150));
        }
      },
      'the database crashes': async () => {
        await server.end('SIGKILL');
        await pause(random.below(LEASE_MS));
        await server.start();
      },
    };
    const disturb = async () => {
      for (let round = 0; round < ROUNDS; round++) {
        for (const [name, happens] of Object.entries(disturbances)) {
          await pause(random.below(500));
          const before = receiver.overtaken.length;
          await happens();
          await waitUntil(`all nodes are ready after ${name}`, async () => {
            const ready = await Promise.all(nodes.all.map((node) => node.healthStatus('/ready')));
            return ready.every((status) => status === 200);
          });
          if (receiver.overtaken.length > before) t.diagnostic(`${receiver.overtaken.length - before} overtook others: ${name}`);
        }
      }
    };
    await Promise.all([
      ...QUEUES.map(produce),
      disturb().finally(() => {
        disturbing = false;
      }),
    ]);
    const answered = () => QUEUES.every((queue) => receiver.answered(queue) === sent.get(queue));
    await waitUntil('all messages have a response', answered).catch(async (error: Error) => {
      assert.fail(`${error.message}\n${await stuck()}`);
    });
    const messages = [...sent.values()].reduce((sum, count) => sum + count, 0);
    const { deliveries, repeats, overtaken, overtakenCount, overlaps } = receiver;
    t.diagnostic(`${messages} messages, ${deliveries} deliveries, ${repeats} repeats of completed messages`);
    t.diagnostic(`${overtaken.length} overtook ${overtakenCount}, ${overlaps.length} overlapped`);
    assert.deepEqual(overtaken, []);
    assert.deepEqual(overlaps, []);
  });
});
