import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { sealText } from './encryption/envelope.js';
import { payloadEncryption } from './encryption/payload-encryption.js';
import { createEndpoint, type EndpointRequest, type EndpointResponse, type ServeOptions } from './endpoint.js';
import { NonRetryableError, RetryAfterError } from './errors.js';
import { FakeServer, post } from './executor/fake-server.fixture.js';
import type { RunFailure } from './failure-function.js';
import type { FailureNotice } from './protocol.js';
import { serve } from './serve.js';

const base64 = (text: string): string => Buffer.from(text).toString('base64');

const failedReply = { protocol: 1, kind: 'failed', base: 0, done: [], error: { name: 'Error', message: 'no stock' } };

const notice: FailureNotice = {
  status: 500,
  header: { 'Content-Type': ['application/json'] },
  body: base64(JSON.stringify(failedReply)),
  error: 'step "reserve" (1) failed after 4 attempts: Error: no stock',
  labels: ['vip', 'eu'],
  retried: 1,
  maxRetries: 3,
  sourceMessageId: 'msg_1',
  url: 'http://app/flow',
  method: 'POST',
  sourceHeader: { 'Content-Type': ['application/json'], 'X-One': ['1'] },
  sourceBody: base64('{"order":7}'),
  workflowRunId: 'run',
  workflowCreatedAt: 5,
  dlqId: 'dlq_1',
  createdAt: 9,
};

const asMessage = (body: unknown): EndpointRequest => ({
  method: 'POST',
  url: '/flow',
  headers: { 'svc-workflow-failure-function': 'true' },
  body: Buffer.from(JSON.stringify(body)),
});

/** Returns what the failure function receives for a notice. */
async function received(change: Partial<FailureNotice>, options: ServeOptions<unknown> = {}): Promise<RunFailure<unknown>> {
  const failures: RunFailure<unknown>[] = [];
  const endpoint = createEndpoint(() => assert.fail('the workflow must not run'), {
    ...options,
    failureFunction: (failure) => failures.push(failure),
  });
  const response = await endpoint.handle(asMessage({ ...notice, ...change }));
  assert.deepEqual([response.status, response.body], [200, '{}']);
  const [failure] = failures;
  assert.ok(failure);
  return failure;
}

const responseTo = (failureFunction: () => unknown): Promise<EndpointResponse> =>
  createEndpoint(() => 1, { failureFunction }).handle(asMessage(notice));

describe('a failure function receives', () => {
  it('all details of the failed run', async () => {
    assert.deepEqual(await received({}), {
      runId: 'run',
      runCreatedAt: 5,
      workflowUrl: 'http://app/flow',
      payload: { order: 7 },
      headers: { 'x-one': '1' },
      labels: ['vip', 'eu'],
      status: 500,
      error: 'no stock',
      response: JSON.stringify(failedReply),
      dlqId: 'dlq_1',
      retried: 1,
      maxRetries: 3,
    });
  });

  for (const [what, body] of [
    ['a page', '<h1>Bad gateway'],
    ['unrelated JSON', '{"kind":"failed","error":"no"}'],
    ['nothing', ''],
  ] as const) {
    it(`the error text of the server if the last response was ${what}`, async () => {
      const { error, response } = await received({ body: base64(body) });
      assert.deepEqual([error, response], [notice.error, body]);
    });
  }

  const positive: ServeOptions<unknown> = {
    schema: {
      '~standard': {
        validate: (value) => (typeof value === 'number' && value > 0 ? { value: value * 2 } : { issues: [{ message: 'bad' }] }),
      },
    },
  };
  it('the payload as the workflow receives it', async () => {
    assert.equal((await received({ sourceBody: base64('3') }, positive)).payload, 6);
    const parsePayload = async ({ text }: { readonly text: string | undefined }) => text?.length;
    assert.equal((await received({}, { parsePayload })).payload, 11);
  });

  it('the raw payload if the payload caused the failure', async () => {
    assert.equal((await received({ sourceBody: base64('-3') }, positive)).payload, -3);
    assert.equal((await received({ sourceBody: base64('{') })).payload, '{');
    const { payload } = await received({ sourceBody: '/wA=' });
    assert.deepEqual(payload, new Uint8Array([255, 0]));
  });
});

describe('a failure function of an encrypted workflow', () => {
  const encryption = payloadEncryption({ keys: [Buffer.alloc(32, 1).toString('base64')] });
  const sealed = sealText(encryption, '{"order":7}');

  it('receives the decrypted payload, also if the payload caused the failure', async () => {
    const sourceBody = base64(sealed);
    assert.deepEqual((await received({ sourceBody }, { encryption })).payload, { order: 7 });
    const schema = { '~standard': { validate: () => ({ issues: [{ message: 'bad' }] }) } };
    assert.deepEqual((await received({ sourceBody }, { encryption, schema })).payload, { order: 7 });
    const strict = { ...encryption, requireEncrypted: true };
    assert.deepEqual((await received({}, { encryption: strict })).payload, { order: 7 }, 'the payload is not encrypted');
  });

  it('receives a damaged payload as it is', async () => {
    const damaged = sealed.slice(0, -3) + sealed.slice(-2);
    assert.deepEqual((await received({ sourceBody: base64(damaged) }, { encryption })).payload, JSON.parse(damaged));
  });

  it('is called again later if the key is missing', async () => {
    const other = payloadEncryption({ keys: [Buffer.alloc(32, 2).toString('base64')] });
    const endpoint = createEndpoint(() => 1, { encryption: other, failureFunction: () => assert.fail('must not be called') });
    const response = await endpoint.handle(asMessage({ ...notice, sourceBody: base64(sealed) }));
    assert.equal(response.status, 500);
    assert.match(response.body, /DecryptionError: the payload cannot be decrypted/);
  });
});

describe('a failure function that throws is called again', () => {
  for (const [name, thrown, status, headers] of [
    ['after an error', new TypeError('bad'), 500, {}],
    ['unless it throws NonRetryableError', new NonRetryableError('never'), 489, { 'NonRetryable-Error': 'true' }],
    ['after the delay of a RetryAfterError', new RetryAfterError('later', '1500ms'), 429, { 'Retry-After': '2' }],
  ] as const) {
    it(name, async () => {
      const response = await responseTo(async () => Promise.reject(thrown));
      assert.equal(response.status, status);
      for (const [header, value] of Object.entries(headers)) assert.equal(response.headers[header], value);
      assert.deepEqual(JSON.parse(response.body), { error: `${thrown.name}: ${thrown.message}` });
    });
  }
});

describe('an endpoint', () => {
  it('reports in its replies whether it has a failure function', async () => {
    const server = new FakeServer('k');
    const [open] = server.tasks.values();
    assert.ok(open);
    const says = async (workflow: () => unknown, options: ServeOptions<unknown>) =>
      JSON.parse((await post(createEndpoint(workflow, options), server.request(open))).body).failureFunction;
    const failing = () => {
      throw new Error('no');
    };
    for (const workflow of [() => 1, failing]) {
      assert.equal(await says(workflow, { failureFunction: () => {} }), true);
      assert.equal(await says(workflow, {}), undefined);
    }
  });

  it('answers 404 without a failure function, so that another instance is tried', async () => {
    const response = await createEndpoint(() => 1).handle(asMessage(notice));
    assert.equal(response.status, 404);
    assert.match(response.body, /no failureFunction/);
  });

  it('rejects a body that is not a failure notice', async () => {
    const endpoint = createEndpoint(() => 1, { failureFunction: () => assert.fail('must not be called') });
    const { dlqId: _left, ...incomplete } = notice;
    for (const body of [[], null, 'text', incomplete, { ...notice, status: '500' }, { ...notice, sourceHeader: { a: 'b' } }]) {
      assert.equal((await endpoint.handle(asMessage(body))).status, 400);
    }
    assert.equal((await endpoint.handle({ ...asMessage(notice), body: '{' })).status, 400);
  });

  it('with keys rejects an unsigned notice', async () => {
    const endpoint = createEndpoint(() => 1, {
      failureFunction: () => assert.fail('must not be called'),
      signingKeys: { current: 'key' },
    });
    assert.equal((await endpoint.handle(asMessage(notice))).status, 401);
  });

  it('logs each call in verbose mode', async () => {
    const lines: string[] = [];
    const options = { verbose: (line: string) => lines.push(line) };
    await createEndpoint(() => 1, { ...options, failureFunction: () => {} }).handle(asMessage(notice));
    await createEndpoint(() => 1, { ...options, failureFunction: () => Promise.reject(new Error('no')) }).handle(
      asMessage(notice),
    );
    assert.deepEqual(lines, ['run run, failure function: done', 'run run, failure function: Error: no']);
  });
});

it('serve calls the failure function for a Request', async () => {
  const seats: string[] = [];
  const handler = serve<{ seat: string }, void>(() => {}, { failureFunction: ({ payload }) => seats.push(payload.seat) });
  const body = JSON.stringify({ ...notice, sourceBody: base64('{"seat":"12A"}') });
  const headers = { 'Svc-Workflow-Failure-Function': 'true' };
  const response = await handler(new Request('http://app/flow', { method: 'POST', headers, body }));
  assert.equal(response.status, 200);
  assert.deepEqual(seats, ['12A']);
});
