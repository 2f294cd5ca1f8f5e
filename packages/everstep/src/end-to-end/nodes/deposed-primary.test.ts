/** Reads at all nodes while a standby is promoted and the old primary keeps running. */
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { serve } from '@everstep/sdk';
import { toNodeHandler } from '@everstep/sdk/node';
import { findBinaries } from '../../stores/postgres/testing/binaries.js';
import { type Endpoint, forEachIndex, listen, Nodes, waitUntil } from '../nodes.fixture.js';
import { type Reads, RunObserver } from './run-observer.fixture.js';
import { TwoServers } from './two-servers.fixture.js';

const NODES = 3;
/** Node that is cut off. Node 0 can always reach both servers. */
const CUT_OFF = 1;
const CONNECTIONS_LOST = 2;
const RUNS = Math.ceil(Number(process.env.NODES_TEST_DISTURBED_RUNS ?? 30) / 3);
const FAILOVERS = Number(process.env.NODES_TEST_FAILOVERS ?? 1);
const missing = process.env.EVERSTEP_TEST_POSTGRES === 'none' || findBinaries() === null;

suite('nodes and a primary that was replaced', {
  skip: missing && 'no PostgreSQL server is installed here',
  timeout: Number(process.env.NODES_TEST_TIMEOUT_MS ?? 240_000),
}, () => {
  let servers: TwoServers;
  let nodes: Nodes;
  let endpoint: Endpoint;
  let finish = (): void => {};
  let finished = Promise.resolve();
  const acknowledged: string[] = [];

  before(async () => {
    servers = await TwoServers.start(NODES);
    nodes = await Nodes.start(NODES, { url: servers.url(0), own: (index) => ({ EVERSTEP_STORE: servers.url(index) }) });
    const workflow = serve(
      async (ctx) => {
        await ctx.run('first', () => 1);
        await ctx.run('second', () => finished);
        await ctx.run('third', () => 3);
      },
      { signingKeys: nodes.signingKeys },
    );
    const handler = toNodeHandler(workflow);
    endpoint = await listen((request, response) => void handler(request, response));
  });
  after(async () => {
    endpoint?.close();
    try {
      await nodes?.dispose();
    } finally {
      await servers?.dispose();
    }
  });

  const allReady = () => Promise.all(nodes.all.map((node) => node.ready()));

  /** Starts runs that have one recorded step and wait in the next one. */
  async function startRuns(name: string): Promise<RunObserver> {
    finished = new Promise((resolve) => {
      finish = resolve;
    });
    const runIds = Array.from({ length: RUNS }, (_, n) => `${name}-${n}`);
    await forEachIndex(RUNS, 4, async (n) => {
      const runId = runIds[n] ?? '';
      await nodes.anywhere((client) => client.trigger(endpoint.url, { runId, deduplicationId: runId, retryDelay: '50' }));
      acknowledged.push(runId);
    });
    const observer = new RunObserver(nodes, runIds);
    observer.start();
    await waitUntil('each has its first step', () => observer.allHave(1));
    return observer;
  }

  /** Triggers runs at each node, whether or not it can acknowledge them. Resolves after all responses. */
  async function triggerEverywhere(name: string): Promise<void> {
    await forEachIndex(RUNS, RUNS, async (n) => {
      const runId = `${name}-${n}`;
      const trigger = nodes.client(n % NODES).trigger(endpoint.url, { runId, retryDelay: '50' });
      await trigger.then(
        () => acknowledged.push(runId),
        () => undefined,
      );
    });
  }

  for (let failover = 1; failover <= FAILOVERS; failover++) {
    test(`no node returns an older state of a run while one node cannot reach the promoted server (failover ${failover})`, async () => {
      const observer = await startRuns(`run-${failover}`);
      const toPromoted = servers.toStandby(CUT_OFF);
      const lost = servers.toPrimary(CONNECTIONS_LOST);
      try {
        toPromoted.isHeld = true;
        await servers.promote();
        lost.isRefusing = true;
        lost.cut();
        finish();
        const triggered = triggerEverywhere(`during-${failover}`);
        await waitUntil('each has succeeded', () => observer.allSucceeded);
        observer.countAnew();
        const asked = ({ answeredCount, rejectedCount }: Reads) => answeredCount + rejectedCount > RUNS;
        await waitUntil('the node that is cut off received reads', () => asked(observer.readsOf(CUT_OFF)));
        assert.deepEqual(observer.olderReads, []);
        assert.equal(observer.readsOf(CUT_OFF).answeredCount, 0, 'it must not return unconfirmed reads');
        for (const node of [0, CONNECTIONS_LOST]) assert.ok(observer.readsOf(node).answeredCount > 0);
        toPromoted.isHeld = false;
        await allReady();
        await triggered;
        observer.countAnew();
        await waitUntil('every node responds again', () =>
          nodes.all.every((_, node) => observer.readsOf(node).answeredCount > RUNS),
        );
      } finally {
        toPromoted.isHeld = false;
        await observer.stop();
      }
      assert.deepEqual(observer.olderReads, []);
    });

    test(`every node knows every acknowledged run, and a new standby is used (failover ${failover})`, async () => {
      servers.toStandby(CONNECTIONS_LOST).isRefusing = false;
      await servers.follow();
      await allReady();
      await forEachIndex(acknowledged.length, 4, async (n) => {
        const runId = acknowledged[n] ?? '';
        for (const [index] of nodes.all.entries()) {
          const { workflowState } = await nodes.client(index).runs.result(runId, { timeout: '30s' });
          assert.equal(workflowState, 'RUN_SUCCESS', `${runId} at node ${index}`);
        }
      });
    });
  }
});
