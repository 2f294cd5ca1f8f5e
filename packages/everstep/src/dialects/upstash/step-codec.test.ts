/** Checks the format of deliveries to the published SDK and the meaning of its responses. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { StepRequest } from '@everstep/sdk/protocol';
import { LIMITS } from '../../config/limits.js';
import type { RecordedStep, StepTask } from '../../engine/runs/run.js';
import type { StepCall, StepOutcome } from '../../ports/step-caller.js';
import { type WireEntry, wireJournal } from './journal.js';
import { upstashStepCodec } from './step-codec.js';

const NOW = 1_800_000_000_000;
const REQUEST: StepRequest = {
  protocol: 1,
  run: { key: 'K', id: 'wfr_1', createdAt: NOW - 5, workflowUrl: 'http://app/w', labels: ['a', 'b'] },
  messageId: 'msg_now',
  retried: 2,
  maxRetries: 3,
  target: null,
  known: 1,
  journal: { from: 0, length: 0, entries: [] },
};
const payload = { body: Buffer.from('grüße'), contentType: 'text/plain', forwardHeaders: {} };

const callOf = (changes: Partial<StepCall> = {}): StepCall => ({
  instanceId: 'qi_1',
  dialect: 'upstash',
  workflowUrl: 'http://app/w',
  request: REQUEST,
  recordedSteps: [],
  openSteps: [],
  payload,
  hasIntroducedItself: true,
  forwardHeaders: {},
  timeoutMs: 1000,
  hidesData: false,
  ...changes,
});

const step = (stepId: number, more: Partial<RecordedStep> = {}): RecordedStep => ({
  index: stepId - 1,
  stepId,
  name: `s${stepId}`,
  type: 'Run',
  out: `${stepId}`,
  messageId: `msg_${stepId}`,
  group: stepId,
  concurrent: 1,
  createdAt: NOW,
  completedAt: NOW,
  sleepMs: null,
  wakeAt: null,
  ...more,
});
const planned = (slot: number, group: number, concurrent: number): StepTask => ({
  kind: 'step',
  slot,
  name: `s${slot}`,
  group,
  concurrent,
  messageId: `msg_${slot}`,
  createdAt: NOW,
  dueAt: NOW,
  retried: 0,
});

/** Formats entries as `id: stepId`, or `id: plan stepId` for the plan of a step. */
function shown(entries: readonly WireEntry[]): readonly string[] {
  const [first, ...rest] = entries;
  const steps = rest.map(({ messageId, body }) => {
    const { stepId, targetStep } = JSON.parse(Buffer.from(body, 'base64').toString());
    return `${messageId}: ${stepId === 0 ? `plan ${targetStep}` : stepId}`;
  });
  return [`${first?.messageId}: ${Buffer.from(first?.body ?? '', 'base64').toString()}`, ...steps];
}

const bodyOf = (call: StepCall): readonly WireEntry[] => JSON.parse(Buffer.from(upstashStepCodec.body(call)).toString());
function headersOf(call: StepCall): Record<string, string> {
  const signatures = { Signature: 's.i.g', 'Signature-Ed25519': 'e.d.2' };
  const pairs = upstashStepCodec.headers(call, { url: 'http://app/w', userAgent: 'Everstep/1', signatures, region: 'eu' });
  return Object.fromEntries(pairs.flatMap((name, at) => (at % 2 === 0 ? [[name.toLowerCase(), pairs[at + 1] ?? '']] : [])));
}

test('the first delivery contains only the payload of the run', () => {
  assert.deepEqual(shown(bodyOf(callOf())), ['msg_K: grüße']);
  const headers = headersOf(callOf({ forwardHeaders: { 'x-user': 'ada', 'upstash-workflow-invoke-count': '1' } }));
  const { 'user-agent': _agent, 'accept-encoding': _encoding, ...rest } = headers;
  assert.deepEqual(rest, {
    'x-user': 'ada',
    'upstash-workflow-invoke-count': '1',
    'content-type': 'application/json',
    'upstash-workflow-sdk-version': '1',
    'upstash-workflow-runid': 'wfr_1',
    'upstash-workflow-createdat': String(NOW - 5),
    'upstash-workflow-url': 'http://app/w',
    'upstash-message-id': 'msg_K',
    'upstash-retried': '2',
    'upstash-signature': 's.i.g',
    'upstash-signature-ed25519': 'e.d.2',
    'upstash-label': 'a,b',
    'upstash-region': 'eu',
  });
});

test('user headers never replace headers of the server', () => {
  const forged = {
    'upstash-signature': 'forged',
    'upstash-workflow-runid': 'other',
    'upstash-label': 'x',
    'upstash-workflow-unknown-sdk': 'true',
    host: 'other',
    'content-length': '7',
    'x-line': 'a\nb',
  };
  assert.deepEqual(headersOf(callOf({ forwardHeaders: forged })), headersOf(callOf()));
});

test('a request asks an unknown endpoint to introduce itself, and sends no version', () => {
  const headers = headersOf(callOf({ hasIntroducedItself: false }));
  assert.equal(headers['upstash-workflow-unknown-sdk'], 'true');
  assert.equal(headers['upstash-workflow-sdk-version'], undefined);
});

test('the delivery has the id of the last entry, at which the SDK cuts a fetched journal', () => {
  const recordedSteps = [step(1), step(3, { group: 2, concurrent: 2 }), step(2, { group: 2, concurrent: 2 }), step(4)];
  const call = callOf({ recordedSteps });
  assert.deepEqual(shown(bodyOf(call)), [
    'msg_K: grüße',
    'msg_1: 1',
    'msg_3_plan: plan 3',
    'msg_2_plan: plan 2',
    'msg_3: 3',
    'msg_2: 2',
    'msg_4: 4',
  ]);
  assert.equal(headersOf(call)['upstash-message-id'], 'msg_4');
});

test('the delivery of a step in an openSteps parallel group ends with the plan of that step', () => {
  const recordedSteps = [step(1), step(3, { group: 2, concurrent: 3 })];
  const openSteps = [planned(2, 2, 3), planned(4, 2, 3)];
  const call = callOf({ recordedSteps, openSteps, request: { ...REQUEST, target: 4, messageId: 'msg_4' } });
  assert.deepEqual(shown(bodyOf(call)), ['msg_K: grüße', 'msg_1: 1', 'msg_3_plan: plan 3', 'msg_3: 3', 'msg_4: plan 4']);
  assert.equal(headersOf(call)['upstash-message-id'], 'msg_4');
  // The fetched journal contains all openSteps steps, ordered by position.
  const source = { runKey: 'K', instanceId: 'qi_1', workflowRunId: 'wfr_1', payload, recordedSteps, openSteps };
  assert.deepEqual(shown(wireJournal(source)).slice(-2), ['msg_2: plan 2', 'msg_4: plan 4']);
});

test('entry ids are unique', () => {
  const recordedSteps = [step(1), step(3, { group: 2, concurrent: 2 }), step(2, { group: 2, concurrent: 2 })];
  const ids = bodyOf(callOf({ recordedSteps })).map(({ messageId }) => messageId);
  assert.equal(new Set(ids).size, ids.length);
});

test('a long journal is omitted from the delivery', () => {
  const long = 'x'.repeat(LIMITS.maxDeliveredJournalBytes);
  assert.equal(upstashStepCodec.body(callOf({ recordedSteps: [step(1, { out: JSON.stringify(long) })] })).byteLength, 0);
  assert.equal(upstashStepCodec.body(callOf({ payload: { ...payload, body: Buffer.from(long) } })).byteLength, 0);
  const many = Array.from({ length: 2_000 }, (_, at) => step(at + 1));
  assert.equal(upstashStepCodec.body(callOf({ recordedSteps: many })).byteLength, 0);
});

function outcomeOf(type: RecordedStep['type'], out: unknown): Record<string, unknown> {
  const recordedSteps = [step(1, { type, out: out === undefined ? null : JSON.stringify(out) })];
  const [, entry] = bodyOf(callOf({ recordedSteps }));
  return JSON.parse(Buffer.from(entry?.body ?? '', 'base64').toString());
}

test('results of steps that the server executes are in the format of the SDK', () => {
  const headers = { 'content-type': ['application/json'], 'x-a': ['1', '2'] };
  const called = outcomeOf('Call', { status: 200, headers, body: { encoding: 'utf8', data: '"ä€"' }, attempts: 1 });
  const call = JSON.parse(String(called.out));
  assert.equal(Buffer.from(call.body, 'latin1').toString(), '"ä€"');
  assert.deepEqual(call.header, { 'Content-Type': ['application/json'], 'X-A': ['1', '2'] });
  const nobody = outcomeOf('Call', {
    status: 0,
    headers: {},
    body: { encoding: 'utf8', data: '' },
    attempts: 1,
    error: 'nobody – there',
  });
  assert.equal(Buffer.from(JSON.parse(String(nobody.out)).body, 'latin1').toString(), 'nobody – there');

  const content = { kind: 'data', body: { encoding: 'utf8', data: 'jä' } };
  const notified = outcomeOf('Wait', { timeout: false, eventId: 'e', content });
  assert.equal(Buffer.from(String(notified.out), 'base64').toString(), 'jä');
  assert.equal(notified.waitTimeout, false);
  const late = outcomeOf('Wait', { timeout: true });
  assert.deepEqual([late.out, late.waitTimeout], [undefined, true]);

  const ref = { workflowRunId: 'wfr_2', workflowCreatedAt: NOW };
  const invoked = (outcome: object) => JSON.parse(String(outcomeOf('Invoke', { ...ref, ...outcome }).out));
  const done = { workflowRunId: 'wfr_2', body: '{"a":1}', isFailed: false, isCanceled: false };
  assert.deepEqual(invoked({ state: 'succeeded', result: '{"a":1}' }), done);
  assert.deepEqual(invoked({ state: 'failed', error: 'no' }), { ...done, body: 'no', isFailed: true });
  const canceled = { workflowRunId: 'wfr_2', isFailed: false, isCanceled: true };
  assert.deepEqual(invoked({ state: 'canceled' }), canceled);
});

test('results of steps that the SDK executes are returned as submitted', () => {
  for (const type of ['Run', 'Notify', 'CreateWebhook'] as const) {
    assert.equal(outcomeOf(type, { status: 1, body: { encoding: 'x' } }).out, '{"status":1,"body":{"encoding":"x"}}');
    assert.equal('out' in outcomeOf(type, undefined), false);
  }
  assert.equal('out' in outcomeOf('SleepFor', undefined), false);
});

const SDK_HEADERS = { 'upstash-workflow-sdk-version': '1' };
const read = (status: number, headers: Record<string, string>, body = '', changes: Partial<StepCall> = {}): StepOutcome =>
  upstashStepCodec.read({ status, headers, body: Buffer.from(body) }, callOf(changes), NOW);

function failureOf(outcome: StepOutcome) {
  assert.ok(outcome.kind === 'failure');
  return outcome.failure;
}

test('a successful response reports no outcome', () => {
  assert.equal(read(200, SDK_HEADERS, '{"finishCondition":"success"}').kind, 'silent');
});

test('each failed response has a cause, a retry decision and advice', () => {
  const error = JSON.stringify({ error: 'TypeError', message: 'no luck', stack: 'at x' });
  const rows: readonly (readonly [StepOutcome, cause: string, retry: string, message: RegExp])[] = [
    [read(500, SDK_HEADERS, error), 'workflow', 'backoff', /^TypeError: no luck$/],
    [
      read(500, { ...SDK_HEADERS, 'upstash-error-step-name': 'pay' }, error),
      'step',
      'backoff',
      /^step "pay": TypeError: no luck$/,
    ],
    [read(489, { ...SDK_HEADERS, 'upstash-nonretryable-error': 'true' }, error), 'workflow', 'never', /no luck/],
    [read(429, { ...SDK_HEADERS, 'retry-after': '7' }, error), 'workflow', 'after', /no luck/],
    [
      read(400, SDK_HEADERS, '{"message":"Failed to authenticate Workflow request."}'),
      'workflow',
      'backoff',
      /Failed to authenticate/,
    ],
    [read(500, SDK_HEADERS, 'page'), 'workflow', 'backoff', /returned 500 .*begins with "page"/],
    [read(200, {}, '<p>hello</p>'), 'not-protocol', 'never', /not a workflow endpoint.*too old.*@upstash\/workflow 1\.x/],
    [read(500, { 'upstash-workflow-sdk-version': '2' }), 'refused', 'never', /version "2".*version 1: upgrade Everstep/],
    [
      read(200, { 'upstash-workflow-sdk-version': '0' }),
      'refused',
      'never',
      /version "0".*version 1: upgrade @upstash\/workflow/,
    ],
    [
      read(400, { 'svc-workflow-protocol': '1' }, '{}'),
      'refused',
      'never',
      /served with @everstep\/sdk, but the run was started with @upstash\/workflow: start it with .*EVERSTEP_TOKEN/,
    ],
    [read(404, {}, 'nothing here'), 'http', 'backoff', /check the workflow URL/],
    [read(503, { 'retry-after': '3' }), 'http', 'after', /not available/],
    [read(302, { location: 'http://x/' }), 'http', 'backoff', /redirects are not followed/],
  ];
  for (const [result, cause, retry, message] of rows) {
    const failure = failureOf(result);
    assert.deepEqual([failure.cause, failure.retry.kind], [cause, retry], failure.message);
    assert.match(failure.message, message);
  }
  const after = failureOf(read(429, { ...SDK_HEADERS, 'retry-after': '7' }, error)).retry;
  assert.deepEqual(after, { kind: 'after', delayMs: 7_000 });
});

test('errors of a run with redaction do not quote the response', () => {
  const secret = JSON.stringify({ error: 'Error', message: 'secret' });
  for (const outcome of [read(500, SDK_HEADERS, secret, { hidesData: true }), read(200, {}, 'secret', { hidesData: true })]) {
    assert.doesNotMatch(failureOf(outcome).message, /secret/);
  }
});
