import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { LoggedStep, RunJournal, RunLogEntry } from '../../../contract/runs.js';
import { ApiHarness, EVENT_ID } from '../../testing/api-harness.js';

let harness: ApiHarness;
before(async () => {
  harness = await ApiHarness.open();
});
after(() => harness.close());

const logOf = async (id: string): Promise<RunLogEntry | undefined> =>
  (await harness.call<{ runs: RunLogEntry[] }>('GET', `/v2/workflows/logs?workflowRunId=${id}`)).body.runs[0];
const stepsOf = async (id: string): Promise<readonly LoggedStep[]> =>
  (await logOf(id))?.steps.slice(1).flatMap(({ steps }) => steps) ?? [];
const ended = { 'svc-wait-for-result': 'true' };

test('a pending wait shows its event and deadline, and an ended one its outcome', async () => {
  await harness.trigger('wait', { 'svc-workflow-runid': 'wait' });
  const open = await harness.journalWhen('wait', ({ tasks }) => tasks.some(({ kind }) => kind === 'wait'));
  const [task] = open.tasks;
  assert.deepEqual([task?.kind, task?.stepType, task?.waitEventId, task?.waitDeadline], ['wait', 'Wait', EVENT_ID, task?.dueAt]);
  const [logged] = await stepsOf('wait');
  assert.deepEqual([logged?.stepType, logged?.state, logged?.waitEventId], ['Wait', 'STEP_PROGRESS', EVENT_ID]);
  assert.ok(logged?.waitDeadline);
  await harness.call('POST', `/v2/notify/wait/${encodeURIComponent(EVENT_ID)}`, { body: 'x' });
  await harness.journalWhen('wait', ({ workflowState }) => workflowState === 'RUN_SUCCESS');
  const [done] = await stepsOf('wait');
  assert.deepEqual(
    [done?.stepType, done?.state, done?.waitEventId, done?.waitTimeout, done?.waitDeadline],
    ['Wait', 'STEP_SUCCESS', EVENT_ID, false, undefined],
  );
});

test('a webhook step shows the created URL as its result', async () => {
  await harness.trigger('hook', { 'svc-workflow-runid': 'hook' });
  await harness.journalWhen('hook', ({ tasks }) => tasks.some(({ kind }) => kind === 'wait'));
  const [made, waiting] = await stepsOf('hook');
  const { webhookUrl, eventId } = JSON.parse(made?.out ?? '{}');
  assert.equal(made?.stepType, 'CreateWebhook');
  assert.equal(webhookUrl, `http://everstep.test/v2/webhooks/${eventId}`);
  assert.deepEqual([waiting?.stepType, waiting?.waitEventId], ['WaitForWebhook', eventId]);
});

test('a call shows its URL while it is pending, and the status of its response', async () => {
  await harness.trigger('hang-call', { 'svc-workflow-runid': 'open-call' });
  await harness.journalWhen('open-call', ({ tasks }) => tasks.some(({ kind }) => kind === 'call'));
  const [open] = await stepsOf('open-call');
  assert.deepEqual(
    [open?.stepType, open?.callUrl, open?.callMethod, open?.callType],
    ['Call', 'http://c.test/hang', 'PUT', 'step'],
  );
  await harness.trigger('call', { 'svc-workflow-runid': 'call', ...ended });
  const [done] = await stepsOf('call');
  assert.deepEqual([done?.stepType, done?.callResponseStatus, done?.callUrl], ['Call', 200, undefined]);
});

test('an invoked run is shown with the invoking step and shows its origin', async () => {
  await harness.trigger('invoke', { 'svc-workflow-runid': 'parent', ...ended });
  const parent = await logOf('parent');
  const [step] = await stepsOf('parent');
  const [child] = parent?.invokedRuns ?? [];
  assert.equal(step?.stepType, 'Invoke');
  assert.deepEqual([child?.stepId, child?.workflowState, child?.workflowRunId], [1, 'RUN_SUCCESS', step?.invokedWorkflowRunId]);
  assert.equal(step?.invokedWorkflowCreatedAt, child?.workflowCreatedAt);
  const { body } = await harness.call<RunJournal>('GET', `/v2/workflows/runs/${child?.workflowRunId}`);
  assert.deepEqual(body.workflowRunOrigin, {
    kind: 'invoke',
    workflowRunId: 'parent',
    workflowCreatedAt: parent?.workflowRunCreatedAt,
    stepId: 1,
    stepName: 'child',
  });
});

test('the failure callback is not a step of the run', async () => {
  const headers = { 'svc-failure-callback': 'http://c.test/hang', 'svc-workflow-runid': 'told' };
  await harness.fail(1, headers);
  const log = await logOf('told');
  assert.deepEqual(
    [log?.failureFunctionInfo?.state, log?.failureFunctionInfo?.url],
    ['CALLBACK_INPROGRESS', 'http://c.test/hang'],
  );
  const steps = await stepsOf('told');
  assert.deepEqual(
    steps.map(({ state }) => state),
    ['STEP_FAILED'],
  );
  const { body } = await harness.call<RunJournal>('GET', '/v2/workflows/runs/told');
  assert.ok(body.tasks.some(({ kind, stepId }) => kind === 'callback' && stepId === undefined));
});
