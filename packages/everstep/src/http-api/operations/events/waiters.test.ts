import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { EventWaiter } from '../../../contract/events.js';
import type { FlowControlWaiter } from '../../../contract/service.js';
import { ApiHarness, EVENT_ID } from '../../testing/api-harness.js';

interface WaiterPage {
  readonly cursor?: string;
  readonly waiters: readonly EventWaiter[];
}
interface WaitList {
  readonly waiting: readonly FlowControlWaiter[];
  readonly waitListSize: number;
}

let harness: ApiHarness;
before(async () => {
  harness = await ApiHarness.open();
});
after(() => harness.close());

const page = async (query = '') => (await harness.call<WaiterPage>('GET', `/v2/waiters${query}`)).body;

async function wait(id: string, path = 'wait'): Promise<void> {
  await harness.trigger(path, { 'svc-workflow-runid': id });
  await harness.journalWhen(id, ({ tasks }) => tasks.some(({ kind }) => kind === 'wait'));
}

test('lists all waiters with their events, page by page, and of one workflow', async () => {
  for (const id of ['w-1', 'w-2', 'w-3']) await wait(id);
  await wait('w-other', 'hook');
  const { waiters } = await page();
  assert.deepEqual(
    waiters.filter(({ eventId }) => eventId === EVENT_ID).map(({ workflowRunId }) => workflowRunId),
    ['w-1', 'w-2', 'w-3'],
  );
  const first = waiters.find(({ eventId }) => eventId === EVENT_ID) ?? assert.fail();
  const [alone] = (await harness.call<EventWaiter[]>('GET', `/v2/waiters/${encodeURIComponent(EVENT_ID)}`)).body;
  const { url, headers, deadline } = first;
  assert.deepEqual(alone, { url, headers, deadline });
  assert.deepEqual([first.stepName, first.workflowUrl], ['paid', 'http://w.test/wait']);
  assert.equal(first.deadlineAt, first.since + 3_600_000);

  const found: string[] = [];
  for (let cursor = ''; ; ) {
    const next = await page(`?count=1&cursor=${cursor}`);
    found.push(...next.waiters.map(({ workflowRunId }) => workflowRunId));
    if (next.cursor === undefined) break;
    ({ cursor } = next);
  }
  assert.deepEqual(
    found,
    waiters.map(({ workflowRunId }) => workflowRunId),
  );
  const hooks = await page('?workflowUrl=http://w.test/hook');
  assert.deepEqual(
    hooks.waiters.map(({ workflowRunId }) => workflowRunId),
    ['w-other'],
  );
  const firstPage = await page('?count=1&workflowUrl=http://w.test/wait');
  const strange = await harness.call('GET', `/v2/waiters?count=1&cursor=${firstPage.cursor}`);
  assert.deepEqual([strange.status, strange.headers['svc-error-code']], [400, 'bad-cursor']);
});

test('lists the deliveries that wait for a flow control key in their order', async () => {
  const limited = { 'svc-flow-control-key': 'one by one', 'svc-flow-control-value': 'parallelism=1' };
  for (const id of ['k-1', 'k-2', 'k-3', 'k-4']) await harness.trigger('hang', { 'svc-workflow-runid': id, ...limited });
  const list = async (query = '') => (await harness.call<WaitList>('GET', `/v2/flowControl/one%20by%20one/waiting${query}`)).body;
  let body = await list();
  for (let turn = 0; body.waiting.length < 3; turn++) {
    assert.ok(turn < 1_000);
    body = await list();
  }
  assert.deepEqual(
    body.waiting.map(({ workflowRunId, place, kind }) => [workflowRunId, place, kind]),
    [
      ['k-2', 1, 'workflow'],
      ['k-3', 2, 'workflow'],
      ['k-4', 3, 'workflow'],
    ],
  );
  const [first] = body.waiting;
  assert.deepEqual([first?.workflowUrl, first?.since === first?.workflowCreatedAt], ['http://w.test/hang', true]);
  const short = await list('?count=1');
  assert.deepEqual([short.waiting.length, short.waitListSize], [1, 3]);
  await harness.call('DELETE', '/v2/workflows/runs/k-1');
  await harness.call('DELETE', '/v2/workflows/runs/k-3');
  for (let turn = 0; (await list()).waiting.length !== 1; turn++) assert.ok(turn < 1_000);
  assert.deepEqual((await list()).waiting[0]?.workflowRunId, 'k-4');
  assert.equal((await harness.call('GET', '/v2/flowControl/none/waiting')).status, 404);
  assert.equal((await harness.call('GET', '/v2/flowControl/none/waiting?count=101')).status, 400);
});
