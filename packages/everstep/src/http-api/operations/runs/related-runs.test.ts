import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { LIMITS } from '../../../config/limits.js';
import type { DeadLetterChecks, ForkedRun, RunChecks, RunComparison, RunLineage } from '../../../contract/run-tools.js';
import type { RunJournal } from '../../../contract/runs.js';
import { ApiHarness } from '../../testing/api-harness.js';

const ENDED = { 'svc-wait-for-result': 'true' };
const JSON_TYPE = { 'content-type': 'application/json' };

let harness: ApiHarness;
before(async () => {
  harness = await ApiHarness.open();
});
after(() => harness.close());

const get = <Body>(workflowRunId: string, what: string, query = '') =>
  harness.call<Body>('GET', `/v2/workflows/runs/${workflowRunId}/${what}${query}`);
const post = <Body>(url: string, body: object) =>
  harness.call<Body>('POST', url, { headers: JSON_TYPE, body: JSON.stringify(body) });
const ended = (id: string) => harness.journalWhen(id, ({ workflowState }) => workflowState !== 'RUN_STARTED');

async function fork(workflowRunId: string, more: object = {}): Promise<string> {
  const { status, body } = await post<ForkedRun>(`/v2/workflows/runs/${workflowRunId}/fork`, { fromStep: 1, ...more });
  assert.equal(status, 201, JSON.stringify(body));
  return body.workflowRunId;
}

test('compares a run with the latest successful one of its workflow or with a given one', async () => {
  const none = await get<{ readonly error: string }>((await harness.trigger('ok', ENDED)).workflowRunId, 'compare');
  assert.equal(none.status, 404);
  assert.match(none.body.error, /no other run of the workflow .* has succeeded/);
  const [one, two, three] = [
    await harness.trigger('ok', ENDED, '1'),
    await harness.trigger('ok', ENDED, '2'),
    await harness.trigger('ok', ENDED, '3'),
  ];
  const last = (await get<RunComparison>(three.workflowRunId, 'compare')).body;
  assert.equal(last.right.workflowRunId, two.workflowRunId, 'not with itself');
  assert.deepEqual([last.firstDifference?.kind, last.firstDifference?.left], ['input', '3']);
  const named = (await get<RunComparison>(three.workflowRunId, 'compare', `?with=${one.workflowRunId}`)).body;
  assert.equal(named.right.workflowRunId, one.workflowRunId);
  assert.equal((await get(three.workflowRunId, 'compare', '?with=nobody')).status, 404);
  assert.equal((await get(three.workflowRunId, 'compare', '?withCreatedAt=1')).status, 400);
});

test('a fork, its forks, a resume and an invoked run are related', async () => {
  const { workflowRunId: root } = await harness.trigger('invoke', ENDED);
  const { invokedRuns } = (await harness.call<RunJournal>('GET', `/v2/workflows/runs/${root}`)).body;
  const child = invokedRuns?.[0]?.workflowRunId ?? assert.fail();
  const forked = await fork(root, { fromStep: 2, note: 'again' });
  await ended(forked);
  const twice = await fork(forked, { fromStep: 2 });
  await ended(twice);
  const { ancestors, descendants, complete } = (await get<RunLineage>(root, 'lineage')).body;
  assert.deepEqual([ancestors, complete], [[], true]);
  assert.deepEqual(
    descendants.map(({ kind, workflowRunId, stepId, stepName, note, of }) => [
      kind,
      workflowRunId,
      stepId,
      stepName,
      note,
      of?.workflowRunId,
    ]),
    [
      ['invoke', child, 1, 'child', undefined, root],
      ['fork', forked, 2, undefined, 'again', root],
      ['fork', twice, 2, undefined, undefined, forked],
    ],
  );
  const up = (await get<RunLineage>(twice, 'lineage')).body;
  assert.deepEqual(
    up.ancestors.map(({ kind, workflowRunId, workflowState }) => [kind, workflowRunId, workflowState]),
    [
      ['fork', forked, 'RUN_SUCCESS'],
      ['fork', root, 'RUN_SUCCESS'],
    ],
  );
  const [dlqId = ''] = await harness.fail(1, { 'svc-workflow-runid': 'failing' });
  await harness.call('POST', `/v2/dlq/restart/${dlqId}`, { headers: { 'svc-workflow-runid': 'again' } });
  const restarted = (await get<RunLineage>('failing', 'lineage')).body.descendants;
  assert.deepEqual(
    restarted.map(({ kind, workflowRunId }) => [kind, workflowRunId]),
    [['restart', 'again']],
  );
  assert.equal((await get<RunLineage>('again', 'lineage')).body.ancestors[0]?.workflowRunId, 'failing');
});

test('limits the number of related runs and reports that there are more', async () => {
  const { workflowRunId } = await harness.trigger('ok', ENDED);
  for (let i = 0; i <= LIMITS.maxRelatives; i++) await fork(workflowRunId);
  const { descendants, complete } = (await get<RunLineage>(workflowRunId, 'lineage')).body;
  assert.deepEqual([descendants.length, complete], [LIMITS.maxRelatives, false]);
});

test('checks one run or dead letters page by page with their endpoint', async () => {
  harness.endpoints.verdicts.set('/fail', { outcome: 'differs', stepId: 1, message: 'renamed' });
  const dlqIds = await harness.fail(3, { 'svc-label': 'checked' });
  const { workflowRunId } = await harness.trigger('steps', ENDED);
  const one = (await get<RunChecks>(workflowRunId, 'check')).body.checks;
  assert.deepEqual(
    one.map((check) => [check.workflowRunId, check.dlqId, check.outcome]),
    [[workflowRunId, null, 'fits']],
  );
  const filter = { label: ['checked'] };
  const first = (await post<DeadLetterChecks>('/v2/workflows/dlq/check', { filter, count: 2 })).body;
  const second = (await post<DeadLetterChecks>('/v2/workflows/dlq/check', { filter, count: 2, cursor: first.cursor })).body;
  assert.deepEqual(
    [...first.checks, ...second.checks].map(({ dlqId, outcome, message }) => [dlqId, outcome, message]),
    [...dlqIds].reverse().map((dlqId) => [dlqId, 'differs', 'renamed']),
  );
  assert.equal(second.cursor, '');
  const named = (await post<DeadLetterChecks>('/v2/workflows/dlq/check', { filter: { dlqIds: dlqIds.slice(0, 1) } })).body;
  assert.deepEqual(
    named.checks.map(({ dlqId }) => dlqId),
    dlqIds.slice(0, 1),
  );
  assert.equal((await post('/v2/workflows/dlq/check', { filter, count: LIMITS.checksMax + 1 })).status, 400);
  assert.equal((await post('/v2/workflows/dlq/check', { filter: {}, cursor: first.cursor })).status, 400);
});
