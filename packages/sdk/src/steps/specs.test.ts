import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { WorkflowContext } from '../context.js';
import { createEndpoint } from '../endpoint.js';
import { FakeServer } from '../executor/fake-server.fixture.js';
import type { EncodedBody, PlannedStep } from '../protocol.js';

type Code = (context: WorkflowContext<unknown>) => unknown;

const utf8 = (data: string): EncodedBody => ({ encoding: 'utf8', data });
const FF = { encoding: 'base64', data: '/w==' } as const;
const DAY_MS = 86_400_000;

/** Returns the step that the code requests from the server. */
async function plannedBy(code: Code): Promise<PlannedStep | undefined> {
  const server = new FakeServer('k');
  const [open] = server.tasks.values();
  assert.ok(open);
  const reply = await server.send(createEndpoint(code), server.request(open));
  assert.ok(reply.kind === 'progress', JSON.stringify(reply));
  return reply.planned[0];
}

describe('a step for the server is sent as requested', () => {
  const head = { stepId: 1, name: 'a' } as const;
  const cases: readonly (readonly [string, Code, PlannedStep])[] = [
    [
      'a wait with the default timeout of 7 days',
      (context) => context.waitForEvent('a', 'order/7'),
      { ...head, type: 'Wait', eventIds: ['order/7'], timeoutMs: 7 * DAY_MS },
    ],
    [
      'a wait of a few seconds',
      (context) => context.waitForEvent('a', 'x', { timeout: 1.5 }),
      { ...head, type: 'Wait', eventIds: ['x'], timeoutMs: 1_500 },
    ],
    [
      'a wait for several events, each listed once',
      (context) => context.waitForAny('a', ['x', 'y', 'x'], { timeout: '2d' }),
      { ...head, type: 'Wait', eventIds: ['x', 'y'], timeoutMs: 2 * DAY_MS },
    ],
    [
      'a notification without data',
      (context) => context.notify('a', 'x'),
      { ...head, type: 'Notify', eventId: 'x', content: { kind: 'data', body: utf8('') } },
    ],
    [
      'a notification of one run, with a value',
      (context) => context.notify('a', 'x', { n: 1 }, { workflowRunId: 'r' }),
      {
        ...head,
        type: 'Notify',
        eventId: 'x',
        content: { kind: 'data', body: utf8('{"n":1}'), contentType: 'application/json' },
        workflowRunId: 'r',
      },
    ],
    [
      'a notification with bytes',
      (context) => context.notify('a', 'x', new Uint8Array([255])),
      {
        ...head,
        type: 'Notify',
        eventId: 'x',
        content: { kind: 'data', body: FF, contentType: 'application/octet-stream' },
      },
    ],
    [
      'a call with only a URL',
      (context) => context.call('a', { url: 'https://api.test/' }),
      { ...head, type: 'Call', call: { url: 'https://api.test/', method: 'GET', headers: {} } },
    ],
    [
      'a call with all options',
      (context) =>
        context.call('a', {
          url: new URL('https://api.test/x?y=1'),
          method: 'PUT',
          headers: { 'X-One': '1' },
          body: { n: 1 },
          retries: 2,
          retryDelay: '1000 * retried',
          timeout: '2h',
          flowControl: { key: 'k', parallelism: 3, rate: 10, period: '1m' },
        }),
      {
        ...head,
        type: 'Call',
        call: {
          url: 'https://api.test/x?y=1',
          method: 'PUT',
          headers: { 'X-One': '1', 'Content-Type': 'application/json' },
          body: utf8('{"n":1}'),
          retries: 2,
          retryDelay: '1000 * retried',
          timeoutMs: 7_200_000,
          flowControl: { key: 'k', parallelism: 3, rate: 10, periodMs: 60_000 },
        },
      },
    ],
    [
      'a call with text and a content type',
      (context) => context.call('a', { url: 'http://a/', method: 'POST', headers: { 'content-type': 'text/csv' }, body: 'a,b' }),
      {
        ...head,
        type: 'Call',
        call: { url: 'http://a/', method: 'POST', headers: { 'content-type': 'text/csv' }, body: utf8('a,b') },
      },
    ],
    [
      'an invocation without a payload',
      (context) => context.invoke('a', { workflowUrl: 'http://app/b' }),
      { ...head, type: 'Invoke', invoke: { workflowUrl: 'http://app/b', headers: {} } },
    ],
    [
      'an invocation of a workflow that a worker serves',
      (context) => context.invoke('a', { workflow: 'worker://shop/order' }),
      { ...head, type: 'Invoke', invoke: { workflowUrl: 'worker://shop/order', headers: {} } },
    ],
    [
      'an invocation with all options',
      (context) =>
        context.invoke('a', {
          workflow: new URL('http://app/b'),
          payload: 'text',
          headers: { 'X-One': '1', 'Content-Type': 'text/markdown' },
          workflowRunId: 'r',
          retries: 0,
          timeout: 30,
          labels: ['x'],
          flowControl: { key: 'k', rate: 1 },
        }),
      {
        ...head,
        type: 'Invoke',
        invoke: {
          workflowUrl: 'http://app/b',
          headers: { 'x-one': '1' },
          body: utf8('text'),
          contentType: 'text/markdown',
          workflowRunId: 'r',
          labels: ['x'],
          retries: 0,
          timeoutMs: 30_000,
          flowControl: { key: 'k', rate: 1, periodMs: 1_000 },
        },
      },
    ],
    ['a webhook', (context) => context.createWebhook('a'), { ...head, type: 'CreateWebhook' }],
    [
      'a wait for a webhook',
      (context) => context.waitForWebhook('a', { eventId: 'whk_1' }, { timeout: '3d' }),
      { ...head, type: 'WaitForWebhook', eventIds: ['whk_1'], timeoutMs: 3 * DAY_MS },
    ],
  ];
  for (const [name, code, planned] of cases) {
    it(name, async () => assert.deepEqual(await plannedBy(code), planned));
  }
});

describe('an invalid argument fails the run immediately and names the step', () => {
  const url = 'http://api/';
  const workflow = 'http://app/b';
  const cyclic: { self?: unknown } = {};
  cyclic.self = cyclic;
  const cases: readonly (readonly [string, Code, RegExp])[] = [
    [
      'an invalid timeout',
      (context) => context.waitForEvent('a', 'x', { timeout: 'soon' }),
      /a duration must be a number of seconds/,
    ],
    ['an empty event id', (context) => context.waitForEvent('a', ''), /an event id must be a non-empty string, not ""/],
    [
      'an event id of 513 characters',
      (context) => context.notify('a', 'x'.repeat(513)),
      /at most 512 characters, but this one has 513/,
    ],
    ['an event id with U+0000', (context) => context.waitForEvent('a', 'x\u0000'), /must not contain U\+0000/],
    ['no events', (context) => context.waitForAny('a', []), /an array with at least one id/],
    [
      '101 events',
      (context) =>
        context.waitForAny(
          'a',
          Array.from({ length: 101 }, (_, i) => `e${i}`),
        ),
      /at most 100 events, not 101/,
    ],
    ['an empty run id', (context) => context.notify('a', 'x', 1, { workflowRunId: '' }), /a run id must be a non-empty string/],
    ['data with a cycle', (context) => context.notify('a', 'x', cyclic), /the data of the event cannot be sent as JSON/],
    [
      'a relative URL',
      (context) => context.call('a', { url: '/path' }),
      /the URL of a call must be an absolute http or https URL/,
    ],
    ['a URL with another scheme', (context) => context.call('a', { url: 'ftp://a/' }), /absolute http or https URL/],
    ['a GET with a body', (context) => context.call('a', { url, body: 1 }), /a GET request cannot have a body/],
    [
      'a body that JSON turns into an empty object',
      (context) => context.call('a', { url, method: 'POST', body: new Map() }),
      /the body of the call cannot be sent/,
    ],
    [
      'negative retries',
      (context) => context.call('a', { url, retries: -1 }),
      /retries must be a whole number of at least 0, not -1/,
    ],
    ['a timeout of 0', (context) => context.call('a', { url, timeout: 0 }), /the timeout must be greater than 0/],
    ['a period without a rate', (context) => context.call('a', { url, flowControl: { key: 'k', period: 1 } }), /requires a rate/],
    [
      'a parallelism of 0',
      (context) => context.call('a', { url, flowControl: { key: 'k', parallelism: 0 } }),
      /parallelism must be/,
    ],
    ['an invocation without a URL', (context) => context.invoke('a', { workflow: '' }), /the URL of a workflow must be/],
    [
      'an invocation of a worker without a workflow',
      (context) => context.invoke('a', { workflow: 'worker://shop' }),
      /must be worker:\/\/<app>\/<workflow>, not "worker:\/\/shop"/,
    ],
    ['an empty label', (context) => context.invoke('a', { workflow, labels: [''] }), /a label must be a non-empty string/],
  ];
  for (const [name, code, message] of cases) {
    it(name, async () => {
      const server = new FakeServer('k');
      await server.drive(createEndpoint(code));
      assert.equal(server.failure?.retry.kind, 'never');
      assert.match(server.failure?.error.message ?? '', /^step "a": /);
      assert.match(server.failure?.error.message ?? '', message);
    });
  }
});

it('an invalid header is reported by name, without its value', async () => {
  const headers = JSON.parse('{"Authorization":{"secret":"s3cret"}}');
  const server = new FakeServer('k');
  await server.drive(createEndpoint((context) => context.call('a', { url: 'http://api/', headers })));
  assert.equal(server.failure?.error.message, 'step "a": the header "Authorization" must be a string, not object');
});
