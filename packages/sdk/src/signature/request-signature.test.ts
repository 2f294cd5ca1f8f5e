/** Which requests an endpoint accepts, by their signatures, and its behavior without keys. */
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import { createEndpoint, type ServeOptions } from '../endpoint.js';
import { FakeServer } from '../executor/fake-server.fixture.js';
import type { StepRequest } from '../protocol.js';
import { newPrivateKey, publicPart, sign } from './signed.fixture.js';

const KEYS = { signingKeys: { current: 'current', next: 'next' } };
const URL_OF_RUN = 'http://app/flow';

function frame(changes: Partial<StepRequest['run']> = {}): string {
  const server = new FakeServer('k');
  const [open] = server.tasks.values();
  assert.ok(open);
  const request = server.request(open);
  return JSON.stringify({ ...request, run: { ...request.run, workflowUrl: URL_OF_RUN, ...changes } });
}
const BODY = frame();

interface Sent {
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | { readonly parsed: unknown };
  readonly url?: string;
}

class Worker {
  executed = 0;
  private readonly endpoint;

  constructor(options: ServeOptions<unknown>) {
    this.endpoint = createEndpoint((context) => context.run('a', () => ++this.executed), { retries: 0, ...options });
  }

  async send({ headers = {}, body = BODY, url = '/flow' }: Sent): Promise<{ readonly status: number; readonly message: string }> {
    const all = { 'svc-workflow-protocol': '1', ...headers };
    const received = await this.endpoint.handle({ method: 'POST', url, headers: all, body });
    const reply: { readonly error?: { readonly message: string } } = JSON.parse(received.body);
    return { status: received.status, message: reply.error?.message ?? '' };
  }

  /** Sends a request with a signature for the URL of the run. */
  sendSigned(claims: object = {}, { body = BODY, ...sent }: Sent & { readonly body?: string } = {}) {
    return this.send({ ...sent, body, headers: { 'svc-signature': sign({ body, claims }) } });
  }
}

function setEnvironment(t: TestContext, values: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(values)) {
    const before = process.env[name];
    process.env[name] = value;
    t.after(() => {
      if (before === undefined) delete process.env[name];
      else process.env[name] = before;
    });
  }
}

describe('an endpoint with signing keys', () => {
  it('accepts a step that is signed for its path, on any host, with or without a kind', async () => {
    const worker = new Worker(KEYS);
    assert.equal((await worker.sendSigned({ kind: 'step' })).status, 200);
    assert.equal((await worker.sendSigned()).status, 200);
    const elsewhere = 'https://public.test/flow/';
    const body = frame({ workflowUrl: elsewhere });
    assert.equal(
      (await worker.sendSigned({ kind: 'step', sub: elsewhere }, { body, url: 'http://10.0.0.7:3000/flow?x=1' })).status,
      200,
    );
    assert.equal(worker.executed, 3);
  });

  it('rejects an unsigned request with an error that is retried', async () => {
    const result = await createEndpoint(() => 1, KEYS).handle({
      method: 'POST',
      url: '/flow',
      headers: { 'svc-workflow-protocol': '1' },
      body: BODY,
    });
    assert.equal(result.status, 401);
    const reply = JSON.parse(result.body);
    assert.deepEqual([reply.kind, reply.error.name, reply.retry], ['failed', 'SignatureError', { kind: 'backoff' }]);
    assert.equal(result.headers['Svc-Workflow-Protocol'], '1');
  });

  it('rejects plain messages, calls and callbacks, whatever their body', async () => {
    const worker = new Worker(KEYS);
    for (const kind of ['message', 'call', 'failure-callback', 'budget-alert', 'failure-function', 'of a later version']) {
      const { status, message } = await worker.sendSigned({ kind });
      assert.equal(status, 401, kind);
      assert.match(message, new RegExp(`the kind "${kind}", not for "step"`));
    }
    assert.equal(worker.executed, 0);
  });

  it('rejects a step of another workflow: by path, by the configured URL, and by run', async () => {
    const worker = new Worker(KEYS);
    assert.match((await worker.sendSigned({ kind: 'step', sub: 'http://app/other' })).message, /the path "\/other"/);
    assert.match((await worker.sendSigned({ kind: 'step' }, { url: '/other' })).message, /was sent to "\/other"/);
    const ofAnother = frame({ workflowUrl: 'http://app/other' });
    assert.match(
      (await worker.sendSigned({ kind: 'step' }, { body: ofAnother })).message,
      /the run belongs to "http:\/\/app\/other"/,
    );

    const atUrl = new Worker({ ...KEYS, url: 'https://public.test/api/flow' });
    assert.match((await atUrl.sendSigned({ kind: 'step' })).message, /check the url option/);
    const body = frame({ workflowUrl: 'https://public.test/api/flow' });
    const claims = { kind: 'step', sub: 'https://public.test/api/flow' };
    assert.equal(
      (await atUrl.sendSigned(claims, { body, url: '/stripped' })).status,
      200,
      'the path of the request does not count',
    );
    assert.deepEqual([worker.executed, atUrl.executed], [0, 1]);
  });

  it('accepts a request once, and each retry of it', async () => {
    const worker = new Worker(KEYS);
    const headers = { 'svc-signature': sign({ body: BODY, claims: { kind: 'step' } }) };
    assert.equal((await worker.send({ headers })).status, 200);
    const again = await worker.send({ headers });
    assert.deepEqual([again.status, worker.executed], [401, 1]);
    assert.match(again.message, /used before/);
    const retry = { 'svc-signature': sign({ body: BODY, claims: { kind: 'step' } }) };
    assert.equal((await worker.send({ headers: retry })).status, 200);
  });

  it('calls the failure function for failures only', async () => {
    const failures: string[] = [];
    const endpoint = createEndpoint(() => 1, { ...KEYS, failureFunction: ({ dlqId }) => failures.push(dlqId) });
    const named = { sourceMessageId: 'm', url: URL_OF_RUN, method: 'POST', workflowRunId: 'r', dlqId: 'dlq_1' };
    const empty = { status: 0, header: {}, body: '', retried: 0, maxRetries: 0, sourceHeader: {}, sourceBody: '' };
    const body = JSON.stringify({ ...named, ...empty, error: 'no', workflowCreatedAt: 1, createdAt: 2 });
    const statuses: number[] = [];
    for (const kind of ['message', 'step', 'failure-callback', 'failure-function']) {
      const signature = sign({ body, claims: { kind } });
      const headers = { 'svc-workflow-failure-function': 'true', 'svc-signature': signature };
      statuses.push((await endpoint.handle({ method: 'POST', url: '/flow', headers, body })).status);
    }
    assert.deepEqual(statuses, [401, 401, 401, 200]);
    assert.deepEqual(failures, ['dlq_1']);
  });

  it('explains what to configure if the body was parsed', async () => {
    const headers = { 'svc-signature': sign({ body: BODY }) };
    const { status, message } = await new Worker(KEYS).send({ headers, body: { parsed: JSON.parse(BODY) } });
    assert.equal(status, 401);
    assert.match(message, /before express\.json\(\).*toFastifyPlugin/);
  });

  it('reads keys from the environment, and prefers the option', async (t) => {
    setEnvironment(t, { EVERSTEP_CURRENT_SIGNING_KEY: 'from-env' });
    const signed = () => ({ headers: { 'svc-signature': sign({ key: 'from-env', body: BODY }) } });
    assert.equal((await new Worker({}).send(signed())).status, 200);
    assert.equal((await new Worker(KEYS).send(signed())).status, 401);
  });
});

describe('an endpoint with public keys', () => {
  const [ours, other] = [newPrivateKey('k1'), newPrivateKey('k1')];
  const ed25519 = (key = ours, claims: object = { kind: 'step' }) => ({
    'svc-signature-ed25519': sign({ key, body: BODY, claims }),
  });

  it('accepts only signatures of the private key', async () => {
    const worker = new Worker({ publicKeys: [publicPart(ours)] });
    assert.equal((await worker.send({ headers: ed25519() })).status, 200);
    assert.equal((await worker.send({ headers: ed25519(other) })).status, 401);
    assert.equal((await worker.send({ headers: ed25519(ours, { kind: 'message' }) })).status, 401);
    const shared = await worker.send({ headers: { 'svc-signature': sign({ body: BODY }) } });
    assert.match(shared.message, /no Svc-Signature-Ed25519 header/);
    assert.equal(worker.executed, 1);
  });

  it('also accepts signing keys if it has both and the request has no Ed25519 signature', async () => {
    const worker = new Worker({ ...KEYS, publicKeys: [publicPart(ours)] });
    const shared = { 'svc-signature': sign({ body: BODY, claims: { kind: 'step' } }) };
    assert.equal((await worker.send({ headers: shared })).status, 200);
    assert.equal(
      (await worker.send({ headers: { ...shared, ...ed25519(other) } })).status,
      401,
      'an invalid Ed25519 signature is not replaced by a valid shared one',
    );
    assert.equal((await worker.send({ headers: ed25519() })).status, 200);
  });

  it('fetches its keys, including from a URL in the environment', async (t) => {
    let fetches = 0;
    const server = createServer((_request, response) => {
      fetches++;
      response.end(JSON.stringify({ keys: [publicPart(ours)] }));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    t.after(() => {
      server.closeAllConnections();
      server.close();
    });
    const jwksUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v2/jwks/qi_1`;
    assert.equal((await new Worker({ jwksUrl }).send({ headers: ed25519() })).status, 200);
    setEnvironment(t, { EVERSTEP_JWKS_URL: jwksUrl });
    const worker = new Worker({});
    assert.equal((await worker.send({ headers: ed25519() })).status, 200);
    assert.match(
      (await worker.send({ headers: ed25519(newPrivateKey('k9')) })).message,
      /"k9", which is not one of the public keys/,
    );
    assert.equal(fetches, 1);
  });
});

describe('an endpoint without keys', () => {
  /** Collects the log lines. */
  function listen(t: TestContext): string[] {
    const lines: string[] = [];
    for (const level of ['warn', 'error'] as const)
      t.mock.method(console, level, (line: string) => void lines.push(`${level} ${line}`));
    return lines;
  }

  it('accepts requests in tests', async (t) => {
    const lines = listen(t);
    setEnvironment(t, { NODE_ENV: 'test' });
    assert.equal((await new Worker({}).send({})).status, 200);
    assert.deepEqual(lines, []);
  });

  it('accepts requests in development, and warns once', async (t) => {
    const lines = listen(t);
    setEnvironment(t, { NODE_ENV: 'development' });
    for (const worker of [new Worker({}), new Worker({})]) assert.equal((await worker.send({})).status, 200);
    assert.equal(lines.length, 1);
    assert.match(lines[0] ?? '', /^warn everstep: this endpoint has no signing keys.*EVERSTEP_CURRENT_SIGNING_KEY/);
  });

  it('rejects everything in production, and logs the reason once', async (t) => {
    const lines = listen(t);
    setEnvironment(t, { NODE_ENV: 'production' });
    for (const worker of [new Worker({}), new Worker({})]) {
      for (const sent of [{}, { headers: { 'svc-signature': sign({ body: BODY }) } }]) {
        const { status, message } = await worker.send(sent);
        assert.equal(status, 500);
        assert.match(message, /no signing keys.*allowUnsigned: true/);
      }
      assert.equal(worker.executed, 0);
    }
    assert.equal(lines.length, 1);
    assert.match(lines[0] ?? '', /^error everstep: this endpoint has no signing keys/);
  });

  it('accepts requests in production with allowUnsigned, without a warning', async (t) => {
    const lines = listen(t);
    setEnvironment(t, { NODE_ENV: 'production' });
    assert.equal((await new Worker({ allowUnsigned: true }).send({})).status, 200);
    assert.deepEqual(lines, []);
  });

  it('rejects everything if a key option is empty', async (t) => {
    listen(t);
    for (const options of [{ signingKeys: { current: '' } }, { jwksUrl: '' }, { publicKeys: [] }])
      assert.equal((await new Worker(options).send({})).status, 500);
  });
});
