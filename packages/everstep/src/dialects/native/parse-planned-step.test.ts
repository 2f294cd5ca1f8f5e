import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PlannedStep, StepRequest } from '@everstep/sdk/protocol';
import { LIMITS } from '../../config/limits.js';
import { parseReply } from './parse-reply.js';

const NOW = 1_800_000_000_000;
const REQUEST: StepRequest = {
  protocol: 1,
  run: { key: 'K', id: 'wfr_1', createdAt: NOW, workflowUrl: 'http://app/flow', labels: [] },
  messageId: 'msg_1',
  retried: 0,
  maxRetries: 3,
  target: null,
  known: 1,
  journal: { from: 0, length: 0, entries: [] },
};
const HEAD = { stepId: 1, name: 's' };
const body = { encoding: 'utf8', data: 'x' };

function parse(step: object) {
  const frame = { protocol: 1, kind: 'progress', base: 0, done: [], advanced: true, planned: [{ ...HEAD, ...step }] };
  return parseReply(JSON.stringify(frame), REQUEST, NOW);
}

function planned(step: object): PlannedStep | undefined {
  const parsed = parse(step);
  assert.ok(parsed.ok, parsed.ok ? '' : parsed.problem);
  return parsed.reply.kind === 'progress' ? parsed.reply.planned[0] : undefined;
}

const call = (more: object) => ({ type: 'Call', call: { url: 'https://a.test/', method: 'GET', headers: {}, ...more } });
const invoke = (more: object) => ({ type: 'Invoke', invoke: { workflowUrl: 'https://a.test/', headers: {}, ...more } });
const wait = (more: object) => ({ type: 'Wait', eventIds: ['e'], timeoutMs: 5, ...more });

test('rejects an event, run or key id that a URL cannot contain', () => {
  for (const step of [
    wait({ eventIds: ['a', '..'] }),
    invoke({ workflowRunId: '.' }),
    call({ flowControl: { key: '..' } }),
    { type: 'Notify', eventId: '.', content: { kind: 'data', body } },
  ]) {
    const parsed = parse(step);
    assert.match(parsed.ok ? '' : parsed.problem, /must not be "\." or "\.\.", because URL paths cannot contain them/);
  }
});

test('reads each step type with exactly the fields that it needs', () => {
  assert.deepEqual(planned({ ...wait({ eventIds: ['a', 'b', 'a'] }), more: 1 }), {
    ...HEAD,
    type: 'Wait',
    eventIds: ['a', 'b'],
    timeoutMs: 5,
  });
  assert.deepEqual(planned({ type: 'CreateWebhook', eventId: 'mine' }), { ...HEAD, type: 'CreateWebhook' });
  const content = { kind: 'data', body, contentType: 'text/plain' };
  assert.deepEqual(planned({ type: 'Notify', eventId: 'a/b c', workflowRunId: 'r', content }), {
    ...HEAD,
    type: 'Notify',
    eventId: 'a/b c',
    workflowRunId: 'r',
    content,
  });
  const settings = { retries: 2, retryDelay: '1000', timeoutMs: 10, flowControl: { key: 'k', rate: 3, periodMs: 60_000 } };
  assert.deepEqual(planned(call({ method: 'POST', body, headers: { 'X-A': 'b' }, ...settings })), {
    ...HEAD,
    ...call({ method: 'POST', body, headers: { 'X-A': 'b' }, ...settings }),
  });
  assert.deepEqual(planned(invoke({ headers: { 'X-A': 'b' }, labels: ['l'], workflowRunId: 'r', ...settings })), {
    ...HEAD,
    ...invoke({ headers: { 'x-a': 'b' }, labels: ['l'], workflowRunId: 'r', ...settings }),
  });
});

test('a rate without a period applies per second', () => {
  const step = planned(call({ flowControl: { key: 'k', rate: 3 } }));
  assert.deepEqual(step?.type === 'Call' && step.call.flowControl, { key: 'k', rate: 3, periodMs: 1_000 });
});

const TOO_LONG = 'x'.repeat(3000);
for (const [what, step, problem] of [
  ['a wait without events', wait({ eventIds: [] }), /eventIds must list 1 to 100 events/],
  ['a wait for too many events', wait({ eventIds: Array.from({ length: 101 }, String) }), /maxEventsPerWait/],
  ['an empty event id', wait({ eventIds: [''] }), /eventIds\[0\] must have 1 to 512 characters/],
  ['an event id that is too long', wait({ eventIds: [TOO_LONG] }), /eventIds\[0\] must have 1 to 512/],
  ['an event id with U\\+0000', wait({ eventIds: ['a\u0000'] }), /U\+0000/],
  ['a wait timeout over the limit', wait({ timeoutMs: LIMITS.maxWaitMs + 1 }), /timeoutMs must be a number of ms/],
  ['a negative wait timeout', wait({ timeoutMs: -1 }), /timeoutMs must be a number of ms from 0/],
  ['a call with an unknown method', call({ method: 'BREW' }), /call\.method must be one of GET, /],
  ['a call with an unsupported scheme', call({ url: 'ftp://a.test/' }), /call\.url must be an http or https URL/],
  ['a call with a header that is not a string', call({ headers: { a: 1 } }), /call\.headers\.a must be a string/],
  [
    'a call with too many headers',
    call({ headers: Object.fromEntries(Array.from({ length: 201 }, (_, i) => [`h${i}`, ''])) }),
    /maxHeaderCount/,
  ],
  ['a call with too many retries', call({ retries: 1e9 }), /call\.retries must be an integer from 0/],
  ['a body in an unknown encoding', call({ body: { encoding: 'hex', data: '' } }), /body\.encoding must be/],
  ['a negative rate', call({ flowControl: { key: 'k', rate: -1 } }), /flowControl\.rate must be an integer from 1/],
  [
    'a period over seven days',
    call({ flowControl: { key: 'k', rate: 1, periodMs: LIMITS.maxPeriodMs + 1 } }),
    /periodMs must be an integer/,
  ],
  ['a period without a rate', call({ flowControl: { key: 'k', periodMs: 1000 } }), /periodMs requires/],
  ['a limit without a key', call({ flowControl: { parallelism: 1 } }), /flowControl\.key must be a string/],
  ['an invocation without a URL', invoke({ workflowUrl: 'flow' }), /workflowUrl must be an http or https URL/],
  [
    'an invocation with a URL that is too long',
    invoke({ workflowUrl: `https://a.test/${TOO_LONG}` }),
    /workflowUrl must have 1 to 2048 characters/,
  ],
  ['an invocation with too many labels', invoke({ labels: Array.from({ length: 21 }, String) }), /maxLabels/],
  ['a notification without an event id', { type: 'Notify', content: { kind: 'data', body } }, /eventId must be a string/],
  [
    'a notification with too much data',
    {
      type: 'Notify',
      eventId: 'e',
      content: { kind: 'data', body: { encoding: 'utf8', data: 'x'.repeat(LIMITS.maxEventBytes + 1) } },
    },
    /over the limit of 1048576/,
  ],
] as const) {
  test(`rejects ${what} with an error that names the field`, () => {
    const parsed = parse(step);
    assert.equal(parsed.ok, false);
    assert.match(parsed.ok ? '' : parsed.problem, problem);
  });
}
