/** Every setting of a run passes to the runs that continue it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { at, command, startedRun } from '../engine.fixture.js';
import { createSchedule, fireSchedule } from '../schedules/schedule.js';
import { forkRun } from './fork.js';
import type { Overrides, RunSettings } from './settings.js';
import { recoverRun } from './start.js';

/** Each setting has a value that is not its default. */
const OF_WORKFLOW: Required<Omit<RunSettings, 'message'>> = {
  maxRetries: 7,
  retryDelay: '1000',
  deliveryTimeoutMs: 12_345,
  labels: ['a', 'b'],
  flowControl: { key: 'k', parallelism: 2, rate: 3, periodMs: 4_000 },
  failureCallback: { url: 'https://app.test/failed', headers: { 'x-a': 'b' }, method: 'PUT', maxRetries: 1 },
  redact: { body: true, headers: ['authorization'], fields: ['iban'] },
  steps: { joined: true, introduced: true },
  trace: { traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01', tracestate: 'a=1' },
};
const OF_MESSAGE: Required<RunSettings> = { ...OF_WORKFLOW, message: { method: 'PUT', queue: 'mails', callbackOf: 'msg_1' } };

function recovered(settings: RunSettings, kind: 'resume' | 'restart', overrides: Overrides = {}): RunSettings | null {
  const failed = { ...startedRun(settings), status: 'failed' } as const;
  const outcome = recoverRun(failed, { kind, dlqId: 'dlq_1', overrides, workflowRunId: null }, at(1));
  return typeof outcome === 'string' ? null : outcome.run.settings;
}

function forked(settings: RunSettings): RunSettings | null {
  const { payload } = command();
  const request = { fromStep: 1, input: null, results: [], workflowRunId: null, note: null };
  const outcome = forkRun(startedRun(settings), [], payload, request, at(1));
  return outcome.kind === 'forked' ? outcome.run.settings : null;
}

function scheduled(settings: RunSettings): RunSettings | undefined {
  const { instanceId, dialect, workflowUrl, callerIp, payload } = command();
  const asked = { instanceId, dialect, workflowUrl, callerIp, payload, settings, delayMs: 0, cron: '* * * * *', timeZone: 'UTC' };
  const { schedule } = createSchedule({ ...asked, scheduleId: 'sch_1' }, null, at(0));
  const fired = fireSchedule(schedule, { ...at(0), now: schedule.nextAt ?? 0 });
  return fired?.startedRuns[0]?.run.settings;
}

test('a resume, a restart, a fork and a schedule keep every setting', () => {
  assert.deepEqual(recovered(OF_WORKFLOW, 'resume'), OF_WORKFLOW);
  assert.deepEqual(recovered(OF_WORKFLOW, 'restart'), OF_WORKFLOW);
  assert.deepEqual(forked(OF_WORKFLOW), OF_WORKFLOW);
  assert.deepEqual(scheduled(OF_WORKFLOW), OF_WORKFLOW);
  assert.deepEqual(recovered(OF_MESSAGE, 'restart'), OF_MESSAGE);
  assert.deepEqual(scheduled(OF_MESSAGE), { ...OF_MESSAGE, message: { ...OF_MESSAGE.message, scheduleId: 'sch_1' } });
});

test('overrides replace only the settings that they specify', () => {
  const overrides = {
    maxRetries: 0,
    retryDelay: '2000',
    labels: [],
    failureCallback: { url: 'https://app.test/other', headers: {} },
    flowControlLimits: { rate: 1, periodMs: 1_000 },
  };
  const { flowControlLimits, ...replaced } = overrides;
  const expected = { ...OF_WORKFLOW, ...replaced, flowControl: { key: 'k', ...flowControlLimits } };
  assert.deepEqual(recovered(OF_WORKFLOW, 'resume', overrides), expected);
  assert.deepEqual(recovered(OF_WORKFLOW, 'restart', { flowControlKey: 'other' }), {
    ...OF_WORKFLOW,
    flowControl: { ...OF_WORKFLOW.flowControl, key: 'other' },
  });
  assert.equal(recovered({ ...OF_WORKFLOW, flowControl: null }, 'resume', { flowControlLimits: { rate: 1 } }), null);
});
