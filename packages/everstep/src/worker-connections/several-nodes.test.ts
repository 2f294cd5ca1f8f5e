/** Workers and several nodes on one database: runtimes in one process, whose workers connect without a network. */
import assert from 'node:assert/strict';
import { after, afterEach, suite, test } from 'node:test';
import { type ConnectedWorker, type ConnectOptions, connect, serve } from '@everstep/sdk';
import { createSystemClock } from '../clock/system-clock.js';
import type { FlowControl, RunSettings } from '../engine/runs/run.js';
import type { SharedChange } from '../ports/cluster.js';
import type { Store } from '../ports/stores/store.js';
import { noMessages, publicUrl, quiet, random, ScriptedCaller, SETTINGS } from '../runtime/runtime.fixture.js';
import { createRuntime, type Runtime } from '../runtime/runtime.js';
import { Database, statement } from '../stores/postgres/connection/connection.js';
import { openPostgresNode } from '../stores/postgres/index.js';
import { openTestSchemas } from '../stores/postgres/testing/schemas.js';
import { ClusterWorkers } from './cluster-workers.js';
import { InProcessNetwork, type NodeOfNetwork } from './in-process-network.fixture.js';
import { WorkerPools } from './worker-pools.js';
import { WorkerStepCaller } from './worker-step-caller.js';

const schemas = await openTestSchemas();
const INSTANCE = 'qi_1';
const ORDER = 'worker://shop/order';
const RESULT_TIMEOUT_MS = 30_000;
const UNTIL_MS = 20_000;

/** Endpoint over HTTP that must not be called. */
const noEndpoint = new ScriptedCaller(({ workflowUrl }) => {
  throw new Error(`unexpected request to ${workflowUrl}`);
});

interface Node extends NodeOfNetwork {
  readonly host: string;
  readonly runtime: Runtime;
  readonly store: Store;
  readonly workers: ClusterWorkers;
  readonly gateHolder: () => Promise<string>;
  stop(): Promise<void>;
}

suite('workers and several nodes', {
  skip: typeof schemas === 'string' && schemas,
  timeout: 120_000,
}, () => {
  if (typeof schemas === 'string') return;
  const nodes: Node[] = [];
  const apps: ConnectedWorker[] = [];
  let database: Database | null = null;
  const schema = schemas.make();
  const network = new InProcessNetwork((host) => nodes.find((node) => node.host === host) ?? null);

  afterEach(async () => {
    for (const app of apps.splice(0)) await app.close({ graceMs: 0 });
    for (const node of nodes.splice(0)) await node.stop();
    await (await schema).clear();
  });
  after(() => database?.close());

  /** Starts a node. With `ownUrl`, the node has its own address. */
  async function startNode(host: string, { ownUrl = false, leaseMs = 60_000 } = {}): Promise<Node> {
    const { url } = await schema;
    database ??= new Database({ url, log: quiet });
    const facts = { host, version: '0', url: ownUrl ? `http://${host}` : null };
    const { cluster, store } = await openPostgresNode({ url, log: quiet, facts, leaseMs });
    const clock = createSystemClock({ wall: () => cluster.now() });
    const pools = new WorkerPools(clock);
    const workers = new ClusterWorkers({ local: pools, board: cluster, clock, log: quiet });
    const stepCaller = new WorkerStepCaller({
      ...{ pools, now: clock.now },
      otherTransports: { stepCaller: noEndpoint, messageSender: noMessages },
    });
    const changed = ({ kind }: SharedChange): void => {
      if (kind === 'workers' || kind === 'everything') void workers.refresh();
    };
    const runtime = createRuntime({
      ...{ store, clock, random, stepCaller, messageSender: stepCaller, log: quiet, publicUrl, cluster, workers },
      onChange: changed,
    });
    await runtime.start();
    await workers.start();
    let stopped = false;
    const node: Node = {
      ...{ host, runtime, store, pools, clock, workers, instanceId: INSTANCE, cluster: workers },
      nodeId: () => cluster.nodeId,
      gateHolder: () => cluster.gateHolderOf(INSTANCE),
      async stop() {
        if (stopped) return;
        stopped = true;
        await runtime.stop({ graceMs: 100 });
        await workers.stop();
        await store.close();
      },
    };
    network.serve(node);
    nodes.push(node);
    return node;
  }

  /** Connects an app with the workflow `order`, unless the options contain others. */
  function connectApp(
    host: string,
    order: ConnectOptions['workflows'][string],
    options: Partial<Pick<ConnectOptions, 'maxConcurrency' | 'workflows'>> = {},
  ): ConnectedWorker {
    const app = connect({
      ...{ app: 'shop', workflows: { order }, baseUrl: `http://${host}`, token: 'a token', drainOn: [] },
      ...{ WebSocket: network.Socket, onProblem: () => {}, ...options },
    });
    apps.push(app);
    return app;
  }

  /** Connects an app that runs three steps, and counts the runs in progress. */
  function startApp(host: string, options: { readonly maxConcurrency?: number } = {}) {
    const seen = { inProgress: 0, max: 0, steps: 0 };
    const workflow = serve<{ readonly n: number }, number>(async (ctx) => {
      let sum = 0;
      for (const name of ['one', 'two', 'three']) {
        sum += await ctx.run(name, async () => {
          seen.steps++;
          seen.max = Math.max(seen.max, ++seen.inProgress);
          for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
          seen.inProgress--;
          return ctx.payload.n;
        });
      }
      return sum;
    });
    return { app: connectApp(host, workflow, options), seen };
  }

  async function trigger(
    { runtime }: Node,
    n: number,
    flowControl: FlowControl | null = null,
    { deliveryTimeoutMs }: Pick<RunSettings, 'deliveryTimeoutMs'> = SETTINGS,
  ) {
    const { run } = await runtime.runs.trigger({
      ...{ instanceId: INSTANCE, dialect: 'native', workflowUrl: ORDER, callerIp: '127.0.0.1' },
      payload: {
        body: new TextEncoder().encode(JSON.stringify({ n })),
        ...{ contentType: 'application/json', forwardHeaders: {} },
      },
      settings: { ...SETTINGS, maxRetries: 0, flowControl, deliveryTimeoutMs },
      ...{ workflowRunId: null, notBefore: null, deduplicationId: null },
    });
    return run;
  }

  type Run = Awaited<ReturnType<typeof trigger>>;
  const endOf = async ({ runtime }: Node, run: Run) =>
    runtime.runs.awaitEnd({ instanceId: INSTANCE, run, timeoutMs: RESULT_TIMEOUT_MS });

  async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
    const deadline = performance.now() + UNTIL_MS;
    while (!(await condition())) {
      if (performance.now() > deadline) throw new Error(`never: ${condition}`);
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  const elsewhere = (node: Node) => until(() => node.workers.nodeFor(INSTANCE, ORDER, 'any') !== null);

  test('a run that is triggered on a node without workers runs on the workers of another node', async () => {
    const [here, there] = [await startNode('one'), await startNode('two')];
    assert.notEqual(here.workers.missingSince(INSTANCE, ORDER), null);
    const { app, seen } = startApp('two');
    await app.connected;
    // The run is triggered before this node knows of the worker.
    const early = await trigger(here, 1);
    await elsewhere(here);
    assert.equal(here.workers.missingSince(INSTANCE, ORDER), null);
    // While the worker looks for the node without an address, it reaches the other node again and has several connections to it.
    const listed = (await here.workers.connectionsOf(INSTANCE)).map(({ app: name, nodeId }) => `${name} at ${nodeId}`);
    assert.deepEqual([...new Set(listed)], [`shop at ${there.nodeId()}`]);
    const runs = [early, await trigger(here, 2), await trigger(there, 3)];
    const ends = await Promise.all(runs.map((run) => endOf(here, run)));
    assert.deepEqual(
      ends.map((end) => end?.result),
      ['3', '6', '9'],
    );
    assert.equal(seen.steps, 9, 'no step runs twice');
    assert.deepEqual(here.pools.links, []);
  });

  test('a node knows since when no worker of another node serves a workflow, also while other workers of the app are connected', async () => {
    const here = await startNode('one');
    await startNode('two');
    const workflow = serve(async () => {});
    const order = connectApp('two', workflow);
    connectApp('two', workflow, { workflows: { invoice: workflow } });
    const since = (name: string) => here.workers.missingSince(INSTANCE, `worker://shop/${name}`);
    await until(() => since('order') === null && since('invoice') === null);
    const before = here.clock.now();
    await order.close({ graceMs: 0 });
    await until(() => since('order') !== null);
    assert.ok((since('order') ?? 0) >= before);
    assert.equal(since('invoice'), null);
  });

  test('the limits of a flow control key are exact when its holder has no workers', async () => {
    const [here, there] = [await startNode('one'), await startNode('two')];
    assert.equal(await here.gateHolder(), here.nodeId());
    const { app, seen } = startApp('two');
    await app.connected;
    await elsewhere(here);
    const key: FlowControl = { key: 'k', parallelism: 2 };
    const runs: Run[] = [];
    for (let n = 0; n < 8; n++) runs.push(await trigger(n % 2 === 0 ? here : there, n, key));
    const ends = await Promise.all(runs.map((run) => endOf(there, run)));
    assert.deepEqual(
      ends.map((end) => end?.result),
      runs.map((_, n) => String(3 * n)),
    );
    assert.equal(seen.steps, 24, 'no step runs twice');
    assert.equal(seen.max, 2);
    await until(async () => (await here.runtime.flowControl.find({ instanceId: INSTANCE, key: 'k' }))?.inFlight === 0);
  });

  test('the breaker counts failures of workers that are connected to another node, and a failed probe does not end its hold', async () => {
    const [here, there] = [await startNode('one'), await startNode('two')];
    assert.equal(await here.gateHolder(), here.nodeId());
    let [isHanging, requests] = [true, 0];
    const workflow = serve<unknown, string>(async () => {
      requests++;
      if (isHanging) await new Promise(() => {});
      return 'done';
    });
    await connectApp('two', workflow).connected;
    await elsewhere(here);
    const breaker = { enabled: true, failures: 2, probeEveryMs: 1_000 };
    await here.runtime.settings.changeInstanceSettings({
      instanceId: INSTANCE,
      update: (settings) => ({ ...settings, breaker }),
    });
    const runs: Run[] = [];
    const key: FlowControl = { key: 'k', parallelism: 1 };
    for (let n = 0; n < 8; n++) runs.push(await trigger(here, n, key, { deliveryTimeoutMs: 1_000 }));
    const failuresInHold = async (): Promise<number> => {
      const [destination] = await here.runtime.destinations.list({ instanceId: INSTANCE });
      return destination?.hold?.by === 'breaker' ? destination.failures : 0;
    };
    await until(() => requests === breaker.failures + 1);
    const failuresAtProbe = await failuresInHold();
    assert.ok(failuresAtProbe >= breaker.failures, 'the third request is a probe');
    await until(async () => (await failuresInHold()) > failuresAtProbe);
    isHanging = false;
    const last = runs.at(-1);
    assert.ok(last);
    assert.equal((await endOf(there, last))?.result, '"done"');
    await until(async () => (await failuresInHold()) === 0);
  });

  test('a delivery that was lent to a node without its worker returns, and another node makes it', async () => {
    const [here, there, third] = [await startNode('one'), await startNode('two'), await startNode('three')];
    assert.equal(await here.gateHolder(), here.nodeId());
    const first = startApp('two');
    await first.app.connected;
    await elsewhere(here);
    const key: FlowControl = { key: 'k', parallelism: 1 };
    const run = await trigger(here, 5, key);
    network.cut(there);
    const route = network.route;
    network.route = (host) => (host === 'two' ? null : route(host));
    const second = startApp('three');
    await second.app.connected;
    assert.equal((await endOf(third, run))?.result, '15');
    network.route = route;
  });

  test('a worker connects to all nodes, and to a node that joins later', async () => {
    const one = await startNode('one', { ownUrl: true });
    const { app } = startApp('one');
    await app.connected;
    const two = await startNode('two', { ownUrl: true });
    await until(() => one.pools.links.length === 1 && two.pools.links.length === 1);
  });

  test('a node that has lost its lease publishes its workers again under its new id', async () => {
    const [here, there] = [await startNode('one', { leaseMs: 1_000 }), await startNode('two', { leaseMs: 1_000 })];
    const { app } = startApp('two');
    await app.connected;
    await elsewhere(here);
    const lost = there.nodeId();
    // Other nodes have removed this node, because it did not renew its lease in time. It joins again under a new id.
    await database?.execute(statement('DELETE FROM node WHERE node_id = $1'), [lost]);
    await until(() => there.nodeId() !== lost && here.workers.nodeFor(INSTANCE, ORDER, 'any') === there.nodeId());
    const run = await trigger(here, 4);
    assert.equal((await endOf(here, run))?.result, '12');
  });
});
