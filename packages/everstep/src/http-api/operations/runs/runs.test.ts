import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { RunJournal, RunLogEntry, RunResult } from '../../../contract/runs.js';
import { ApiHarness, type ErrorResponse } from '../../testing/api-harness.js';

interface LogPage {
  readonly cursor?: string;
  readonly runs: readonly RunLogEntry[];
}

let harness: ApiHarness;
before(async () => {
  harness = await ApiHarness.open();
});
after(() => harness.close());

const logs = async (query: string): Promise<LogPage> => (await harness.call<LogPage>('GET', `/v2/workflows/logs?${query}`)).body;
const idsOf = ({ runs }: LogPage): string[] => runs.map(({ workflowRunId }) => workflowRunId);
const ended = { 'svc-wait-for-result': 'true' };
const cancel = (body: unknown) =>
  harness.call<{ cancelled: number } & ErrorResponse>('DELETE', '/v2/workflows/runs', {
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });

/** Waits until the endpoints were called that many times for a run. */
async function waitForCalls(workflowRunId: string, times: number): Promise<void> {
  const count = () => harness.endpoints.calls.filter(({ request }) => request.run.id === workflowRunId).length;
  for (let turn = 0; count() < times; turn++) {
    assert.ok(turn < 1_000, `the endpoint was called ${count()} times for ${workflowRunId}`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  // The result of the last call is written within a few turns.
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setTimeout(resolve, 2));
}

test('the log of an ended run shows its steps in groups', async () => {
  await harness.trigger('steps', { 'svc-workflow-runid': 'seq', 'svc-label': 'a,b', 'svc-flow-control-key': 'k', ...ended });
  const [entry] = (await logs('workflowRunId=seq')).runs;
  assert.ok(entry?.workflowRunCompletedAt);
  const { steps, workflowRunCreatedAt, workflowRunCompletedAt: _at, ...run } = entry;
  assert.deepEqual(run, {
    workflowRunId: 'seq',
    workflowUrl: 'http://w.test/steps',
    workflowState: 'RUN_SUCCESS',
    callerIP: '127.0.0.1',
    label: 'a',
    labels: ['a', 'b'],
    flowControlKey: 'k',
    workflowRunResponse: '"done"',
  });
  const [initial, ...rest] = steps;
  const [init] = initial?.steps ?? [];
  assert.equal(initial?.type, 'sequential');
  assert.match(init?.messageId ?? '', /^msg_\w+$/);
  assert.deepEqual(init, {
    stepName: 'init',
    stepType: 'Initial',
    callType: 'step',
    messageId: init?.messageId,
    concurrent: 1,
    state: 'STEP_SUCCESS',
    createdAt: workflowRunCreatedAt,
  });
  const shown = rest.map(({ type, steps: [step] }) => [
    type,
    step?.stepId,
    step?.stepName,
    step?.stepType,
    step?.out,
    step?.state,
  ]);
  assert.deepEqual(shown, [
    ['sequential', 1, 'step 1', 'Run', '1', 'STEP_SUCCESS'],
    ['sequential', 2, 'step 2', 'Run', '2', 'STEP_SUCCESS'],
  ]);
  const [trimmed] = (await logs('workflowRunId=seq&trimBody=true')).runs;
  assert.ok(
    trimmed && !('workflowRunResponse' in trimmed) && trimmed.steps.every(({ steps }) => steps.every((step) => !('out' in step))),
  );
  const events = await harness.call<LogPage>('GET', '/v2/workflows/events?groupBy=workflowRunId&workflowRunId=seq');
  assert.deepEqual(events.body.runs, [entry]);
  assert.equal((await harness.call('GET', '/v2/workflows/events')).status, 400);
});

test('parallel steps are a group with the state of each; the steps attempted now are the group next', async () => {
  await harness.trigger('fan', { 'svc-workflow-runid': 'fan', 'svc-retry-delay': '3600000' });
  await waitForCalls('fan', 4);
  const [entry] = (await logs('workflowRunId=fan')).runs;
  const group = entry?.steps.find(({ type }) => type === 'parallel');
  assert.deepEqual(
    group?.steps.map(({ stepId, stepName, stepType, concurrent, state }) => [stepId, stepName, stepType, concurrent, state]),
    [
      [1, 'branch 1', 'Run', 3, 'STEP_RETRY'],
      [2, 'branch 2', 'Run', 3, 'STEP_SUCCESS'],
      [3, 'nap', 'SleepFor', 3, 'STEP_PROGRESS'],
    ],
  );
  const [first, , nap] = group?.steps ?? [];
  assert.equal(nap?.sleepFor, 3_600_000);
  assert.ok(Number(nap?.sleepUntil) > Date.now());
  const [error] = first?.errors ?? [];
  assert.deepEqual([error?.error, error?.status, error?.retried], ['branch 1 is not ready', 500, 0]);

  await harness.trigger('hang', { 'svc-workflow-runid': 'next' });
  const [next] = (await logs('workflowRunId=next')).runs;
  assert.deepEqual(
    next?.steps.at(-1)?.steps.map(({ state }) => state),
    ['STEP_PROGRESS'],
  );
  assert.equal(next?.steps.at(-1)?.type, 'next');

  await harness.trigger('retry', { 'svc-workflow-runid': 'again', 'svc-retry-delay': '3600000' });
  await waitForCalls('again', 1);
  const [again] = (await logs('workflowRunId=again')).runs;
  const [attempt] = again?.steps.at(-1)?.steps ?? [];
  assert.deepEqual([again?.steps.at(-1)?.type, attempt?.state, attempt?.errors?.length], ['next', 'STEP_RETRY', 1]);

  await harness.call('DELETE', '/v2/workflows/runs/fan');
  const [stopped] = (await logs('workflowRunId=fan')).runs;
  const states = stopped?.steps.find(({ type }) => type === 'parallel')?.steps.map(({ state }) => state);
  assert.deepEqual(states, ['STEP_CANCELED', 'STEP_SUCCESS', 'STEP_CANCELED']);
  assert.ok(stopped?.steps.every(({ type }) => type !== 'next'));
});

test('a failed run shows its error, its dead letter and its successor', async () => {
  const [dlqId = ''] = await harness.fail(1, { 'svc-workflow-runid': 'broken' });
  const [entry] = (await logs('workflowRunId=broken')).runs;
  assert.equal(entry?.workflowState, 'RUN_FAILED');
  assert.equal(entry?.dlqId, dlqId);
  assert.match(entry?.workflowRunError ?? '', /returned 500/);
  const [step] = entry?.steps.at(-1)?.steps ?? [];
  assert.deepEqual([step?.state, step?.errors?.length], ['STEP_FAILED', 1]);
  await harness.call('POST', `/v2/dlq/restart/${dlqId}`, { headers: { 'svc-workflow-runid': 'mended' } });
  const [old] = (await logs('workflowRunId=broken')).runs;
  assert.deepEqual(
    [old?.workflowRunBecame?.kind, old?.workflowRunBecame?.workflowRunId, old?.dlqId],
    ['restart', 'mended', undefined],
  );
  const [made] = (await logs('workflowRunId=mended')).runs;
  assert.deepEqual([made?.workflowRunOrigin?.workflowRunId, made?.workflowRunOrigin?.dlqId], ['broken', dlqId]);
});

test('shows attempts that failed before a step was found with the completed step', async () => {
  await harness.trigger('retry', { 'svc-workflow-runid': 'late', 'svc-retry-delay': '0', ...ended });
  const [entry] = (await logs('workflowRunId=late')).runs;
  assert.equal(entry?.workflowState, 'RUN_SUCCESS');
  const shown = entry?.steps.slice(1).flatMap(({ steps }) => steps.map(({ state, errors }) => [state, errors?.length]));
  assert.deepEqual(shown, [['STEP_RETRY', 1]]);
});

test('log pages are newest first, at most ten runs, and stable while runs arrive', async () => {
  const headers = { 'svc-label': 'listed' };
  const made: string[] = [];
  for (let i = 0; i < 13; i++) made.push((await harness.trigger('ok', headers)).workflowRunId);
  const first = await logs('label=listed');
  assert.deepEqual(idsOf(first), made.slice(3).reverse());
  await harness.trigger('ok', headers);
  const second = await logs(`label=listed&cursor=${first.cursor}`);
  assert.deepEqual(idsOf(second), made.slice(0, 3).reverse());
  assert.ok(!('cursor' in second), 'no cursor at the end');
  assert.equal((await logs('label=listed&count=1')).runs.length, 1);
});

test('combines log filters with AND', async () => {
  const world2 = await ApiHarness.open();
  const list = async (query: string) => idsOf((await world2.call<LogPage>('GET', `/v2/workflows/logs?${query}`)).body);
  await world2.trigger('ok', { 'svc-workflow-runid': 'a', 'svc-label': 'x,y', ...ended });
  await world2.trigger('ok', { 'svc-workflow-runid': 'a', 'svc-label': 'y', ...ended });
  const { workflowCreatedAt } = await world2.trigger('hang?q=1,2', { 'svc-workflow-runid': 'b', 'svc-flow-control-key': 'k' });
  await world2.trigger('fail', { 'svc-workflow-runid': 'c', ...ended });
  const table: Readonly<Record<string, readonly string[]>> = {
    '': ['c', 'b', 'a', 'a'],
    'workflowRunId=a': ['a', 'a'],
    'label=x': ['a'],
    'label=x,y': ['a', 'a'],
    'flowControlKey=k': ['b'],
    'callerIp=127.0.0.1&state=RUN_FAILED': ['c'],
    'callerIp=10.0.0.1': [],
    'state=RUN_STARTED': ['b'],
    'state=RUN_SUCCESS': ['a', 'a'],
    'state=RUN_CANCELED': [],
    'workflowUrl=http://w.test/hang?q=1,2': ['b'],
    'workflowUrl=http://w.test/hang': [],
    'fromDate=2&toDate=1': [],
    'fromDate=0&toDate=9007199254740993': ['c', 'b', 'a', 'a'],
    'toDate=1': [],
    'unknown=1': ['c', 'b', 'a', 'a'],
  };
  for (const [query, expected] of Object.entries(table)) assert.deepEqual(await list(query), expected, query);
  assert.deepEqual(await list(`workflowRunId=b&workflowCreatedAt=${workflowCreatedAt}`), ['b']);
  assert.deepEqual(await list('workflowRunId=b&workflowCreatedAt=1'), []);
  await world2.close();
});

test('the journal shows the input of a run with its redaction', async () => {
  await harness.trigger('fan', { 'svc-workflow-runid': 'input', 'svc-forward-x-of': 'us' }, '{"pin":1}');
  await harness.trigger('fan', { 'svc-workflow-runid': 'hidden', 'svc-redact-fields': 'body' }, '{"pin":1}');
  await harness.trigger('fan', { 'svc-workflow-runid': 'bytes' }, Buffer.from([0xff, 0xfe]));
  const inputOf = async (id: string) => (await harness.call<RunJournal>('GET', `/v2/workflows/runs/${id}`)).body.input;
  const shown = await inputOf('input');
  assert.equal(shown?.body, '{"pin":1}');
  assert.deepEqual(shown.header['X-Of'], ['us']);
  assert.equal((await inputOf('hidden'))?.body, '[REDACTED]');
  assert.equal((await inputOf('bytes'))?.bodyBase64, '//4=');
});

test('the journal shows steps, pending tasks and failed attempts', async () => {
  await harness.trigger('fan', { 'svc-workflow-runid': 'journal', 'svc-retry-delay': '3600000', 'svc-timeout': '1m' });
  await waitForCalls('journal', 4);
  const { status, body } = await harness.call<RunJournal>('GET', '/v2/workflows/runs/journal');
  assert.equal(status, 200);
  assert.deepEqual([body.timeoutMs, body.retryDelay, body.workflowState], [60_000, '3600000', 'RUN_STARTED']);
  assert.deepEqual(
    body.steps.map(({ stepId, stepName, out }) => [stepId, stepName, out]),
    [[2, 'branch 2', undefined]],
  );
  assert.deepEqual(
    body.tasks.map(({ kind, stepId }) => [kind, stepId]),
    [
      ['step', 1],
      ['sleep', 3],
    ],
  );
  assert.deepEqual(
    body.attempts.map(({ stepId, cause, error }) => [stepId, cause, error]),
    [[1, 'http', 'branch 1 is not ready']],
  );
  const at = (createdAt: number) => harness.call('GET', `/v2/workflows/runs/journal?workflowCreatedAt=${createdAt}`);
  assert.equal((await at(body.workflowCreatedAt)).status, 200);
  assert.equal((await at(1)).status, 404);
  assert.equal((await harness.call('GET', '/v2/workflows/runs/none')).status, 404);
});

test('keeps a run id exactly as given', async () => {
  for (const id of ['a/b', 'a%2Fb', '100%', 'a?b#c', 'a+b c', '"quoted"', 'grün', 'logs', '__proto__', 'x'.repeat(256)]) {
    const header = Buffer.from(id).toString('latin1');
    const made = await harness.trigger('ok', { 'svc-workflow-runid': header, ...ended });
    assert.equal(made.workflowRunId, id);
    const { body } = await harness.call<RunJournal>('GET', `/v2/workflows/runs/${encodeURIComponent(id)}`);
    assert.equal(body.workflowRunId, id);
    assert.deepEqual(idsOf(await logs(`workflowRunId=${encodeURIComponent(id)}`)), [id]);
    assert.equal((await harness.call('GET', `/v2/workflows/runs/${encodeURIComponent(id)}/result`)).status, 200, id);
  }
});

test('waits for the result of a run, however it ends', async () => {
  const result = (id: string, query = '') => harness.call<RunResult>('GET', `/v2/workflows/runs/${id}/result${query}`);
  await harness.trigger('ok', { 'svc-workflow-runid': 'r-ok', ...ended }, 'in');
  assert.deepEqual((await result('r-ok')).body.result, { got: 'in' });
  await harness.trigger('fail', { 'svc-workflow-runid': 'r-fail', ...ended });
  assert.match((await result('r-fail')).body.error ?? '', /returned 500/);
  await harness.trigger('hang', { 'svc-workflow-runid': 'r-hang' });
  assert.equal((await result('r-hang', '?timeout=0')).status, 202);
  assert.equal((await result('none')).status, 404);
  const waiting = result('r-hang', '?timeout=1m');
  await new Promise((resolve) => setTimeout(resolve, 10));
  await harness.call('DELETE', '/v2/workflows/runs/r-hang');
  const canceled = await waiting;
  assert.equal(canceled.status, 200);
  assert.equal(canceled.body.workflowState, 'RUN_CANCELED');
  assert.ok(!('result' in canceled.body) && !('error' in canceled.body));
});

test('canceling a run ends it once', async () => {
  await harness.trigger('hang', { 'svc-workflow-runid': 'one' });
  assert.deepEqual((await harness.call('DELETE', '/v2/workflows/runs/one')).body, { cancelled: 1 });
  const again = await harness.call('DELETE', '/v2/workflows/runs/one');
  assert.deepEqual([again.status, again.headers['svc-error-code']], [409, 'run-not-active']);
  assert.equal((await harness.call('DELETE', '/v2/workflows/runs/none')).status, 404);
  const bySdk = await harness.call('DELETE', '/v2/workflows/runs/one?cancel=false');
  assert.deepEqual([bySdk.status, bySdk.body], [200, { cancelled: 0 }]);
  const entry = (await logs('workflowRunId=one')).runs[0];
  assert.deepEqual([entry?.workflowState, entry?.dlqId], ['RUN_CANCELED', undefined]);
});

test('of several runs with the same id, the one that was created at the given time is canceled', async () => {
  const start = async () => (await harness.trigger('hang', { 'svc-workflow-runid': 'twice' })).workflowCreatedAt;
  const cancel = (createdAt: number) => harness.call('DELETE', `/v2/workflows/runs/twice?workflowCreatedAt=${createdAt}`);
  const firstCreatedAt = await start();
  assert.equal((await cancel(firstCreatedAt)).status, 200);
  const secondCreatedAt = await start();
  assert.notEqual(secondCreatedAt, firstCreatedAt);
  assert.equal((await cancel(firstCreatedAt)).headers['svc-error-code'], 'run-not-active');
  assert.deepEqual((await cancel(secondCreatedAt)).body, { cancelled: 1 });
});

test('cancels multiple runs by id or filter and no others', async () => {
  const hang = (id: string, label: string, path = 'hang') =>
    harness.trigger(path, { 'svc-workflow-runid': id, 'svc-label': label });
  const active = async () => new Set(idsOf(await logs('state=RUN_STARTED&label=c1,c2,c3')));
  await hang('c-1', 'c1');
  await hang('c-2', 'c1');
  await hang('c-3', 'c2', 'hang/long');
  await hang('c-4', 'c2', 'hang/longer');
  await hang('c-5', 'c3', 'hang/other');
  assert.deepEqual((await cancel({ workflowRunIds: ['c-1', 'c-1', 'none'] })).body, { cancelled: 1 });
  assert.deepEqual((await cancel({ workflowUrl: 'http://w.test/hang/long', workflowUrlExactMatch: true })).body, {
    cancelled: 1,
  });
  assert.deepEqual(await active(), new Set(['c-2', 'c-4', 'c-5']));
  assert.deepEqual((await cancel({ workflowUrl: 'http://w.test/hang/long' })).body, { cancelled: 1 });
  assert.deepEqual((await cancel({ label: 'c1', workflowUrl: 'http://w.test/hang/other' })).body, { cancelled: 0 });
  assert.deepEqual((await cancel({ label: ['c1', 'c3'], fromDate: 0 })).body, { cancelled: 2 });
  assert.deepEqual(await active(), new Set());
  assert.deepEqual((await cancel({ fromDate: 2, toDate: 1 })).body, { cancelled: 0 });
});

test('canceling multiple runs requires a known field', async () => {
  for (const body of [
    {},
    { workflowUrlExactMatch: true },
    { lable: 'x' },
    { workflowRunIds: [] },
    { label: '' },
    { fromDate: '1' },
    [],
    'x',
    null,
  ])
    assert.equal((await cancel(body)).status, 400, JSON.stringify(body));
  assert.equal((await harness.call('DELETE', '/v2/workflows/runs')).status, 400, 'no body');
});

test('reads and rotates signing keys', async () => {
  assert.deepEqual((await harness.call('GET', '/v2/keys')).body, { current: 'sig_current_qi_1', next: 'sig_next_qi_1' });
  const { body } = await harness.call<{ current: string; next: string }>('POST', '/v2/keys/rotate');
  assert.equal(body.current, 'sig_next_qi_1');
  assert.deepEqual((await harness.call('GET', '/v2/keys')).body, body);
  assert.deepEqual(harness.authority.signingKeys('qi_1'), body);
});
