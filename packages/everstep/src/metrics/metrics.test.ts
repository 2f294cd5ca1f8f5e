/** The metrics of a runtime on a real store in memory, as Prometheus reads them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SignedKind } from '@everstep/sdk/protocol';
import type { NodeStatus } from '../ports/cluster.js';
import type { Message, MessageOutcome } from '../ports/message-sender.js';
import type { StoreMeasure } from '../ports/stores/store.js';
import { targetOf } from '../runtime/alerts/notice-target.js';
import { endOf, progress, ScriptedCaller, SETTINGS, settle, withRuntime } from '../runtime/runtime.fixture.js';
import { openSqliteStore } from '../stores/sqlite/index.js';
import { openSearchDocuments } from '../stores/sqlite/search/index.js';
import { createMetrics, type GaugeSources } from './index.js';
import { observeCaller, observeSender } from './observed-calls.js';
import { observeDocuments, observeStore } from './observed-store.js';

const NOW = 1_800_000_000_000;
const elapsedMs = () => 0;

const quietSources: GaugeSources = {
  now: () => NOW,
  workload: () => ({ deliveriesInFlight: 0, waiting: 0, gates: () => [] }),
  workers: () => [],
  acceptsWrites: () => true,
  measure: async () => ({
    activeRuns: 0,
    deadLetters: 0,
    errorGroups: { new: 2, regressed: 1, 'snooze-ended': 0, snoozed: 4 },
    bytes: 0,
  }),
  nodes: async () => [],
  info: () => ({ version: '1', store: 'file', node: '' }),
};

const PLAIN: Message = {
  ...{ instanceId: 'qi_1', dialect: 'native', method: 'POST', url: 'http://app/hook', headers: {}, body: null },
  ...{ timeoutMs: 1_000, maxResponseBytes: 1_000, signed: null, headerMode: 'exact' },
};
const accepted: MessageOutcome = { kind: 'response', status: 200, headers: {}, body: new Uint8Array() };

const thisNode: NodeStatus = {
  ...{ nodeId: 'n1', host: 'h', version: '1', startedAt: NOW, leaseUntil: NOW + 5_000, leaving: false, self: true },
  ...{ expired: false, runsClaimed: 0, gates: 0 },
};

/** Returns the time series of the server on the page. */
function seriesOf(page: string): ReadonlyMap<string, number> {
  const lines = page.split('\n').filter((line) => line.startsWith('everstep_'));
  return new Map(lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ') + 1))]));
}

async function withMetrics(
  maxNames: number,
  work: (metrics: ReturnType<typeof createMetrics>, series: () => Promise<ReadonlyMap<string, number>>) => Promise<void>,
): Promise<void> {
  const metrics = createMetrics(maxNames);
  try {
    await work(metrics, async () => seriesOf((await metrics.page(undefined)).text));
  } finally {
    metrics.close();
  }
}

test('runs, steps, attempts, deliveries and commits are counted', async () => {
  await withMetrics(10, async (metrics, series) => {
    const { observer } = metrics;
    const caller = new ScriptedCaller(({ request, workflowUrl }) => {
      if (workflowUrl.includes('failing')) throw new Error('the caller failed');
      return progress(request, {
        done: [{ stepId: 1, name: 'a', type: 'Run', out: '1' }],
        advanced: true,
        end: { kind: 'finished', result: '1' },
      });
    });
    await withRuntime(
      observeCaller(caller, observer, elapsedMs),
      async (bench) => {
        const { run } = await bench.trigger({ workflowUrl: 'http://user:secret@app/flow?token=secret', settings: SETTINGS });
        assert.equal((await endOf(bench, run))?.status, 'succeeded');
        await settle();
      },
      { observer, wrap: (store) => observeStore(store, observer, elapsedMs) },
    );
    const found = await series();
    assert.equal(found.get('everstep_runs_started_total{workflow="http://app/flow"}'), 1);
    assert.equal(found.get('everstep_runs_ended_total{workflow="http://app/flow",state="succeeded"}'), 1);
    assert.equal(found.get('everstep_steps_recorded_total{type="Run"}'), 1);
    assert.equal(found.get('everstep_deliveries_total{kind="step",transport="http",outcome="2xx"}'), 1);
    assert.equal(found.get('everstep_delivery_wait_seconds_count'), 1);
    assert.equal(found.get('everstep_run_duration_seconds_count{state="succeeded"}'), 1);
    assert.ok((found.get('everstep_commits_total{result="ok"}') ?? 0) >= 2);
    assert.equal(found.get('everstep_commit_duration_seconds_count'), found.get('everstep_commits_total{result="ok"}'));
    assert.doesNotMatch((await metrics.page(undefined)).text, /secret/);
  });
});

test('counters of rare failures start at 0, so that the first failure is an increase', async () => {
  await withMetrics(1, async (_, series) => {
    const found = await series();
    const zero = ['failure_callbacks_total{result="failed"}', 'commits_total{result="failed"}', 'nodes_lost_total'];
    assert.deepEqual(
      zero.map((name) => found.get(`everstep_${name}`)),
      [0, 0, 0],
    );
  });
});

test('calls, messages, failure callbacks and notices are counted separately', async () => {
  await withMetrics(1, async ({ observer }, series) => {
    const hook = 'http://ops/hook';
    const { send } = observeSender({ send: async () => accepted }, observer, elapsedMs);
    const signed = (kind: SignedKind) => ({ signed: { kind, isOwn: false } });
    const sent: readonly Partial<Message>[] = [
      {},
      signed('call'),
      signed('message'),
      signed('failure-function'),
      signed('failure-callback'),
      signed('budget-alert'),
      signed('audit-log'),
      targetOf({ name: 'a', createdAt: NOW, kind: 'webhook', url: hook, secret: 'whsec_AAAA' }, 'msg_1'),
      targetOf({ name: 'b', createdAt: NOW, kind: 'slack', url: hook }, 'msg_2'),
      targetOf({ name: 'c', createdAt: NOW, kind: 'email', to: ['ann@example.com'] }, 'msg_3'),
    ];
    for (const one of sent) await send({ ...PLAIN, ...one }, new AbortController().signal);
    const found = await series();
    const counts = (['call', 'message', 'failure-callback', 'notice'] as const).map((kind) =>
      found.get(`everstep_deliveries_total{kind="${kind}",transport="http",outcome="2xx"}`),
    );
    assert.deepEqual(counts, [2, 1, 2, 5]);
  });
});

test('syncs, commits of a database, lost nodes, failed calls to the store and search operations are counted', async () => {
  await withMetrics(1, async ({ observer }, series) => {
    const store = await openSqliteStore({ file: ':memory:' });
    observer.logSynced(2);
    observer.databaseCommitted(3);
    observer.nodesLost(2);
    const { commit, loadRun } = observeStore(
      { ...store, commit: () => Promise.reject(new Error('full')), loadRun: () => Promise.reject(new Error('gone')) },
      observer,
      elapsedMs,
    );
    await assert.rejects(commit([]), /full/);
    await assert.rejects(loadRun({ runKey: 'r' }), /gone/);
    await store.close();
    const documents = openSearchDocuments({ directory: null });
    const { search } = observeDocuments(documents, observer, elapsedMs);
    await search({ indexId: 'i', namespace: '', text: 'a', limit: 1, filter: null, maxBytes: 100 });
    await documents.close();
    await settle();
    const found = await series();
    assert.equal(found.get('everstep_fsync_duration_seconds_sum'), 0.002);
    assert.equal(found.get('everstep_database_commit_duration_seconds_sum'), 0.003);
    assert.equal(found.get('everstep_nodes_lost_total'), 2);
    assert.equal(found.get('everstep_store_errors_total{operation="commit"}'), 1);
    assert.equal(found.get('everstep_store_errors_total{operation="loadRun"}'), 1);
    assert.equal(found.get('everstep_commits_total{result="failed"}'), 1);
    assert.equal(found.get('everstep_search_operations_total{operation="search",result="ok"}'), 1);
    assert.equal(found.get('everstep_search_duration_seconds_count{operation="search"}'), 1);
  });
});

test('keys, queues and apps beyond the number of names share one time series', async () => {
  await withMetrics(1, async (metrics, series) => {
    const gate = { kind: 'key', waiting: 5, inFlight: 1, oldestSince: NOW - 60_000 } as const;
    metrics.setGaugeSources({
      ...quietSources,
      workload: () => ({
        deliveriesInFlight: 3,
        waiting: 7,
        gates: () => [
          { ...gate, name: 'big' },
          { ...gate, name: 'small', waiting: 1, oldestSince: NOW - 90_000 },
          { ...gate, name: 'tiny', waiting: 1, oldestSince: null },
          { ...gate, kind: 'queue', name: 'q', waiting: 2 },
        ],
      }),
      workers: () => [
        { app: 'shop', slots: 10, inFlight: 2 },
        { app: 'shop', slots: 10, inFlight: 1 },
        { app: 'other-app', slots: 1, inFlight: 0 },
      ],
    });
    const found = await series();
    assert.equal(found.get('everstep_deliveries_waiting'), 7);
    assert.equal(found.get('everstep_flow_control_waiting{key="big"}'), 5);
    assert.equal(found.get('everstep_flow_control_waiting{key="other"}'), 2);
    assert.equal(found.get('everstep_oldest_waiting_seconds{where="key",name="other"}'), 90);
    assert.equal(found.get('everstep_queue_waiting{queue="q"}'), 2);
    assert.equal(found.get('everstep_workers_connected{app="shop"}'), 2);
    assert.equal(found.get('everstep_worker_places{app="other"}'), 1);
  });
});

test('the page describes only the current node after the node has joined again under another id', async () => {
  await withMetrics(1, async (metrics, series) => {
    let node = 'n1';
    metrics.setGaugeSources({ ...quietSources, info: () => ({ version: '1', store: 'postgres', node }) });
    await series();
    node = 'n2';
    assert.deepEqual(
      [...(await series()).keys()].filter((name) => name.startsWith('everstep_info')),
      ['everstep_info{version="1",store="postgres",node="n2"}'],
    );
  });
});

test('a store that cannot be read does not break the page', async () => {
  await withMetrics(1, async (metrics, series) => {
    metrics.setGaugeSources({ ...quietSources, acceptsWrites: () => false, measure: () => Promise.reject(new Error('down')) });
    assert.equal((await series()).get('everstep_store_accepts_writes'), 0);
  });
});

test('gauges of a store that can no longer be read are absent until it can be read again', async () => {
  await withMetrics(1, async (metrics, series) => {
    let isDown = false;
    const read = async <Value>(value: Value): Promise<Value> => {
      if (isDown) throw new Error('down');
      return value;
    };
    metrics.setGaugeSources({
      ...quietSources,
      measure: async () => read(await quietSources.measure()),
      nodes: () => read([thisNode, { ...thisNode, nodeId: 'n2', expired: true, self: false }]),
    });
    const nodes = ['nodes{state="active"}', 'nodes{state="expired"}'];
    const names = ['runs_active', 'dead_letters', 'error_groups{state="new"}', 'store_bytes', ...nodes];
    const gauges = async () => {
      const found = await series();
      return [...names, 'lease_seconds{node="n1"}'].map((name) => found.get(`everstep_${name}`));
    };
    assert.deepEqual(await gauges(), [0, 0, 2, 0, 1, 1, 5]);
    isDown = true;
    assert.deepEqual(
      await gauges(),
      Array.from({ length: 7 }, () => undefined),
    );
    isDown = false;
    assert.deepEqual(await gauges(), [0, 0, 2, 0, 1, 1, 5]);
  });
});

test('a request for the page does not remove the lease from the page of another request', async () => {
  await withMetrics(1, async (metrics, series) => {
    let finishMeasure: (measure: StoreMeasure) => void = () => {};
    let finishList: (nodes: readonly NodeStatus[]) => void = () => {};
    const measured = new Promise<StoreMeasure>((resolve) => {
      finishMeasure = resolve;
    });
    const listed = new Promise<readonly NodeStatus[]>((resolve) => {
      finishList = resolve;
    });
    const nodes = [Promise.resolve([thisNode]), listed];
    metrics.setGaugeSources({ ...quietSources, measure: () => measured, nodes: () => nodes.shift() ?? listed });
    const first = series();
    await settle();
    const second = series();
    finishMeasure(await quietSources.measure());
    const lease = 'everstep_lease_seconds{node="n1"}';
    assert.equal((await first).get(lease), 5);
    finishList([thisNode]);
    assert.equal((await second).get(lease), 5);
  });
});

test('the page has the requested format, even if both formats are requested at the same time', async () => {
  await withMetrics(1, async (metrics) => {
    const openMetrics = 'application/openmetrics-text; version=1.0.0';
    const [first, second, third] = await Promise.all([openMetrics, undefined, openMetrics].map((accept) => metrics.page(accept)));
    assert.match(first?.contentType ?? '', /openmetrics-text/);
    assert.match(second?.contentType ?? '', /^text\/plain/);
    assert.match(third?.text ?? '', /# EOF\n$/);
    assert.doesNotMatch(second?.text ?? '', /# EOF/);
    // The names of counters differ only in their declarations.
    const [counter, declared] = [
      /^everstep_dead_letters_added_total 0$/m,
      /^# TYPE everstep_dead_letters_added(_total)? counter$/m,
    ];
    for (const each of [first, second, third]) assert.match(each?.text ?? '', counter);
    assert.equal(declared.exec(second?.text ?? '')?.[1], '_total');
    assert.equal(declared.exec(third?.text ?? '')?.[1], undefined);
  });
});
