import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { WorkflowContext } from '../context.js';
import { createEndpoint } from '../endpoint.js';
import { FakeServer, type Outcome } from '../executor/fake-server.fixture.js';
import type { CallOutcome, EncodedBody, EventContent } from '../protocol.js';

type Code = (context: WorkflowContext<unknown>) => unknown;

const utf8 = (data: string): EncodedBody => ({ encoding: 'utf8', data });
const FF_BYTE = { encoding: 'base64', data: '/w==' } as const;

/** Returns the result of a workflow whose steps have these outcomes, in the order in which it requests them. */
async function resultOf(code: Code, ...outcomes: readonly Outcome[]): Promise<unknown> {
  const server = new FakeServer('k');
  server.outcomeOf = ({ stepId }) => outcomes[stepId - 1];
  await server.drive(createEndpoint(code));
  return server.result;
}

describe('a wait for an event', () => {
  const data = (body: EncodedBody, contentType?: string): EventContent =>
    contentType === undefined ? { kind: 'data', body } : { kind: 'data', body, contentType };
  const cases: readonly (readonly [string, EventContent, unknown])[] = [
    ['JSON', data(utf8('{"n":1}'), 'application/json; charset=utf-8'), { n: 1 }],
    ['JSON after a byte order mark', data(utf8('\uFEFF[1]'), 'application/json'), [1]],
    ['text', data(utf8('{"n":1}'), 'text/plain'), '{"n":1}'],
    ['text without a type', data(utf8('7')), '7'],
    ['undefined if there is no data', data(utf8(''), 'application/json'), 'undefined'],
    ['bytes', data(FF_BYTE), { bytes: [255] }],
    ['bytes that are valid text', data(utf8('A'), 'application/octet-stream'), { bytes: [65] }],
    [
      'the body of a POST to a webhook',
      { kind: 'request', method: 'POST', query: '', headers: { 'content-type': ['application/json'] }, body: utf8('5') },
      5,
    ],
  ];
  for (const [name, content, expected] of cases) {
    it(`returns ${name}`, async () => {
      const code: Code = async (context) => {
        const { timeout, eventId, eventData } = await context.waitForEvent('wait', 'x');
        const shown = eventData instanceof Uint8Array ? { bytes: [...eventData] } : (eventData ?? 'undefined');
        return { timeout, eventId, shown };
      };
      const result = await resultOf(code, { timeout: false, eventId: 'x', content });
      assert.deepEqual(result, { timeout: false, eventId: 'x', shown: expected });
    });
  }

  it('returns neither an id nor data after a timeout', async () => {
    const code: Code = async (context) => {
      const event = await context.waitForAny('wait', ['x', 'y']);
      return [event.timeout, event.eventId === undefined, event.eventData === undefined];
    };
    assert.deepEqual(await resultOf(code, { timeout: true }), [true, true, true]);
  });

  const invalidJson = { timeout: false, eventId: 'x', content: data(utf8('{'), 'application/json') } as const;

  it('rejects with an error that the code can catch if the data is declared as JSON but invalid', async () => {
    const code: Code = async (context) => {
      try {
        return await context.waitForEvent('wait', 'x');
      } catch (error) {
        return error instanceof Error ? `${error.name}: ${error.message}` : '';
      }
    };
    assert.match(String(await resultOf(code, invalidJson)), /^PayloadError: the event data has content type application\/json/);
  });

  it('holds a rejection until the code awaits it', async () => {
    const code: Code = async (context) => {
      const event = context.waitForEvent('wait', 'x');
      await context.sleep('meanwhile', 1);
      return event;
    };
    const server = new FakeServer('k');
    server.outcomeOf = ({ type }) => (type === 'Wait' ? invalidJson : undefined);
    await server.drive(createEndpoint(code));
    assert.equal(server.journal.length, 2);
    assert.equal(server.failure?.error.name, 'PayloadError');
  });
});

describe('a call', () => {
  const responseWith = (body: EncodedBody, contentType?: string, status = 200): CallOutcome => ({
    status,
    headers: contentType === undefined ? {} : { 'content-type': [contentType] },
    body,
    attempts: 2,
  });
  const code: Code = async (context) => {
    const response = await context.call('call', { url: 'http://api/' });
    const { status, ok, attempts, error } = response;
    const body = response.body instanceof Uint8Array ? { bytes: [...response.body] } : (response.body ?? 'undefined');
    return { status, ok, attempts, error, body, text: response.text(), size: response.bytes().length };
  };
  const cases: readonly (readonly [string, Outcome, unknown])[] = [
    [
      'JSON',
      responseWith(utf8('{"ü":1}'), 'application/problem+json', 404),
      { status: 404, ok: false, attempts: 2, body: { ü: 1 }, text: '{"ü":1}', size: 8 },
    ],
    [
      'the text of a body that is declared as JSON but invalid',
      responseWith(utf8('<p>'), 'application/json', 502),
      { status: 502, ok: false, attempts: 2, body: '<p>', text: '<p>', size: 3 },
    ],
    ['text', responseWith(utf8('1'), 'text/html'), { status: 200, ok: true, attempts: 2, body: '1', text: '1', size: 1 }],
    ['bytes', responseWith(FF_BYTE), { status: 200, ok: true, attempts: 2, body: { bytes: [255] }, text: '\uFFFD', size: 1 }],
    [
      'undefined for an empty body',
      responseWith(utf8(''), undefined, 299),
      { status: 299, ok: true, attempts: 2, body: 'undefined', text: '', size: 0 },
    ],
    [
      'the reason why no response arrived',
      { ...responseWith(utf8('')), status: 0, error: 'no such host' },
      { status: 0, ok: false, attempts: 2, error: 'no such host', body: 'undefined', text: '', size: 0 },
    ],
  ];
  for (const [name, outcome, expected] of cases) {
    it(`returns ${name}`, async () => assert.deepEqual(await resultOf(code, outcome), expected));
  }

  it('returns a response whose json() parses any content type, or throws SyntaxError', async () => {
    const reading: Code = async (context) => {
      const received = await context.call('call', { url: 'http://api/' });
      try {
        return received.json();
      } catch (error) {
        return error instanceof Error ? error.name : '';
      }
    };
    assert.deepEqual(await resultOf(reading, responseWith(utf8('[1]'), 'text/plain')), [1]);
    assert.equal(await resultOf(reading, responseWith(utf8('no'))), 'SyntaxError');
  });
});

describe('an invocation returns the outcome of a run', () => {
  const run = { workflowRunId: 'r', workflowCreatedAt: 5 };
  const cases: readonly (readonly [string, Outcome, unknown])[] = [
    ['with a result', { ...run, state: 'succeeded', result: '{"n":1}' }, { ...run, state: 'succeeded', body: { n: 1 } }],
    ['without a result', { ...run, state: 'succeeded' }, { ...run, state: 'succeeded' }],
    ['with an error', { ...run, state: 'failed', error: 'bad' }, { ...run, state: 'failed', error: 'bad' }],
    ['that was canceled', { ...run, state: 'canceled' }, { ...run, state: 'canceled' }],
  ];
  for (const [name, outcome, expected] of cases) {
    it(name, async () =>
      assert.deepEqual(await resultOf((context) => context.invoke('b', { workflow: 'http://app/b' }), outcome), expected),
    );
  }
});

it('a notification returns the notified runs', async () => {
  const outcome = { notified: [{ messageId: 'm', workflowRunId: 'r', workflowUrl: 'http://app/' }], kept: false };
  assert.deepEqual(await resultOf((context) => context.notify('tell', 'x'), outcome), outcome);
});

describe('a wait for a webhook returns', () => {
  const code: Code = async (context) => {
    const webhook = await context.createWebhook('make');
    const called = await context.waitForWebhook('wait', webhook);
    if (called.timeout) return `no call of ${webhook.webhookUrl}`;
    const { method, query, headers, body, text, json } = called.request;
    return { method, query, headers, bytes: [...body], text: text(), json: json() };
  };
  const createdWebhook = { eventId: 'whk_1', webhookUrl: 'http://server/whk_1' };
  const cases: readonly (readonly [string, Outcome, unknown])[] = [
    [
      'the method, query, headers and body of the request',
      {
        timeout: false,
        eventId: 'whk_1',
        content: { kind: 'request', method: 'PUT', query: '?a=1', headers: { 'x-a': ['1', '2'] }, body: utf8('7') },
      },
      { method: 'PUT', query: '?a=1', headers: { 'x-a': ['1', '2'] }, bytes: [55], text: '7', json: 7 },
    ],
    [
      'the data of a notification as a POST',
      { timeout: false, eventId: 'whk_1', content: { kind: 'data', body: utf8('7'), contentType: 'application/json' } },
      { method: 'POST', query: '', headers: { 'content-type': ['application/json'] }, bytes: [55], text: '7', json: 7 },
    ],
    ['a timeout', { timeout: true }, 'no call of http://server/whk_1'],
  ];
  for (const [name, outcome, expected] of cases) {
    it(name, async () => assert.deepEqual(await resultOf(code, createdWebhook, outcome), expected));
  }
});
