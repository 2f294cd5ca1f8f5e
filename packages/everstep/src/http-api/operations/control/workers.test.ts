import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { RunResult, TriggeredRun } from '../../../contract/runs.js';
import type { DestinationEntry } from '../../../contract/service.js';
import type { WorkerPage } from '../../../contract/workers/workers.js';
import { WorkerLink, type WorkerProfile } from '../../../worker-connections/worker-link.js';
import { ApiHarness } from '../../testing/api-harness.js';

const CLOCK = { now: () => 1_700_000_000_000, setTimer: () => () => {}, endOfTurn: () => {} };
const ORDER = 'worker://shop/order';

let harness: ApiHarness;
before(async () => {
  harness = await ApiHarness.open();
});
after(() => harness.close());

let connections = 0;
function connect(profile: Partial<WorkerProfile>, instanceId = 'qi_1'): WorkerLink {
  const defaults = { app: 'shop', workflows: ['order'], maxConcurrency: 5, workerId: 'w1', sdk: '@everstep/sdk' };
  const link = new WorkerLink({
    ...{ connectionId: `con_${++connections}`, instanceId, heartbeatMs: 10_000 },
    ...{ connectedAt: CLOCK.now(), elapsedClock: CLOCK },
    profile: { ...defaults, ...profile },
    socket: { send: () => {}, close: () => {} },
    onSlotsChanged: (changed) => harness.workers.pools.slotsChanged(changed),
    onEnded: (ended) => harness.workers.pools.remove(ended),
  });
  harness.workers.pools.add(link);
  return link;
}

const list = async (query = ''): Promise<WorkerPage> => (await harness.call<WorkerPage>('GET', `/v2/workers${query}`)).body;
const trigger = async (url: string, headers: Readonly<Record<string, string>> = {}): Promise<TriggeredRun> =>
  (await harness.call<TriggeredRun>('POST', `/v2/trigger/${encodeURIComponent(url)}`, { headers })).body;

test('lists only the connections of its own queue instance', async () => {
  const links = [
    connect({ version: '1.4', host: 'a1', workflows: ['refund', 'order'] }),
    connect({ app: 'mail', workflows: ['send'], workerId: 'w2' }),
    connect({ app: 'secret' }, 'qi_2'),
  ];
  const [first] = links;
  assert.ok(first);
  first.lastError = 'OutOfStock';
  const { workers, unserved, cursor } = await list();
  assert.deepEqual([unserved, cursor], [[], undefined]);
  const common = {
    sdk: '@everstep/sdk',
    nodeId: 'n_alone',
    connectedAt: CLOCK.now(),
    inFlight: 0,
    maxConcurrency: 5,
    draining: false,
  };
  assert.deepEqual(workers, [
    { ...common, connectionId: 'con_2', workerId: 'w2', app: 'mail', workflows: ['send'], workflowCount: 1 },
    {
      ...{ ...common, connectionId: 'con_1', workerId: 'w1', app: 'shop', workflows: ['order', 'refund'], workflowCount: 2 },
      ...{ version: '1.4', host: 'a1', lastError: 'OutOfStock' },
    },
  ]);
  await trigger('worker://mail/send');
  const [, second] = links;
  for (let turn = 0; turn < 1_000 && second?.inFlight !== 1; turn++) await new Promise((resolve) => setImmediate(resolve));
  second?.drain();
  assert.deepEqual(
    (await list('?app=mail')).workers.map(({ draining, inFlight }) => [draining, inFlight]),
    [[true, 1]],
  );
  for (const link of links) link.end();
});

test('returns pages and shows a bounded number of workflows', async () => {
  const workflows = Array.from({ length: 60 }, (_, n) => `flow-${n}`);
  const links = [3, 1, 2].map((n) => connect({ app: `app-${n}`, workflows }));
  const first = await list('?count=2');
  assert.deepEqual(
    first.workers.map(({ app, workflows: shown, workflowCount }) => [app, shown.length, workflowCount]),
    [
      ['app-1', 50, 60],
      ['app-2', 50, 60],
    ],
  );
  const { workers, cursor } = await list(`?count=2&cursor=${first.cursor}`);
  assert.deepEqual([workers.map(({ app }) => app), cursor], [['app-3'], undefined]);
  const other = await harness.call('GET', `/v2/workers?app=app-1&cursor=${first.cursor}`);
  assert.equal(other.status, 400);
  assert.equal((await harness.call('GET', '/v2/workers?app=Not%20an%20app')).status, 400);
  for (const link of links) link.end();
});

test('the response to a trigger says since when no worker serves the workflow', async () => {
  const link = connect({});
  link.end();
  const run = await trigger(ORDER, { 'svc-workflow-runid': 'waits' });
  const { noWorker } = run;
  assert.equal(noWorker?.app, 'shop');
  assert.ok(noWorker.since > CLOCK.now());
  assert.deepEqual((await trigger(ORDER, { 'svc-workflow-runid': 'waits' })).noWorker, noWorker, 'also of a deduplicated run');
  const active = await harness.call<RunResult>('POST', `/v2/trigger/${ORDER}`, { headers: { 'svc-wait-for-result': '0' } });
  assert.equal(active.status, 202);
  assert.deepEqual('noWorker' in active.body && active.body.noWorker, noWorker);
  const batch = await harness.call<readonly TriggeredRun[]>('POST', '/v2/batch/trigger', {
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify([{ destination: ORDER }, { destination: 'http://w.test/ok' }]),
  });
  assert.deepEqual(
    batch.body.map((each) => each.noWorker),
    [noWorker, undefined],
  );
  assert.deepEqual(Object.keys(await trigger('http://w.test/ok')).toSorted(), ['workflowCreatedAt', 'workflowRunId']);

  const { unserved } = await list('?app=shop');
  assert.deepEqual(unserved, [{ ...noWorker, workflow: 'order', workflowUrl: ORDER, waitListSize: 3 }]);
  assert.deepEqual((await list('?app=mail')).unserved, []);
  const { body } = await harness.call<{ readonly destinations: readonly DestinationEntry[] }>('GET', '/v2/destinations');
  assert.deepEqual(
    body.destinations.map(({ origin, isHeld, noWorkerSince, waitListSize }) => ({ origin, isHeld, noWorkerSince, waitListSize })),
    [{ origin: ORDER, isHeld: false, noWorkerSince: noWorker.since, waitListSize: 3 }],
  );
});

test('a worker that does not serve the workflow does not count', async () => {
  const link = connect({ app: 'stock', workflows: ['count'] });
  assert.equal((await trigger('worker://stock/order')).noWorker?.app, 'stock');
  link.end();
});

test('holds and releases the destination of a worker URL', async () => {
  const hold = { headers: { 'content-type': 'application/json' }, body: JSON.stringify({ origin: 'worker://held/order' }) };
  assert.deepEqual((await harness.call<object>('POST', '/v2/destinations/hold', hold)).body, {
    origin: 'worker://held/order',
    isHeld: true,
  });
  assert.equal((await harness.call<object>('POST', '/v2/destinations/release', hold)).status, 200);
  const invalid = { ...hold, body: JSON.stringify({ origin: 'worker://held' }) };
  assert.equal((await harness.call('POST', '/v2/destinations/hold', invalid)).status, 400);
});
