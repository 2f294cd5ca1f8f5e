import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { ForkedRun } from '../../../contract/run-tools.js';
import type { RunJournal, RunLogEntry } from '../../../contract/runs.js';
import { ApiHarness } from '../../testing/api-harness.js';

const ENDED = { 'svc-wait-for-result': 'true' };

let harness: ApiHarness;
before(async () => {
  harness = await ApiHarness.open();
  const user = { userId: 'usr_ann', email: 'ann@example.test', createdAt: 1 };
  await harness.store.accounts.createUser({
    user,
    apiKey: { apiKeyId: 'key_1', userId: 'usr_ann', name: 'first', keyHash: 'a', createdAt: 1 },
  });
  await harness.store.accounts.changeInstance({ instanceId: 'qi_1', change: { accountId: 'usr_ann' } });
});
after(() => harness.close());

const fork = <Body = ForkedRun>(workflowRunId: string, body: object) =>
  harness.call<Body>('POST', `/v2/workflows/runs/${workflowRunId}/fork`, {
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
const journalOf = async (workflowRunId: string) =>
  (await harness.call<RunJournal>('GET', `/v2/workflows/runs/${workflowRunId}`)).body;
const endOf = (workflowRunId: string) =>
  harness.journalWhen(workflowRunId, ({ workflowState }) => workflowState !== 'RUN_STARTED');
const refused = async (workflowRunId: string, body: object) => {
  const response = await fork<{ readonly error: string }>(workflowRunId, body);
  return [response.status, response.headers['svc-error-code'], response.body.error] as const;
};

test('a fork continues from its step, shows its origin, and leaves the original run unchanged', async () => {
  const { workflowRunId } = await harness.trigger('steps', ENDED, 'input');
  const before = await journalOf(workflowRunId);
  const { status, body } = await fork(workflowRunId, {
    fromStep: 2,
    results: [{ stepId: 1, result: { given: true } }],
    newWorkflowRunId: 'forked',
    note: 'a test',
  });
  assert.deepEqual([status, body.workflowRunId], [201, 'forked']);
  const forked = await endOf('forked');
  assert.equal(forked.workflowState, 'RUN_SUCCESS');
  assert.deepEqual(forked.workflowRunOrigin, {
    kind: 'fork',
    workflowRunId,
    workflowCreatedAt: before.workflowCreatedAt,
    stepId: 2,
    note: 'a test',
  });
  assert.deepEqual(
    forked.steps.map(({ stepId, out, edited }) => [stepId, out, edited]),
    [
      [1, '{"given":true}', true],
      [2, '2', undefined],
    ],
  );
  const { body: log } = await harness.call<{ readonly runs: readonly RunLogEntry[] }>(
    'GET',
    '/v2/workflows/logs?workflowRunId=forked',
  );
  const logged = log.runs[0]?.steps.flatMap(({ steps }) => steps) ?? [];
  assert.deepEqual(
    logged.map(({ stepName, edited }) => [stepName, edited]),
    [
      ['init', undefined],
      ['step 1', true],
      ['step 2', undefined],
    ],
  );
  assert.deepEqual(await journalOf(workflowRunId), before);
});

test('the audit log contains who forked which run and the edited steps, but no values', async () => {
  const { workflowRunId } = await harness.trigger('steps', ENDED);
  const { body } = await fork(workflowRunId, {
    fromStep: 2,
    input: { body: 'secret-input' },
    results: [
      { stepId: 2, result: 'secret-result' },
      { stepId: 1, result: 'secret-result' },
    ],
    note: 'ticket 7',
  });
  const [entry] = await harness.store.accounts.listAudit({ accountIds: ['usr_ann'], after: null, limit: 1 });
  assert.ok(entry);
  assert.match(entry.actor, /^token /);
  assert.deepEqual([entry.action, entry.subject, entry.address], ['run.fork', body.workflowRunId, '127.0.0.1']);
  const { of_created_at: _, ...details } = entry.details;
  assert.deepEqual(details, {
    queue: 'qi_1',
    of: workflowRunId,
    from_step: 2,
    edited_steps: '2,1',
    edited_input: true,
    note: 'ticket 7',
  });
  const forked = await endOf(body.workflowRunId);
  assert.equal(forked.workflowRunOrigin?.inputEdited, true);
  assert.deepEqual(
    forked.steps.map(({ edited }) => edited),
    [true, true],
    'the code continued after the edited step',
  );
});

test('a failed run keeps its dead letter, and a failed parallel step can get a result', async () => {
  const { workflowRunId } = await harness.trigger('fan', { 'svc-retries': '0' });
  const failed = await endOf(workflowRunId);
  assert.ok(failed.dlqId);
  const { body } = await fork(workflowRunId, { fromStep: 1, results: [{ stepId: 1, result: 'by hand' }] });
  const forked = await harness.journalWhen(body.workflowRunId, ({ tasks }) => tasks.length > 0);
  assert.deepEqual(forked.steps.map(({ stepId, out }) => [stepId, out]).slice(-1), [[1, '"by hand"']]);
  assert.equal((await journalOf(workflowRunId)).dlqId, failed.dlqId);
  assert.deepEqual((await journalOf(workflowRunId)).tasks, failed.tasks, 'its pending tasks stay pending');
});

test('a waiting run can be forked after its wait and keeps waiting', async () => {
  const { workflowRunId } = await harness.trigger('wait');
  await harness.journalWhen(workflowRunId, ({ tasks }) => tasks.some(({ kind }) => kind === 'wait'));
  const { body } = await fork(workflowRunId, { fromStep: 1, results: [{ stepId: 1, result: { timeout: true } }] });
  assert.equal((await endOf(body.workflowRunId)).workflowState, 'RUN_SUCCESS');
  assert.equal((await journalOf(workflowRunId)).workflowState, 'RUN_STARTED');
  const [status, code, error] = await refused(workflowRunId, { fromStep: 1, results: [{ stepId: 1, result: 'now' }] });
  assert.deepEqual([status, code], [400, 'bad-body']);
  assert.match(error, /step 1 \("paid"\) is a Wait step, whose result must have the form {"timeout":true}/);
});

test('a fork of an invoked run does not report to the invoking run', async () => {
  const { workflowRunId } = await harness.trigger('invoke', ENDED);
  const parent = await endOf(workflowRunId);
  const [child] = parent.invokedRuns ?? [];
  assert.ok(child);
  const { body } = await fork(child.workflowRunId, { fromStep: 1 });
  assert.equal((await endOf(body.workflowRunId)).workflowRunOrigin?.kind, 'fork');
  assert.deepEqual((await journalOf(workflowRunId)).invokedRuns, parent.invokedRuns);
});

test('a fork keeps the redaction of the run and rejects placeholders as values', async () => {
  const redacting = { 'svc-redact-fields': 'body', ...ENDED };
  const { workflowRunId } = await harness.trigger('steps', redacting, 'secret');
  const { body } = await fork(workflowRunId, { fromStep: 2, results: [{ stepId: 1, result: 'secret' }] });
  assert.ok(!JSON.stringify(await endOf(body.workflowRunId)).includes('secret'));
  for (const [edit, field] of [
    [{ results: [{ stepId: 1, result: { iban: '[REDACTED]' } }] }, 'results.0.result'],
    [{ input: { body: '[REDACTED]' } }, 'input.body'],
  ] as const) {
    const [status, code, error] = await refused(workflowRunId, { fromStep: 2, ...edit });
    assert.deepEqual([status, code], [400, 'bad-body']);
    assert.ok(error.includes(`${field} contains [REDACTED]`), error);
  }
});

test('rejects impossible forks and says why', async () => {
  const { workflowRunId } = await harness.trigger('steps', ENDED);
  for (const [body, words] of [
    [{ fromStep: 4 }, /at most 3, not 4/],
    [{ fromStep: 1, results: [{ stepId: 2, result: 1 }] }, /step 2 cannot be given a result because it is not kept/],
    [{ fromStep: 3, results: [{ stepId: 3 }] }, /has not reached it/],
    [{ fromStep: 2, results: [{ stepId: 1 }, { stepId: 1 }] }, /a second time/],
    [{ fromStep: 0 }, /fromStep/],
  ] as const) {
    const [status, code, error] = await refused(workflowRunId, body);
    assert.deepEqual([status, code], [400, 'bad-body'], error);
    assert.match(error, words);
  }
  const { workflowRunId: waiting } = await harness.trigger('wait', { 'svc-workflow-runid': 'taken' });
  assert.deepEqual((await refused(workflowRunId, { fromStep: 1, newWorkflowRunId: waiting })).slice(0, 2), [409, 'run-id-taken']);
  for (const newWorkflowRunId of ['a\ud800', 'a\u0000']) {
    const [status, , error] = await refused(workflowRunId, { fromStep: 1, newWorkflowRunId });
    assert.equal(status, 400);
    assert.match(error, /newWorkflowRunId must not .* U\+0000 or an unpaired surrogate/);
  }
  assert.deepEqual((await refused('nobody', { fromStep: 1 })).slice(0, 2), [404, 'not-found']);
  assert.deepEqual((await refused(workflowRunId, { fromStep: 1, createdAt: 5 })).slice(0, 2), [404, 'not-found']);
});

test('rejects a fork of a plain message', async () => {
  const { body } = await harness.call<{ readonly messageId: string }>('POST', '/v2/publish/http://m.test/hang', { body: 'x' });
  const [status] = await refused(body.messageId, { fromStep: 1 });
  assert.ok(status === 404 || status === 409, String(status));
});

test('a spent budget rejects a fork like a trigger', async () => {
  const { workflowRunId } = await harness.trigger('steps', ENDED);
  await harness.store.accounts.changeInstance({ instanceId: 'qi_1', change: { budgetDollars: 20 } });
  const write = { kind: 'count-messages', instanceId: 'qi_1', messages: 20 * 100_000, at: harness.runtime.now() } as const;
  await harness.store.commit([{ guards: [], writes: [write] }]);
  harness.limits.forget('qi_1');
  await harness.limits.refuseSpending('qi_1');
  assert.deepEqual((await refused(workflowRunId, { fromStep: 1 })).slice(0, 2), [402, 'budget-exceeded']);
});
