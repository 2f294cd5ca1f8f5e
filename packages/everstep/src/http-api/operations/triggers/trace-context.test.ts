/** Tests that the trace context of a request is stored with the runs that the request creates. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { TriggeredRun } from '../../../contract/runs.js';
import { ApiHarness } from '../../testing/api-harness.js';

const PARENT = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
const OTHER = '00-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa-00f067aa0ba902b7-00';

let harness: ApiHarness;
before(async () => {
  harness = await ApiHarness.open();
});
after(() => harness.close());

const traceOf = async (workflowRunId: string) =>
  (await harness.store.findRun({ instanceId: 'qi_1', workflowRunId }))?.settings.trace;

test('a trigger stores its trace context with the run and ignores an invalid one', async () => {
  const trigger = async (headers: Record<string, string>) => {
    const { status, body } = await harness.call<TriggeredRun>('POST', '/v2/trigger/http://w.test/ok', { headers });
    assert.equal(status, 200);
    return traceOf(body.workflowRunId);
  };
  const tracestate = 'congo=t61rcWkgMzE';
  assert.deepEqual(await trigger({ traceparent: PARENT, tracestate }), { traceparent: PARENT, tracestate });
  assert.deepEqual(await trigger({ traceparent: PARENT, tracestate: 'not valid' }), { traceparent: PARENT });
  assert.equal(await trigger({ traceparent: 'not valid', tracestate }), undefined);
  assert.equal(await trigger({}), undefined);
});

test('an item of a batch has its own trace context, or that of the request', async () => {
  const items = [{}, { Traceparent: OTHER }].map((headers) => ({ destination: 'http://w.test/ok', headers }));
  const { body } = await harness.call<TriggeredRun[]>('POST', '/v2/batch/trigger', {
    headers: { traceparent: PARENT, 'content-type': 'application/json' },
    body: JSON.stringify(items),
  });
  const traces = await Promise.all(body.map(({ workflowRunId }) => traceOf(workflowRunId)));
  assert.deepEqual(traces, [{ traceparent: PARENT }, { traceparent: OTHER }]);
});

test('runs of a schedule only link to the trace of the request that created it', async () => {
  const { body } = await harness.call<{ scheduleId: string }>('POST', '/v2/schedules/http://w.test/ok', {
    headers: { traceparent: PARENT, 'svc-cron': '* * * * *' },
  });
  const schedule = await harness.store.findSchedule({ instanceId: 'qi_1', scheduleId: body.scheduleId });
  assert.deepEqual(schedule?.settings.trace, { traceparent: PARENT, isLinked: true });
});
