/** Tests submissions of endpoints with the published SDK, and the errors for invalid ones. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LIMITS } from '../../../config/limits.js';
import { ApiError } from '../../../contract/error-codes.js';
import { type BatchItem, kindOf } from '../messages/batch-items.js';
import { readWait } from './planned-reader.js';
import { withStepRefusals } from './step-refusals.js';
import { readSubmissions } from './submissions.js';

const NOW = 1_800_000_000_000;
const SDK_HEADERS = { 'upstash-workflow-sdk-version': '1' };
const OF_RUN = { ...SDK_HEADERS, 'upstash-workflow-init': 'false', 'upstash-workflow-runid': 'wfr_1' };
const CALL = {
  ...SDK_HEADERS,
  'upstash-workflow-init': 'false',
  'upstash-workflow-calltype': 'toCallback',
  'upstash-callback-workflow-runid': 'wfr_1',
  'upstash-callback-forward-upstash-workflow-stepid': '2',
  'upstash-callback-forward-upstash-workflow-stepname': 'call',
};
const INVOKE = { ...SDK_HEADERS, 'upstash-workflow-init': 'true', 'upstash-workflow-invoke': 'true' };

const item = (body: unknown, headers: BatchItem['headers'] = OF_RUN, destination = 'http://app/w'): BatchItem => ({
  destination,
  headers,
  body: Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)),
  queue: null,
});
const step = (more: object = {}) => ({ stepId: 1, stepName: 'a', stepType: 'Run', concurrent: 1, ...more });
const submitted = (...items: readonly BatchItem[]) => readSubmissions(items, NOW).get('wfr_1')?.submission;

test('the kind of an item is determined by its headers', () => {
  const kinds = [OF_RUN, CALL, INVOKE, { 'upstash-workflow-init': 'true' }, {}, { 'upstash-workflow-init': 'false' }];
  assert.deepEqual(
    kinds.map((headers) => kindOf({ headers })),
    ['submission', 'call', 'invoke', 'trigger', 'message', 'message'],
  );
});

test('an executed step has its result, and a planned step its position', () => {
  assert.deepEqual(submitted(item(step({ out: '"x"' }))), {
    done: [{ stepId: 1, name: 'a', type: 'Run', out: '"x"' }],
    planned: [],
  });
  const plan = (targetStep: number, more: object) => item(step({ stepId: 0, targetStep, concurrent: 3, ...more }));
  assert.deepEqual(submitted(plan(4, { stepType: 'SleepFor', sleepFor: 1.5 }), plan(2, {}), plan(3, { stepType: 'Call' })), {
    done: [],
    planned: [
      { stepId: 2, name: 'a', type: 'Run' },
      { stepId: 3, name: 'a', type: 'Run', asks: 'Call' },
      { stepId: 4, name: 'a', type: 'SleepFor', sleepMs: 1500 },
    ],
  });
});

test('durations are seconds or text such as 1d2h, and times are Unix seconds', () => {
  const slept = (more: object) => submitted(item(step(more)))?.planned[0];
  const head = { stepId: 1, name: 'a' };
  for (const [sleepFor, sleepMs] of [
    [0, 0],
    [0.0001, 1],
    ['10s', 10_000],
    ['1d2h', 93_600_000],
    ['1.5m', 90_000],
    ['7', 7_000],
  ]) {
    assert.deepEqual(slept({ stepType: 'SleepFor', sleepFor }), { ...head, type: 'SleepFor', sleepMs });
  }
  assert.deepEqual(slept({ stepType: 'SleepUntil', sleepUntil: 1.0005 }), { ...head, type: 'SleepUntil', wakeAt: 1001 });
  assert.deepEqual(slept({ stepType: 'SleepUntil', sleepUntil: -5 }), { ...head, type: 'SleepUntil', wakeAt: 0 });
});

test('a call step is the item itself', () => {
  const headers = {
    ...CALL,
    'upstash-method': 'PUT',
    'upstash-forward-x-key': 'k',
    'upstash-retries': '2',
    'upstash-retry-delay': '100',
    'upstash-timeout': '30',
    'upstash-flow-control-key': 'f',
    'upstash-flow-control-value': 'parallelism=2',
    'content-type': 'text/plain',
  };
  assert.deepEqual(submitted(item('grüße', headers, 'http://third/x?y=1'))?.planned, [
    {
      stepId: 2,
      name: 'call',
      type: 'Call',
      call: {
        url: 'http://third/x?y=1',
        method: 'PUT',
        headers: { 'x-key': 'k', 'content-type': 'text/plain' },
        body: { encoding: 'utf8', data: 'grüße' },
        retries: 2,
        retryDelay: '100',
        timeoutMs: 30_000,
        flowControl: { key: 'f', parallelism: 2 },
      },
    },
  ]);
  const [bare] = submitted(item('', { ...CALL, 'upstash-method': 'GET', 'content-type': 'application/json' }))?.planned ?? [];
  assert.ok(bare?.type === 'Call');
  assert.deepEqual([bare.call.headers, bare.call.body], [{}, undefined]);
});

test('step names and run ids keep non-Latin text, however the header was encoded', () => {
  const asReceived = (text: string) => Buffer.from(text).toString('latin1');
  const named = (name: string, runId: string) => {
    const headers = {
      ...CALL,
      'upstash-callback-workflow-runid': runId,
      'upstash-callback-forward-upstash-workflow-stepname': name,
    };
    const [[workflowRunId, { submission }] = assert.fail()] = readSubmissions([item('', headers, 'http://third/')], NOW);
    const [call] = submission.planned;
    return [workflowRunId, call?.name];
  };
  assert.deepEqual(named(asReceived('Größe 日本'), asReceived('wfr_ü')), ['wfr_ü', 'Größe 日本']);
  // Sent as Latin-1, which is how fetch encodes it.
  assert.deepEqual(named('Größe', 'wfr_ü'), ['wfr_ü', 'Größe']);
  assert.deepEqual(
    [...readSubmissions([item(step(), { ...OF_RUN, 'upstash-workflow-runid': asReceived('wfr_ü') })], NOW).keys()],
    ['wfr_ü'],
  );
});

test('an invoke step states the creation time of its run', () => {
  const createdAtOf = (more: object) => {
    const body = { step: step({ stepType: 'Invoke' }), workflowRunId: 'wfr_1', ...more };
    return readSubmissions([item(body, INVOKE)], NOW).get('wfr_1')?.createdAt;
  };
  assert.equal(createdAtOf({ workflowRunCreatedAt: NOW }), NOW);
  // The SDK sends null if its delivery had no such header.
  assert.deepEqual([createdAtOf({ workflowRunCreatedAt: null }), createdAtOf({})], [undefined, undefined]);
});

const MISTAKES: readonly (readonly [what: string, read: () => unknown, message: RegExp])[] = [
  ['invalid JSON', () => submitted(item('{')), /the body must be a step in JSON format/],
  ['a body that is not an object', () => submitted(item([])), /the body must be an object/],
  ['an invalid position', () => submitted(item(step({ stepId: -1 }))), /stepId must be an integer/],
  ['a plan without a step', () => submitted(item(step({ stepId: 0 }))), /targetStep must be an integer/],
  ['an empty name', () => submitted(item(step({ stepName: '' }))), /stepName must have 1 to/],
  ['an unknown type', () => submitted(item(step({ stepType: 'Dance' }))), /stepType must be one of Run/],
  ['a type that cannot be submitted', () => submitted(item(step({ stepType: 'Wait' }))), /cannot be submitted this way/],
  ['a result that is not JSON', () => submitted(item(step({ out: '{' }))), /out must be JSON text/],
  ['a sleep without a duration', () => submitted(item(step({ stepType: 'SleepFor' }))), /sleepFor must be a number of seconds/],
  [
    'a sleep with an invalid duration',
    () => submitted(item(step({ stepType: 'SleepFor', sleepFor: 'soon' }))),
    /sleepFor must be/,
  ],
  ['a sleep that is too long', () => submitted(item(step({ stepType: 'SleepFor', sleepFor: 1e12 }))), /at most 3660 days/],
  [
    'a time that is too far ahead',
    () => submitted(item(step({ stepType: 'SleepUntil', sleepUntil: 1e15 }))),
    /sleepUntil must be/,
  ],
  [
    'a submission without a version',
    () => submitted(item(step(), { 'upstash-workflow-init': 'false', 'upstash-workflow-runid': 'r' })),
    /too old.*version 1/,
  ],
  [
    'another version',
    () => submitted(item(step(), { ...OF_RUN, 'upstash-workflow-sdk-version': '2' })),
    /version "2".*version 1/,
  ],
  ['a call to an invalid URL', () => submitted(item('', CALL, 'mailto:x')), /must be an absolute http or https URL/],
  ['a call with an unknown method', () => submitted(item('', { ...CALL, 'upstash-method': 'BREW' })), /one of GET/],
  [
    'a call with an invalid retry delay expression',
    () => submitted(item('', { ...CALL, 'upstash-retry-delay': '1+' })),
    /Upstash-Retry-Delay is not a valid expression/,
  ],
  [
    'a call without a step',
    () => submitted(item('', { ...CALL, 'upstash-callback-forward-upstash-workflow-stepid': 'x' })),
    /stepId must be/,
  ],
  [
    'an invocation with a run id that endpoints could not use',
    () =>
      submitted(
        item({ step: step({ stepType: 'Invoke' }), workflowRunId: 'wfr_1' }, { ...INVOKE, 'upstash-workflow-runid': 'a/b' }),
      ),
    /id of the invoked run must not contain/,
  ],
  [
    'an invocation of a workflow that workers serve',
    () => {
      const body = { step: step({ stepType: 'Invoke' }), workflowRunId: 'wfr_1' };
      return submitted(item(body, INVOKE, 'worker://shop/order'));
    },
    /"?worker:\/\/shop\/order"? is served by workers, so @upstash\/workflow cannot invoke it/,
  ],
  [
    'an invocation without a run id',
    () => submitted(item({ step: step({ stepType: 'Invoke' }) }, INVOKE)),
    /run that the step belongs to is missing/,
  ],
  ['a wait without a step', () => readWait('e', Buffer.from('{}'), 'wfr_1'), /step must be an object/],
  [
    'a wait without a run id',
    () => readWait('e', Buffer.from(JSON.stringify({ step: step({ stepType: 'Wait' }) })), undefined),
    /run that the step belongs to is missing/,
  ],
  [
    'a wait with an invalid timeout',
    () => readWait('e', Buffer.from(JSON.stringify({ step: step({ stepType: 'Wait' }), timeout: '99999d' })), 'wfr_1'),
    /timeout must be/,
  ],
];
for (const [what, read, message] of MISTAKES) {
  test(`${what} is refused as not retryable`, () => {
    assert.throws(
      () => withStepRefusals(read),
      (error) => error instanceof ApiError && error.status === 412 && message.test(error.message),
    );
  });
}

test('a wait without a timeout uses the default timeout', () => {
  const body = Buffer.from(JSON.stringify({ step: step({ stepType: 'Wait' }) }));
  const { workflowRunId, step: read } = readWait('e', body, 'wfr_1');
  assert.equal(workflowRunId, 'wfr_1');
  assert.deepEqual(read, { stepId: 1, name: 'a', type: 'Wait', eventIds: ['e'], timeoutMs: LIMITS.defaultWaitMs });
});
