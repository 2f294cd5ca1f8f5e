import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Workflow } from './context.js';
import { createEndpoint, type EndpointRequest, type ServeOptions } from './endpoint.js';
import { FakeServer, replyOf } from './executor/fake-server.fixture.js';
import type { PayloadSchema, SchemaResult } from './payload.js';
import type { RunInput, StepRequest } from './protocol.js';
import { serve } from './serve.js';

function firstRequest(change: Partial<StepRequest> = {}): StepRequest {
  const server = new FakeServer('k');
  const [open] = server.tasks.values();
  assert.ok(open);
  return { ...server.request(open), ...change };
}

const asMessage = (body: unknown, change: Partial<EndpointRequest> = {}): EndpointRequest => ({
  method: 'POST',
  url: '/flow',
  headers: { 'svc-workflow-protocol': '1' },
  body: Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)),
  ...change,
});

const endpoint = createEndpoint(() => 'ok');

describe('an endpoint', () => {
  it('responds to a GET with a short text', async () => {
    const response = await endpoint.handle(asMessage('', { method: 'GET' }));
    assert.equal(response.status, 405);
    assert.equal(response.headers.Allow, 'POST');
    assert.match(response.body, /workflow endpoint/);
  });

  it('explains to a direct caller what to do', async () => {
    const response = await endpoint.handle(asMessage({ order: 1 }, { headers: {} }));
    assert.equal(response.status, 400);
    assert.match(response.body, /start a run through the server \(POST \/v2\/trigger/);
  });

  for (const [where, message] of [
    ['header', asMessage(firstRequest(), { headers: { 'svc-workflow-protocol': '2' } })],
    ['body', asMessage({ ...firstRequest(), protocol: 2 })],
  ] as const) {
    it(`rejects another protocol version in the ${where} and names both versions`, async () => {
      const response = await endpoint.handle(message);
      const reply = replyOf(response);
      assert.equal(response.status, 400);
      assert.ok(reply.kind === 'refused');
      assert.equal(reply.code, 'unsupported-protocol');
      assert.match(reply.message, /uses version 2 .* supports only version 1: upgrade @everstep\/sdk/);
    });
  }

  const request = firstRequest();
  const malformed: readonly (readonly [string, unknown, RegExp])[] = [
    ['invalid JSON', '{', /not valid JSON/],
    ['an array', [], /not a JSON object/],
    ['a missing run', { ...request, run: undefined }, /"run"/],
    ['a label that is not text', { ...request, run: { ...request.run, labels: [1] } }, /"run"/],
    ['a missing message id', { ...request, messageId: 1 }, /"messageId"/],
    ['a negative retried', { ...request, retried: -1 }, /"retried"/],
    ['a missing maxRetries', { ...request, maxRetries: undefined }, /"maxRetries"/],
    ['a target of 0', { ...request, target: 0 }, /"target"/],
    ['a missing known', { ...request, known: 0 }, /"known"/],
    ['a journal with a gap', { ...request, journal: { from: 0, length: 1, entries: [] } }, /"journal"/],
    [
      'an entry without a name',
      { ...request, journal: { from: 0, length: 1, entries: [{ stepId: 1, type: 'Run' }] } },
      /"journal"/,
    ],
    ['a missing input', { ...request, input: undefined }, /"input"/],
    ['an unknown encoding', { ...request, input: { ...request.input, body: { encoding: 'hex', data: '' } } }, /"input"/],
  ];
  for (const [name, body, message] of malformed) {
    it(`rejects a malformed request: ${name}`, async () => {
      const response = await endpoint.handle(asMessage(body));
      const reply = replyOf(response);
      assert.equal(response.status, 400);
      assert.ok(reply.kind === 'refused');
      assert.equal(reply.code, 'bad-request');
      assert.match(reply.message, message);
    });
  }

  it('rejects invalid options', () => {
    for (const options of [{ retries: -1 }, { retries: 1.5 }, { holdRuns: { max: 0 } }, { holdRuns: { idleMs: 0 } }]) {
      assert.throws(() => createEndpoint(() => 1, options), RangeError);
    }
  });

  it('logs each request in verbose mode', async () => {
    const lines: string[] = [];
    const verbose = createEndpoint((context) => context.run('a', () => 1), { verbose: (line) => lines.push(line) });
    await verbose.handle(asMessage(firstRequest()));
    assert.deepEqual(lines, ['run run, continue: progress, completed 1 "a", finished']);
  });
});

async function ended<Payload, Result>(
  workflow: Workflow<Payload, Result>,
  options: ServeOptions<Payload>,
  input: Partial<RunInput> = {},
): Promise<unknown> {
  const request = firstRequest();
  assert.ok(request.input);
  const response = await createEndpoint(workflow, options).handle(
    asMessage({ ...request, input: { ...request.input, contentType: undefined, ...input } }),
  );
  const reply = replyOf(response);
  if (reply.kind === 'failed') return `${response.status} ${reply.error.name}: ${reply.error.message}`;
  assert.ok(reply.kind === 'progress' && reply.end?.kind === 'finished', JSON.stringify(reply));
  return reply.end.result === undefined ? undefined : JSON.parse(reply.end.result);
}

const utf8 = (data: string, contentType?: string) => ({
  body: { encoding: 'utf8', data } as const,
  ...(contentType ? { contentType } : {}),
});

describe('the workflow context', () => {
  it('describes the run', async () => {
    const seen = await ended(
      ({ runId, runCreatedAt, labels, headers, url }) => ({ runId, runCreatedAt, labels, headers, url }),
      {},
    );
    assert.deepEqual(seen, {
      runId: 'run',
      runCreatedAt: 1_700_000_000_000,
      labels: ['a'],
      headers: { 'x-one': '1' },
      url: 'http://app/flow',
    });
    const raw = { 'x-a': Buffer.from('ü').toString('latin1'), 'x-b': '\xfc' };
    assert.deepEqual(await ended(({ headers }) => headers, {}, { headers: raw }), { 'x-a': 'ü', 'x-b': 'ü' });
    assert.equal(await ended(({ url }) => url, { url: 'https://public/flow' }), 'https://public/flow');
  });

  const payloads: readonly (readonly [string, Partial<RunInput>, unknown])[] = [
    ['JSON', utf8('{"a":1}', 'application/json; charset=utf-8'), { a: 1 }],
    ['JSON of a vendor type', utf8('[1]', 'application/vnd.order+json'), [1]],
    ['JSON with a byte order mark', utf8('\uFEFF{"a":1}', 'application/json'), { a: 1 }],
    ['JSON with a byte order mark and without a content type', utf8('\uFEFF{"a":1}'), { a: 1 }],
    ['JSON without a content type', utf8('{"a":1}'), { a: 1 }],
    ['JSON that curl labels as a form', utf8('{"a":1}', 'application/x-www-form-urlencoded'), { a: 1 }],
    ['a form', utf8('a=1&b=2', 'application/x-www-form-urlencoded'), 'a=1&b=2'],
    ['text', utf8('{"a":1}', 'text/plain'), '{"a":1}'],
    ['text without a content type', utf8('hello'), 'hello'],
    ['nothing', utf8('', 'application/json'), 'undefined'],
    ['bytes', { body: { encoding: 'base64', data: '/wA=' } }, { bytes: [255, 0] }],
    ['invalid JSON', utf8('{', 'application/json'), /^489 PayloadError: the payload has content type application\/json/],
  ];
  it('does not quote a payload that is not valid JSON', async () => {
    for (const text of [
      'my secret',
      '{"a": my secret}',
      '{"a":1} my secret',
      '{"my secret',
      '[1,2,3,4,5,6,7,8,9,10, my secret, 1]',
    ])
      assert.doesNotMatch(String(await ended(({ payload }) => payload, {}, utf8(text, 'application/json'))), /secret/);
  });

  for (const [name, input, expected] of payloads) {
    it(`has the payload: ${name}`, async () => {
      const payload = await ended(
        ({ payload }) =>
          payload === undefined ? 'undefined' : payload instanceof Uint8Array ? { bytes: [...payload] } : payload,
        {},
        input,
      );
      if (expected instanceof RegExp) assert.match(String(payload), expected);
      else assert.deepEqual(payload, expected);
    });
  }

  for (const later of [false, true]) {
    const wrap = <T>(value: T): T | Promise<T> => (later ? Promise.resolve(value) : value);
    it(`has the payload that parsePayload returned${later ? ', asynchronously' : ''}`, async () => {
      const parsePayload = ({ text }: { readonly text: string | undefined }) => wrap({ length: text?.length ?? 0 });
      assert.equal(await ended(({ payload }) => payload.length, { parsePayload }, utf8('four')), 4);
    });

    it(`has the payload that the schema returned${later ? ', asynchronously' : ''}, and fails the run if it is invalid`, async () => {
      const schema: PayloadSchema<number> = {
        '~standard': {
          validate: (value) =>
            wrap<SchemaResult<number>>(
              typeof value === 'number'
                ? { value: value * 2 }
                : { issues: [{ message: 'must be a number', path: ['a', { key: 0 }] }] },
            ),
        },
      };
      assert.equal(await ended(({ payload }) => payload + 1, { schema }, utf8('3')), 7);
      assert.equal(
        await ended(({ payload }) => payload + 1, { schema }, utf8('"x"')),
        '489 PayloadError: the payload does not match the schema of this workflow: a.0: must be a number',
      );
    });
  }
});

it('serve handles Request and Response', async () => {
  const handler = serve<{ n: number }, number>((context) => context.run('double', () => context.payload.n * 2), { retries: 1 });
  const request = firstRequest({ input: { body: { encoding: 'utf8', data: '{"n":4}' }, headers: {} } });
  const response = await handler(
    new Request('http://app/flow', { method: 'POST', headers: { 'Svc-Workflow-Protocol': '1' }, body: JSON.stringify(request) }),
  );
  assert.equal(response.status, 200);
  assert.equal(response.headers.get('content-type'), 'application/json');
  assert.equal(response.headers.get('svc-workflow-protocol'), '1');
  const reply = await response.json();
  assert.deepEqual(reply.end, { kind: 'finished', result: '8' });
  assert.equal((await handler(new Request('http://app/flow'))).status, 405);
});
