/** Worker URLs are workflow URLs like any other, with workers of the SDK that are connected in this process. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type ConnectedWorker, connect, NonRetryableError, type RunFailure, serve } from '@everstep/sdk';
import type { DeadLetterPage } from '../../contract/dead-letters.js';
import type { RunJournal, RunResult, RunSearchPage, TriggeredRun } from '../../contract/runs.js';
import { InProcessNetwork, type NodeOfNetwork } from '../../worker-connections/in-process-network.fixture.js';
import { ApiHarness } from '../testing/api-harness.js';

const JSON_BODY = { 'content-type': 'application/json' } as const;

let isStockEmpty = false;
const failures: RunFailure<unknown>[] = [];

const workflows = {
  child: serve<number, number>((context) => context.run('double', () => context.payload * 2)),
  parent: serve<number, unknown>((context) =>
    context.invoke<number>('child', { workflow: 'worker://shop/child', payload: context.payload }),
  ),
  order: serve<string, string>(async (context) => {
    await context.run('reserve', () => 'reserved');
    return context.run('pack', () => {
      if (isStockEmpty) throw new NonRetryableError('out of stock');
      return `packed ${context.payload}`;
    });
  }),
  watch: serve(() => 'unused', { failureFunction: (failure) => void failures.push(failure) }),
};

let harness: ApiHarness;
let worker: ConnectedWorker<keyof typeof workflows>;

const network = new InProcessNetwork(() => node);
let node: NodeOfNetwork;

function connectWorker(): Promise<void> {
  const { Socket: WebSocket } = network;
  worker = connect({ app: 'shop', workflows, baseUrl: 'http://everstep.test', token: 'unused', WebSocket, drainOn: [] });
  return worker.connected;
}

before(async () => {
  harness = await ApiHarness.open();
  const cluster = { connectionNodes: [{ nodeId: 'n_1' }], onNodesChange: () => {} };
  node = { ...harness.workers, instanceId: 'qi_1', nodeId: () => 'n_1', cluster };
  await connectWorker();
});
after(async () => {
  await worker.close();
  await harness.close();
});

const triggerPath = (url: string): string => `/v2/trigger/${encodeURIComponent(url)}`;
async function resultOf(url: string, body: unknown, headers: Readonly<Record<string, string>> = {}): Promise<RunResult> {
  const options = { headers: { ...JSON_BODY, 'svc-wait-for-result': 'true', ...headers }, body: JSON.stringify(body) };
  const response = await harness.call<RunResult>('POST', triggerPath(url), options);
  assert.equal(response.status, 200, JSON.stringify(response.body));
  return response.body;
}

/** Fails a run and returns the id of its dead letter. */
async function failedOrder(workflowRunId: string, headers: Readonly<Record<string, string>> = {}): Promise<string> {
  isStockEmpty = true;
  const { workflowState } = await resultOf(worker.urls.order, 'A1', { 'svc-workflow-runid': workflowRunId, ...headers });
  isStockEmpty = false;
  assert.equal(workflowState, 'RUN_FAILED');
  const { body } = await harness.call<RunJournal>('GET', `/v2/workflows/runs/${workflowRunId}`);
  assert.ok(body.dlqId);
  return body.dlqId;
}

async function until(reached: () => boolean | Promise<boolean>): Promise<void> {
  for (let turn = 0; !(await reached()); turn++) {
    assert.ok(turn < 1_000, 'the condition was not met');
    await new Promise((resolve) => setImmediate(resolve));
  }
}

test('a workflow of a worker invokes another one', async () => {
  const received = await harness.call<{ readonly result?: { readonly state: string; readonly body: unknown } }>(
    'POST',
    triggerPath(worker.urls.parent),
    { headers: { ...JSON_BODY, 'svc-wait-for-result': 'true' }, body: '21' },
  );
  const { state, body } = received.body.result ?? {};
  assert.deepEqual([state, body], ['succeeded', 42]);
});

test('filters by worker URL select runs, logs and dead letters', async () => {
  const { urls } = worker;
  await failedOrder('filtered');
  const query = `workflowUrl=${encodeURIComponent(urls.order)}`;
  const found = await harness.call<RunSearchPage>('GET', `/v2/workflows/search?${query}`);
  assert.deepEqual([...new Set(found.body.runs.map(({ workflowUrl }) => workflowUrl))], [urls.order]);
  const logged = await harness.call<Pick<RunSearchPage, 'runs'>>('GET', `/v2/workflows/logs?${query}`);
  assert.deepEqual([...new Set(logged.body.runs.map(({ workflowUrl }) => workflowUrl))], [urls.order]);
  const letters = await harness.call<DeadLetterPage>('GET', `/v2/workflows/dlq?${query}`);
  assert.deepEqual([...new Set(letters.body.messages.map(({ workflowUrl }) => workflowUrl))], [urls.order]);
  const none = await harness.call<DeadLetterPage>('GET', `/v2/workflows/dlq?workflowUrl=${encodeURIComponent(urls.child)}`);
  assert.deepEqual(none.body.messages, []);
});

test('a dead letter of a worker URL is resumed and restarted', async () => {
  for (const action of ['resume', 'restart']) {
    const dlqId = await failedOrder(`for-${action}`);
    const { body } = await harness.call<TriggeredRun>('POST', `/v2/workflows/dlq/${action}/${dlqId}`);
    const end = await harness.journalWhen(body.workflowRunId, ({ workflowState }) => workflowState !== 'RUN_STARTED');
    assert.equal(end.workflowState, 'RUN_SUCCESS', action);
  }
});

test('a failure callback to a worker URL calls the failure function of its workflow', async () => {
  failures.length = 0;
  const dlqId = await failedOrder('reported', { 'svc-failure-callback': worker.urls.watch });
  await until(async () => {
    const { body } = await harness.call<{ failureFunctionState?: string }>('GET', `/v2/workflows/dlq/${dlqId}`);
    return body.failureFunctionState === 'CALLBACK_SUCCESS';
  });
  assert.deepEqual(
    failures.map(({ runId, error }) => [runId, /out of stock/.test(error)]),
    [['reported', true]],
  );
});

test('a schedule starts runs at a worker URL', async () => {
  const headers = { ...JSON_BODY, 'svc-cron': '0 0 1 1 *', 'svc-schedule-id': 'yearly' };
  const url = `/v2/schedules/${worker.urls.child}`;
  assert.equal((await harness.call<object>('POST', url, { headers, body: '4' })).status, 200);
  const { body } = await harness.call<{ workflowRunId: string }>('POST', '/v2/schedules/yearly/run');
  const run = await harness.journalWhen(body.workflowRunId, ({ workflowState }) => workflowState !== 'RUN_STARTED');
  assert.equal(run.workflowState, 'RUN_SUCCESS');
});

test('the trigger of a published SDK starts a native run at a worker URL', async () => {
  const headers = { 'upstash-workflow-sdk-version': '1', 'upstash-workflow-runid': 'wfr_up' };
  const { status, body } = await harness.call<TriggeredRun>('POST', triggerPath(worker.urls.child), { headers, body: '3' });
  assert.deepEqual([status, body.noWorker], [200, undefined]);
  await harness.journalWhen(body.workflowRunId, ({ workflowState }) => workflowState === 'RUN_SUCCESS');
  assert.equal((await harness.store.findRun({ instanceId: 'qi_1', workflowRunId: body.workflowRunId }))?.dialect, 'native');
});

test('a run that waits for a worker is canceled, others continue when a worker connects', async () => {
  await worker.close();
  network.cut(node);
  const trigger = async (workflowRunId: string) =>
    (
      await harness.call<TriggeredRun>('POST', triggerPath('worker://shop/child'), {
        headers: { 'svc-workflow-runid': workflowRunId },
        body: '5',
      })
    ).body;
  assert.equal((await trigger('canceled')).noWorker?.app, 'shop');
  await trigger('continued');
  assert.equal((await harness.call<object>('DELETE', '/v2/workflows/runs/canceled')).status, 200);
  await connectWorker();
  const run = await harness.journalWhen('continued', ({ workflowState }) => workflowState !== 'RUN_STARTED');
  assert.deepEqual([run.workflowState, run.attempts], ['RUN_SUCCESS', []]);
  const { body } = await harness.call<RunJournal>('GET', '/v2/workflows/runs/canceled');
  assert.equal(body.workflowState, 'RUN_CANCELED');
});
