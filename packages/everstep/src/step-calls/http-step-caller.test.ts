import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import type { StepRequest } from '@everstep/sdk/protocol';
import { decodeJwt, jwtVerify } from 'jose';
import { LIMITS } from '../config/limits.js';
import type { WorkSlices } from '../fairness/work-slices.js';
import type { StepCall } from '../ports/step-caller.js';
import { sampleStep } from '../stores/conformance/samples.js';
import {
  callerWith,
  callWith,
  endpoint,
  failureOf,
  KEYS,
  NOW,
  PROTOCOL_HEADERS,
  REPLY,
  REQUEST,
  type Respond,
  respondWith,
  respondWithPlan,
  stepCall,
  useSharedEndpoint,
} from './endpoint.fixture.js';

useSharedEndpoint();

test('a step call is one signed POST with the run in its headers', async () => {
  const outcome = await callWith(respondWithPlan, {
    forwardHeaders: { authorization: 'Bearer x', 'x-many': 'a, b' },
  });
  assert.equal(outcome.kind, 'reply');
  assert.deepEqual(outcome.reply, REPLY);
  assert.equal(outcome.status, 200);
  assert.deepEqual(outcome.responseHeaders['content-type'], ['application/json']);
  assert.equal(Buffer.from(outcome.responseBody).toString(), JSON.stringify(REPLY));

  assert.equal(endpoint.received.length, 1);
  const [request] = endpoint.received;
  assert.ok(request);
  assert.equal(request.method, 'POST');
  assert.equal(request.url, '/w?x=1');
  assert.deepEqual(JSON.parse(request.body.toString()), REQUEST);
  const { headers } = request;
  assert.equal(headers['content-type'], 'application/json');
  assert.equal(headers['svc-workflow-protocol'], '1');
  assert.equal(headers['svc-workflow-runid'], 'order-7');
  assert.equal(headers['svc-workflow-created-at'], String(NOW - 5));
  assert.equal(headers['svc-workflow-url'], `${endpoint.origin}/w?x=1`);
  assert.equal(headers['svc-message-id'], 'msg_1');
  assert.equal(headers['svc-retried'], '2');
  assert.match(headers['user-agent'] ?? '', /^Everstep\/\d+\.\d+\.\d+/);
  assert.equal(headers.authorization, 'Bearer x');
  assert.equal(headers['x-many'], 'a, b');
});

test('the signature is a JWT over the body that a general JWT library accepts', async () => {
  await callWith(respondWithPlan);
  await callWith(respondWithPlan);
  const [request] = endpoint.received;
  assert.ok(request);
  const token = String(request.headers['svc-signature']);
  const { payload, protectedHeader } = await jwtVerify(token, new TextEncoder().encode(KEYS.current), {
    issuer: 'Everstep',
    subject: `${endpoint.origin}/w?x=1`,
    currentDate: new Date(NOW),
  });
  assert.deepEqual(protectedHeader, { alg: 'HS256', typ: 'JWT' });
  assert.equal(payload.body, createHash('sha256').update(request.body).digest('base64url'));
  assert.equal(payload.iat, Math.floor(NOW / 1000));
  assert.equal(payload.nbf, payload.iat);
  assert.equal(payload.exp, Math.floor(NOW / 1000) + 300);
  assert.match(payload.jti ?? '', /^[\w-]{22}$/);
  await assert.rejects(jwtVerify(token, new TextEncoder().encode(KEYS.next)));
});

test('a step call has the headers of its trace context, unless the user forwards one', async () => {
  const trace = { traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01', tracestate: 'a=1' };
  const traced = { request: { ...REQUEST, trace } };
  const received = () => {
    const { traceparent, tracestate } = endpoint.received[0]?.headers ?? {};
    return { traceparent, tracestate };
  };
  await callWith(respondWithPlan, traced);
  assert.deepEqual(received(), trace);
  await callWith(respondWithPlan, { ...traced, forwardHeaders: { traceparent: 'mine' } });
  assert.deepEqual(received(), { traceparent: 'mine', tracestate: undefined });
});

test('forwarded headers never override those of the exchange, and invalid ones are dropped', async () => {
  await callWith(respondWithPlan, {
    forwardHeaders: {
      host: 'evil.example',
      'content-length': '1',
      'content-type': 'text/plain',
      'transfer-encoding': 'chunked',
      connection: 'close',
      te: 'trailers',
      upgrade: 'h2c',
      expect: '100-continue',
      'accept-encoding': 'gzip',
      'user-agent': 'curl',
      'svc-signature': 'forged',
      'Svc-Workflow-RunId': 'forged',
      'bad name': 'x',
      'x-split': 'a\r\nsvc-retried: 9',
      'x-wide': '日本',
      'x-latin': 'café',
      'x-ok': 'yes',
    },
  });
  const headers = endpoint.received[0]?.headers ?? {};
  assert.equal(headers.host, `127.0.0.1:${endpoint.port}`);
  assert.equal(headers['content-type'], 'application/json');
  assert.equal(headers['content-length'], String(endpoint.received[0]?.body.length));
  assert.equal(headers['accept-encoding'], 'identity');
  assert.match(headers['user-agent'] ?? '', /^Everstep/);
  assert.equal(headers['svc-workflow-runid'], 'order-7');
  assert.equal(headers['svc-retried'], '2');
  assert.match(String(headers['svc-signature']), /^[\w-]+\.[\w-]+\.[\w-]+$/);
  for (const name of ['transfer-encoding', 'te', 'upgrade', 'expect', 'bad name', 'x-split', 'x-wide'])
    assert.equal(headers[name], undefined, name);
  assert.equal(headers['x-latin'], 'café');
  assert.equal(headers['x-ok'], 'yes');
});

test('a run id that a header cannot contain is sent percent-encoded', async () => {
  await callWith(respondWithPlan, {
    request: { ...REQUEST, run: { ...REQUEST.run, id: '注文\ud800' } },
  });
  assert.equal(endpoint.received[0]?.headers['svc-workflow-runid'], encodeURIComponent('注文\ufffd'));
});

test('a workflow URL that a header cannot contain is sent and signed in ASCII form', async () => {
  await callWith(respondWithPlan, { workflowUrl: `${endpoint.origin}/注文` });
  const headers = endpoint.received[0]?.headers ?? {};
  const url = `${endpoint.origin}/${encodeURIComponent('注文')}`;
  assert.equal(headers['svc-workflow-url'], url);
  assert.equal(decodeJwt(String(headers['svc-signature'])).sub, url);
});

test('connections are kept alive', async () => {
  await callWith(respondWithPlan);
  const before = endpoint.connections;
  for (let i = 0; i < 5; i++) await callWith(respondWithPlan);
  assert.equal(endpoint.connections, before);
});

test('a failed reply is a reply, whatever its status', async () => {
  const frame = {
    protocol: 1,
    kind: 'failed',
    base: 0,
    done: [],
    error: { name: 'Error', message: 'no' },
    retry: { kind: 'backoff' },
  };
  for (const status of [500, 429, 489, 401]) {
    const result = await callWith(respondWith(status, PROTOCOL_HEADERS, JSON.stringify(frame)));
    assert.equal(result.kind, 'reply', `${status}`);
    assert.deepEqual(result.reply, frame);
    assert.equal(result.status, status);
  }
});

test('connections to one host stay within the limit, and further calls wait', async () => {
  let open = 0;
  let maxOpen = 0;
  const outcome: Respond = (response) => {
    open++;
    maxOpen = Math.max(maxOpen, open);
    setTimeout(() => {
      open--;
      response.writeHead(200, PROTOCOL_HEADERS).end(JSON.stringify(REPLY));
    }, 20);
  };
  const outcomes = await Promise.all(Array.from({ length: LIMITS.maxConnectionsPerHost + 40 }, () => callWith(outcome)));
  assert.ok(outcomes.every(({ kind }) => kind === 'reply'));
  assert.ok(maxOpen <= LIMITS.maxConnectionsPerHost, `${maxOpen} connections at once`);
  assert.ok(maxOpen > 1);
});

test('a caller without a signing key sends nothing', async (t) => {
  const keyless = callerWith({
    signingKeys: (instanceId) => {
      throw new Error(`no signing keys for ${instanceId}`);
    },
  });
  t.after(() => keyless.close());
  endpoint.received = [];
  const failure = failureOf(await keyless.call(stepCall(), new AbortController().signal));
  assert.match(failure.message, /no signing keys for qi_1/);
  assert.equal(endpoint.received.length, 0);
});

test('after close every call fails, including calls in progress', async () => {
  const closing = callerWith();
  endpoint.respond = () => void closing.close();
  assert.match(failureOf(await closing.call(stepCall(), new AbortController().signal)).message, /stopping|closed/);
  assert.match(failureOf(await closing.call(stepCall(), new AbortController().signal)).message, /stopping/);
});

test('long journals and responses are processed in slices, and short ones in one piece', async () => {
  const slices: string[] = [];
  const caller = callerWith({
    slices: {
      run(instanceId, work) {
        slices.push(instanceId);
        return work();
      },
    },
  });
  const call = async (responseBytes: number, changes: Partial<StepCall>) => {
    slices.length = 0;
    endpoint.respond = (response) => response.end('x'.repeat(responseBytes));
    await caller.call(stepCall(changes), new AbortController().signal);
    return slices.length;
  };
  const mebibyte = 1024 * 1024;
  const recordedSteps = [sampleStep(0, { out: JSON.stringify('x'.repeat(mebibyte)) })];
  assert.equal(await call(10, {}), 0);
  assert.equal(await call(mebibyte, {}), 1);
  assert.equal(await call(10, { recordedSteps }), 1);
  assert.equal(await call(mebibyte, { recordedSteps }), 2);
  await caller.close();
});

const LONG_JOURNAL: StepRequest = {
  ...REQUEST,
  journal: {
    ...{ from: 0, length: 3, digest: 7, worker: 'w' },
    entries: [
      { stepId: 1, name: 'a', type: 'Run', out: JSON.stringify('x'.repeat(300_000)) },
      { stepId: 2, name: 'b', type: 'Run' },
      { stepId: 3, name: 'c', type: 'Run', out: JSON.stringify('ü"'.repeat(200_000)) },
    ],
  },
};
const RECORDED = LONG_JOURNAL.journal.entries.map((entry) => ({ ...sampleStep(entry.stepId), out: entry.out ?? null }));

test('a long journal is encoded in slices, and the request and its signature are the same', async () => {
  let slices = 0;
  const run: WorkSlices['run'] = (_instanceId, work) => {
    slices++;
    return work();
  };
  const inSlices = callerWith({ slices: { run } });
  endpoint.respond = respondWith(200, PROTOCOL_HEADERS, JSON.stringify({ ...REPLY, base: 3 }));
  endpoint.received = [];
  const outcome = await inSlices.call(stepCall({ request: LONG_JOURNAL, recordedSteps: RECORDED }), new AbortController().signal);
  await inSlices.close();
  assert.equal(outcome.kind, 'reply');
  assert.ok(slices > 1, `${slices} slices`);
  const [request] = endpoint.received;
  assert.ok(request);
  assert.deepEqual(JSON.parse(request.body.toString()), LONG_JOURNAL);
  assert.deepEqual(
    [request.headers['content-length'], request.headers['transfer-encoding']],
    [String(request.body.length), undefined],
  );
  const { body } = decodeJwt(String(request.headers['svc-signature']));
  assert.equal(body, createHash('sha256').update(request.body).digest('base64url'));
});

test('a slice lasts until the long reply is recordedSteps', async () => {
  let record = (): void => {};
  const recordedSteps = new Promise<void>((resolve) => {
    record = resolve;
  });
  const ended: Promise<unknown>[] = [];
  const run: WorkSlices['run'] = (_instanceId, work) => {
    const slice = work();
    ended.push(slice);
    return slice;
  };
  const inSlices = callerWith({ slices: { run } });
  const reply = {
    ...REPLY,
    done: [{ stepId: 1, name: 'a', type: 'Run', out: JSON.stringify('x'.repeat(300_000)) }],
    planned: [],
  };
  endpoint.respond = respondWith(200, PROTOCOL_HEADERS, JSON.stringify(reply));
  const outcome = await inSlices.call(stepCall({ outcomeRecorded: recordedSteps }), new AbortController().signal);
  await inSlices.close();
  assert.equal(outcome.kind, 'reply');
  assert.equal(ended.length, 1);
  assert.equal(await Promise.race([ended[0], 'still going']), 'still going');
  record();
  await ended[0];
});

test('a reply that is longer than the call allows fails the attempt', async () => {
  const failure = failureOf(await callWith(respondWith(200, PROTOCOL_HEADERS, 'x'.repeat(1_001)), { maxReplyBytes: 1_000 }));
  assert.equal(failure.message, 'the endpoint returned 200 with more than 1000 bytes (maxReplyBytes)');
});
