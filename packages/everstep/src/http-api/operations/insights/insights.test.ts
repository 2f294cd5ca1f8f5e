import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { InstanceInsights, WorkflowInsights } from '../../../contract/insights/insights.js';
import { ApiHarness } from '../../testing/api-harness.js';

let harness: ApiHarness;
before(async () => {
  harness = await ApiHarness.open();
  for (let n = 0; n < 3; n++) await harness.trigger('ok', { 'svc-wait-for-result': 'true' });
  await harness.fail(2);
});
after(() => harness.close());

const FAILING = 'http://w.test/fail';
const workflow = (query: Record<string, string>) =>
  harness.call<WorkflowInsights>('GET', `/v2/insights/workflow?${new URLSearchParams(query)}`);

test('the insights of an instance count all runs, by workflow and over time, and report new errors', async () => {
  for (const window of ['1h', '6h', '24h', '7d', '30d', '90d']) {
    const { status, body } = await harness.call<InstanceInsights>('GET', `/v2/insights?window=${window}`);
    assert.equal(status, 200);
    const { started, succeeded, failed, canceled } = body.totals;
    assert.deepEqual([started, succeeded, failed, canceled], [5, 3, 2, 0], window);
    assert.equal(body.points.length * body.intervalMs, body.to - body.from);
    assert.ok(body.points.length <= 120);
    assert.equal(
      body.points.reduce((sum, point) => sum + point.started, 0),
      5,
    );
    assert.deepEqual(
      body.workflows.map((each) => [each.workflowUrl, each.started]),
      [
        ['http://w.test/ok', 3],
        [FAILING, 2],
      ],
    );
    assert.ok(body.totals.p50Ms !== null && body.totals.p95Ms !== null && body.totals.p50Ms <= body.totals.p95Ms);
    const [item] = body.attention;
    assert.deepEqual([item?.kind, item?.count], ['dead-letter-group', 2]);
  }
});

test('the insights of a workflow contain its steps and its recent failures', async () => {
  const { body } = await workflow({ workflowUrl: FAILING, window: '1h' });
  assert.deepEqual([body.totals.started, body.totals.failed], [2, 2]);
  assert.equal(body.recentFailures.length, 2);
  assert.ok(body.steps.some(({ failedAttempts }) => failedAttempts > 0));
  assert.deepEqual(body.versions, []);
  const unknown = await workflow({ workflowUrl: 'http://w.test/none' });
  assert.deepEqual([unknown.body.totals.started, unknown.body.totals.p50Ms], [0, null]);
});

test('an unknown window is rejected', async () => {
  assert.equal((await harness.call('GET', '/v2/insights?window=1y')).status, 400);
});
