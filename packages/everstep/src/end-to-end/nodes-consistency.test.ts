/** Exact guarantees over several nodes on one database, although the clocks of their machines differ by half a minute. */
import assert from 'node:assert/strict';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { availableParallelism, loadavg } from 'node:os';
import { after, before, suite, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { type Client, serve, type WorkflowContext } from '@everstep/sdk';
import { toNodeHandler } from '@everstep/sdk/node';
import { Client as MessageClient } from '@upstash/qstash';
import { openTestSchemas } from '../stores/postgres/testing/schemas.js';
import { type Endpoint, forEachIndex, listen, Nodes, waitUntil } from './nodes.fixture.js';

const COUNT = 3;
const NAPS = Number(process.env.NODES_TEST_NAPS ?? 40);
const NAP_GAP_MS = 70;
const WAITS = Number(process.env.NODES_TEST_WAITS ?? 50);
const CLOCK_SHIFTS_MS = [0, 30_000, -30_000];
/** Load above which timing is not asserted. Three nodes, their database and these tests alone cause a load of 2 to 4. */
const BUSY_LOAD = 3 * availableParallelism();
const SHIFTED_CLOCK = new URL('./shifted-clock.fixture.js', import.meta.url).href;
const schemas = await openTestSchemas();

suite('nodes together', {
  skip: typeof schemas === 'string' && schemas,
  timeout: Number(process.env.NODES_TEST_TIMEOUT_MS ?? 240_000),
}, () => {
  let nodes: Nodes;
  const endpoints: Endpoint[] = [];

  before(async () => {
    if (typeof schemas === 'string') return;
    const preload = `${process.env.NODE_OPTIONS ?? ''} --import=${SHIFTED_CLOCK}`;
    nodes = await Nodes.start(COUNT, {
      url: (await schemas.make()).url,
      settings: { EVERSTEP_NODE_LEASE: '2' },
      own: (index) => ({ NODE_OPTIONS: preload, SHIFTED_CLOCK_MS: String(CLOCK_SHIFTS_MS[index] ?? 0) }),
    });
  });
  after(async () => {
    for (const endpoint of endpoints) endpoint.close();
    await nodes?.dispose();
  });

  const client = (n: number): Client => nodes.client(n % COUNT);

  async function endpoint(handler: (request: IncomingMessage, response: ServerResponse) => void): Promise<string> {
    const made = await listen(handler);
    endpoints.push(made);
    return made.url;
  }

  async function workflow(code: (ctx: WorkflowContext<unknown>) => Promise<unknown>): Promise<string> {
    const handler = toNodeHandler(serve(code, { signingKeys: nodes.signingKeys }));
    return endpoint((request, response) => void handler(request, response));
  }

  async function results<Result>(runIds: readonly string[]): Promise<readonly Result[]> {
    const all: Result[] = [];
    await forEachIndex(runIds.length, 24, async (n) => {
      const runId = runIds[n] ?? '';
      const ended = await nodes.anywhere((one) => one.runs.result<Result>(runId, { timeout: '30s' }));
      assert.equal(ended.workflowState, 'RUN_SUCCESS', `${runId}: ${JSON.stringify(ended)}`);
      if ('result' in ended) all[n] = ended.result as Result;
    });
    return all;
  }

  const named = (name: string, count: number): readonly string[] => Array.from({ length: count }, (_, n) => `${name}-${n}`);

  test('concurrent triggers with the same run id or deduplication id at all nodes start one run', async () => {
    // An id is free again when its run has ended.
    let release = (): void => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    const url = await workflow(async (ctx) => ctx.run('once', () => released));
    await forEachIndex(8, 4, async (n) => {
      const same = await Promise.all([0, 1, 2, 3, 4, 5].map((at) => client(at).trigger(url, { runId: `same-${n}` })));
      assert.equal(new Set(same.map(({ workflowCreatedAt }) => workflowCreatedAt)).size, 1);
      const alike = await Promise.all([0, 1, 2, 3, 4, 5].map((at) => client(at).trigger(url, { deduplicationId: `alike-${n}` })));
      assert.equal(new Set(alike.map(({ workflowRunId }) => workflowRunId)).size, 1);
    });
    release();
    await results(named('same', 8));
    const all: string[] = [];
    for await (const { workflowRunId } of client(1).runs.entries({ workflowUrl: url })) all.push(workflowRunId);
    assert.equal(all.length, 16);
  });

  test('sleeps end soon after their time on any node', async (t) => {
    const woken = new Map<string, number>();
    const due = new Map<string, number>();
    const firstAt = Date.now() + 50 * NAPS;
    const url = await workflow(async (ctx) => {
      // Sleeps run one after the other, when no other work is pending.
      const until = await ctx.run('begin', () => Math.max(firstAt, Date.now() + 500) + NAP_GAP_MS * Number(ctx.runId.slice(4)));
      due.set(ctx.runId, until);
      await ctx.sleepUntil('nap', until);
      await ctx.run('end', () => {
        if (!woken.has(ctx.runId)) woken.set(ctx.runId, Date.now());
      });
    });
    const runIds = named('nap', NAPS);
    await forEachIndex(runIds.length, 8, async (n) => {
      await client(n).trigger(url, { runId: runIds[n] ?? '' });
    });
    await results(runIds);
    const late = runIds.map((runId) => (woken.get(runId) ?? Number.NaN) - (due.get(runId) ?? 0)).sort((a, b) => a - b);
    const [median, most, latest] = [0.5, 0.95, 1].map((part) => late[Math.ceil(NAPS * part) - 1] ?? 0);
    t.diagnostic(`delay ${median} ms (median), ${most} ms (p95), ${latest} ms (max)`);
    // The database clock has whole milliseconds.
    assert.ok((late[0] ?? 0) >= -5, `too early: ${late[0]} ms`);
    // A node that only looked for due work once a second would need 500 ms. A machine with other load may delay some of them.
    // With much more load than these nodes cause, the figures are meaningless.
    const load = loadavg()[0] ?? 0;
    if (load > BUSY_LOAD) t.diagnostic(`not asserted: the machine has a load of ${load.toFixed(1)}`);
    else assert.ok((median ?? 0) <= 250, `${median} ms`);
  });

  test('a run with many sleeps continues on any node, including one that cached it long ago', async () => {
    const naps = 8;
    const url = await workflow(async (ctx) => {
      for (let nap = 0; nap < naps; nap++) {
        await ctx.run(`work-${nap}`, () => nap);
        // Any node may find the timer first.
        await ctx.sleepUntil(`nap-${nap}`, Date.now() + 60 + 40 * (nap % 3));
      }
      return naps;
    });
    const runIds = named('again', 40);
    await forEachIndex(runIds.length, 8, async (n) => {
      await client(n).trigger(url, { runId: runIds[n] ?? '' });
    });
    assert.deepEqual(new Set(await results<number>(runIds)), new Set([naps]));
  });

  test('a run with many waits can be notified through any node', async () => {
    const url = await workflow(async (ctx) => {
      const came: unknown[] = [];
      for (let wait = 0; wait < 6; wait++) {
        const { eventData } = await ctx.waitForEvent(`wait-${wait}`, `turn-${ctx.runId}-${wait}`, { timeout: '60s' });
        came.push(eventData);
      }
      return came;
    });
    const runIds = named('turn', 12);
    await forEachIndex(runIds.length, 6, async (n) => {
      const runId = runIds[n] ?? '';
      await client(n).trigger(url, { runId });
      for (let wait = 0; wait < 6; wait++) {
        // The notification goes through a node other than the last one.
        const notify = () => client(n + wait).notify({ eventId: `turn-${runId}-${wait}`, eventData: wait });
        let notified: readonly unknown[] = [];
        await waitUntil(`${runId} waits`, async () => {
          notified = await notify();
          return notified.length > 0;
        });
        assert.equal(notified.length, 1);
      }
    });
    for (const came of await results<readonly number[]>(runIds)) assert.deepEqual(came, [0, 1, 2, 3, 4, 5]);
  });

  test('a run receives either an event or a timeout if both occur at the same time', async (t) => {
    const url = await workflow(async (ctx) => {
      const { timeout } = await ctx.waitForEvent('wait', `race-${ctx.runId}`, { timeout: '2s' });
      return timeout;
    });
    const runIds = named('race', WAITS);
    const notifiedRuns = new Set<string>();
    await forEachIndex(runIds.length, 64, async (n) => {
      const runId = runIds[n] ?? '';
      await client(n).trigger(url, { runId });
      // The event is sent through every node, repeatedly, around the time of the timeout.
      await pause(1_900);
      for (let tries = 0; tries < 4; tries++) {
        const notified = await Promise.all([0, 1, 2].map((at) => client(at).notify({ eventId: `race-${runId}`, eventData: at })));
        const count = notified.flat().length;
        assert.ok(count <= (notifiedRuns.has(runId) ? 0 : 1), `${runId} was notified ${count} times`);
        if (count === 1) notifiedRuns.add(runId);
      }
    });
    const timedOut = await results<boolean>(runIds);
    const wrong = runIds.filter((runId, n) => notifiedRuns.has(runId) === timedOut[n]);
    t.diagnostic(`${notifiedRuns.size} notified, ${runIds.length - notifiedRuns.size} timed out`);
    assert.deepEqual(wrong, []);
  });

  test('dead letters resumed through two nodes at once are resumed once each', async () => {
    const failing = new Set(['yes']);
    const url = await workflow(async (ctx) =>
      ctx.run('work', () => {
        if (failing.size > 0) throw new Error('not yet');
        return ctx.runId;
      }),
    );
    const runIds = named('letter', 60);
    await forEachIndex(runIds.length, 12, async (n) => {
      await client(n).trigger(url, { runId: runIds[n] ?? '', retries: 0 });
    });
    const filter = { workflowUrl: url };
    await waitUntil('all runs have failed', async () => {
      let failed = 0;
      for await (const _ of client(0).dlq.entries(filter)) failed++;
      return failed === runIds.length;
    });
    failing.clear();
    const drain = async (at: number) => {
      const ids: string[] = [];
      for await (const { workflowRunId } of client(at).dlq.resumeAll(filter)) ids.push(workflowRunId);
      return ids;
    };
    const resumed = (await Promise.all([0, 1, 2].map(drain))).flat();
    assert.equal(resumed.length, runIds.length);
    assert.equal(new Set(resumed).size, runIds.length);
    await results(resumed);
    assert.equal((await client(2).dlq.list(filter)).messages.length, 0);
  });

  test('a node stops delivering a run that is canceled at another node', async () => {
    let asked = 0;
    let closed = 0;
    const url = await endpoint((request, response) => {
      request.resume();
      asked++;
      response.on('close', () => closed++);
    });
    await Promise.all([0, 1, 2].map((at) => client(at).trigger(url, { runId: `canceled-${at}` })));
    await waitUntil('all deliveries are in flight', () => asked === 3);
    await Promise.all([0, 1, 2].map((at) => client(at + 1).runs.cancel(`canceled-${at}`)));
    await waitUntil('all deliveries are given up', () => closed === 3, 2_000);
  });

  test('a client waiting for a result at one node gets it when the run ends on another', async () => {
    let release = (): void => {};
    let isHeld = false;
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    const url = await workflow(async (ctx) =>
      ctx.run('held', async () => {
        isHeld = true;
        await released;
        return 'done';
      }),
    );
    await client(0).trigger(url, { runId: 'awaited' });
    const results = Promise.all([0, 1, 2].map((at) => client(at).runs.result<string>('awaited', { timeout: '20s' })));
    await waitUntil('the step is in flight', () => isHeld);
    // These requests are made after the first ones have been read: each node takes a request in the order of its connections.
    await Promise.all([0, 1, 2].map((at) => client(at).runs.get('awaited')));
    const releasedAt = performance.now();
    release();
    for (const answer of await results) assert.equal('result' in answer ? answer.result : null, 'done');
    assert.ok(performance.now() - releasedAt < 2_000);
  });

  test('a key paused or a destination held at one node is paused or held at all nodes', async () => {
    let calls = 0;
    const code = async (ctx: WorkflowContext<unknown>) => ctx.run('count', () => ++calls);
    const url = await workflow(code);
    const flowControl = { key: 'paused-key', parallelism: 5 };
    await client(0).trigger(url, { runId: 'unpaused', flowControl });
    await results(['unpaused']);
    await client(1).flowControl.pause('paused-key');
    await forEachIndex(9, 9, async (n) => void (await client(n).trigger(url, { runId: `keyed-${n}`, flowControl })));
    await waitUntil(
      'all deliveries wait for the key',
      async () => (await client(2).flowControl.get('paused-key')).waitListSize === 9,
    );
    assert.equal(calls, 1);
    await client(2).flowControl.resume('paused-key');
    await results(named('keyed', 9));
    // The pinned parallelism applies to the deliveries of all nodes together.
    await client(0).flowControl.pin('paused-key', { parallelism: 1 });
    await waitUntil('all nodes have received the change', async () => {
      const known = await Promise.all([0, 1, 2].map((at) => client(at).flowControl.get('paused-key')));
      return known.every(({ isPinnedParallelism }) => isPinnedParallelism);
    });

    const held = await workflow(code);
    await Promise.all([0, 1, 2].map((at) => client(at).trigger(held, { runId: `before-${at}` })));
    await results(named('before', 3));
    await client(1).destinations.hold({ origin: new URL(held).origin });
    await waitUntil('all nodes have received the change', async () => {
      const lists = await Promise.all([0, 1, 2].map((at) => client(at).destinations.list()));
      return lists.every((list) => JSON.stringify(list).includes(new URL(held).origin));
    });
    const before = calls;
    await forEachIndex(9, 9, async (n) => void (await client(n).trigger(held, { runId: `held-${n}` })));
    await waitUntil('all deliveries wait for the destination', async () => {
      const runs = await Promise.all(named('held', 9).map((runId, n) => client(n).runs.explain(runId)));
      return runs.every(({ tasks }) => tasks.some(({ reasons }) => reasons.some(({ kind }) => kind === 'destination-held')));
    });
    assert.equal(calls, before);
    await client(2).destinations.release(new URL(held).origin);
    await results(named('held', 9));
  });

  test('messages sent to a queue through all nodes keep their order', async () => {
    const bodies: string[] = [];
    const url = await endpoint((request, response) => {
      let body = '';
      request.on('data', (chunk) => (body += chunk));
      request.on('end', () => {
        bodies.push(body);
        setTimeout(() => response.end('ok'), 5);
      });
    });
    const clients = nodes.all.map(
      ({ url: baseUrl }) => new MessageClient({ baseUrl, token: nodes.token, enableTelemetry: false }),
    );
    const sent = Array.from({ length: 60 }, (_, n) => String(n));
    for (const [n, body] of sent.entries()) await clients[n % COUNT]?.queue({ queueName: 'in-order' }).enqueue({ url, body });
    await waitUntil('all messages have arrived', () => bodies.length === sent.length);
    assert.deepEqual(bodies, sent);
  });

  // This test is the last one, because it ends nodes.
  test('the parallelism and rate of a key hold across nodes while one is killed and one is stopped', async (t) => {
    let inFlight = 0;
    let most = 0;
    let delivered = 0;
    const starts: number[] = [];
    const served =
      (nap: number, note: () => void, count = 1) =>
      async (ctx: WorkflowContext<unknown>) =>
        ctx.run('work', async () => {
          note();
          await pause(nap * count);
          return ctx.runId;
        });
    const counted = serve(
      served(80, () => {}),
      { signingKeys: nodes.signingKeys },
    );
    const handler = toNodeHandler(counted);
    const wide = await endpoint((request, response) => {
      delivered++;
      most = Math.max(most, ++inFlight);
      response.on('close', () => inFlight--);
      void handler(request, response);
    });
    const paced = toNodeHandler(
      serve(
        served(1, () => {}),
        { signingKeys: nodes.signingKeys },
      ),
    );
    const rated = await endpoint((request, response) => {
      starts.push(performance.now());
      void paced(request, response);
    });
    // The destination is this busy process: it may notice the starts of a period later than those of the next one.
    const [parallelism, rate, period, lateness] = [4, 10, 3_000, 1_000];
    const [wides, rates] = [named('wide', 150), named('rated', 40)];
    const triggers = Promise.all([
      forEachIndex(wides.length, 3, async (n) => {
        const options = { runId: wides[n] ?? '', deduplicationId: wides[n] ?? '', flowControl: { key: 'wide', parallelism } };
        await nodes.anywhere((one) => one.trigger(wide, options));
      }),
      forEachIndex(rates.length, 2, async (n) => {
        const flowControl = { key: 'rated', rate, period: `${period / 1_000}s` };
        const options = { runId: rates[n] ?? '', deduplicationId: rates[n] ?? '', flowControl };
        await nodes.anywhere((one) => one.trigger(rated, options));
      }),
    ]);
    await waitUntil('work is in progress', () => starts.length >= rate && delivered >= 4 * parallelism);
    await nodes.node(0).end('SIGKILL');
    const deliveredBefore = delivered;
    await waitUntil('other nodes continue the work', () => delivered >= deliveredBefore + 4 * parallelism);
    await nodes.node(1).end('SIGTERM');
    await triggers;
    await results([...wides, ...rates]);
    t.diagnostic(`at most ${most} in flight`);
    assert.equal(most, parallelism);
    // Windows as the destination sees them: each starts with the first start after the previous window.
    const windows: number[] = [];
    let windowEnd = Number.NEGATIVE_INFINITY;
    for (const start of starts) {
      if (start >= windowEnd) {
        windowEnd = start + period - lateness;
        windows.push(0);
      }
      windows.push((windows.pop() ?? 0) + 1);
    }
    const crowd = Math.max(...windows);
    t.diagnostic(`starts in each period: ${windows.join(', ')}`);
    const times = starts.map((start) => Math.round(start - (starts[0] ?? 0)));
    assert.ok(crowd <= rate, `${crowd} within a period: ${times.join(' ')}`);
  });
});
