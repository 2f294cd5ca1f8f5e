/** Deliveries in the thread, compared with deliveries in the main thread. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type TestContext, test } from 'node:test';
import type { Worker } from 'node:worker_threads';
import { LIMITS } from '../../../config/limits.js';
import type { MessageAnswer } from '../../../ports/message-sender.js';
import { createAddressPolicy } from '../../addresses/address-policy.js';
import {
  agreeing,
  answering,
  callerWith,
  endpoint,
  failureOf,
  message,
  outboundOptions,
  senderWith,
  stepCall,
} from '../../endpoint.fixture.js';
import type { OutboundOptions } from '../../http-step-caller.js';
import { NameError, type Resolved } from '../../names/index.js';

const unaborted = () => new AbortController().signal;

function threaded(t: TestContext, changes: Partial<OutboundOptions> = {}) {
  const sender = senderWith({ threadFrom: 0, ...changes });
  t.after(() => sender.close());
  return sender;
}

/** Counts the threads that are started until the end of the test. */
function threadsStarted(t: TestContext): readonly Worker[] {
  const workers: Worker[] = [];
  const add = (worker: Worker): void => void workers.push(worker);
  process.on('worker', add);
  t.after(() => process.off('worker', add));
  return workers;
}

function answered(answer: MessageAnswer) {
  assert.equal(answer.kind, 'answered');
  return answer;
}

test('the thread sends the request of the main thread and returns the same answer', async (t) => {
  const received: unknown[] = [];
  const answers: unknown[] = [];
  for (const changes of [{}, { threadFrom: 0 }]) {
    const caller = callerWith(changes);
    t.after(() => caller.close());
    endpoint.respond = agreeing;
    endpoint.received = [];
    let sent = 0;
    const answer = await caller.call(stepCall(), unaborted(), () => sent++);
    assert.equal(sent, 1);
    assert.equal(answer.kind, 'reply');
    answers.push({ ...answer, sent: null, responseHeaders: { ...answer.responseHeaders, date: null } });
    const [request] = endpoint.received;
    received.push({ ...request, headers: { ...request?.headers, 'svc-signature': null } });
  }
  assert.deepEqual(received[1], received[0]);
  assert.deepEqual(answers[1], answers[0]);
});

test('a body of any bytes and an answer that needs more memory than a short one arrive unchanged', async (t) => {
  const sender = threaded(t);
  const bytes = Uint8Array.from({ length: 300_000 }, (_, n) => (n * 7) % 256);
  endpoint.respond = (response) => response.writeHead(200, { 'content-length': bytes.length }).end(bytes);
  endpoint.received = [];
  const body = bytes.subarray(100, 1_100);
  const answer = answered(
    await sender.send(message({ method: 'POST', body, maxAnswerBytes: LIMITS.maxReplyBytes }), unaborted()),
  );
  assert.deepEqual(Buffer.from(answer.body), Buffer.from(bytes));
  assert.deepEqual(endpoint.received[0]?.body, Buffer.from(body));
});

test('the main thread decides which addresses the thread connects to', async (t) => {
  const asked: string[] = [];
  const found: Resolved = { kind: 'found', addresses: [{ address: '127.0.0.1', family: 4 }] };
  const names = {
    find(name: string): Resolved {
      asked.push(name);
      return name === 'unknown.example' ? { kind: 'failed', error: new NameError(name, 'ENOTFOUND') } : found;
    },
  };
  const allowed = createAddressPolicy({ allowLoopback: true, allow: [], names });
  const strict = createAddressPolicy({ allowLoopback: false, allow: [], names });
  const sender = threaded(t, { addressPolicyOf: (instanceId) => (instanceId === 'strict' ? strict : allowed) });
  const send = (changes: Parameters<typeof message>[0]) => sender.send(message(changes), unaborted());
  endpoint.respond = answering(200, {});
  endpoint.received = [];
  const url = `http://app.example:${endpoint.port}/`;
  answered(await send({ url }));
  assert.deepEqual(asked, ['app.example', 'app.example'], 'for the request and for its connection');
  for (const refused of [url, `${endpoint.origin}/`]) {
    const failure = failureOf(await send({ url: refused, instanceId: 'strict' }));
    assert.equal(failure.cause, 'blocked-address', refused);
  }
  const unknown = failureOf(await send({ url: 'http://unknown.example/' }));
  assert.match(unknown.message, /the host name does not exist \(ENOTFOUND\)/);
  assert.equal(endpoint.received.length, 1);
});

test('a timeout and an abort end the exchange of the thread', async (t) => {
  const sender = threaded(t);
  let abort = (): void => {};
  endpoint.respond = () => abort();
  const late = failureOf(await sender.send(message({ timeoutMs: 20 }), unaborted()));
  assert.deepEqual([late.cause, /within 20 ms/.test(late.message)], ['timeout', true]);
  const aborting = new AbortController();
  abort = () => aborting.abort();
  const aborted = failureOf(await sender.send(message(), aborting.signal));
  assert.match(aborted.message, /aborted/);
});

test('a server with few deliveries starts no thread', async (t) => {
  const threads = threadsStarted(t);
  const sender = threaded(t, { threadFrom: 2 });
  const held: (() => void)[] = [];
  endpoint.respond = (response) => {
    held.push(() => response.writeHead(200).end());
    if (held.length === 3) for (const respond of held) respond();
  };
  const first = [sender.send(message(), unaborted()), sender.send(message(), unaborted())];
  assert.equal(threads.length, 0);
  for (const answer of await Promise.all([...first, sender.send(message(), unaborted())])) answered(answer);
  assert.equal(threads.length, 1);
});

test('when the thread ends, its deliveries fail and the main thread makes the next ones', async (t) => {
  const threads = threadsStarted(t);
  const logged: unknown[] = [];
  const { log } = outboundOptions();
  const sender = threaded(t, { log: { ...log, warn: (fields, event) => void logged.push({ ...fields, event }) } });
  endpoint.respond = () => void threads[0]?.terminate();
  const failure = failureOf(await sender.send(message(), unaborted()));
  assert.match(failure.message, /the delivery thread ended/);
  endpoint.respond = answering(200, {});
  answered(await sender.send(message(), unaborted()));
  assert.equal(threads.length, 1);
  assert.deepEqual(logged, [
    { error: 'the delivery thread ended with code 1', event: 'delivery thread failed, the main thread makes deliveries' },
  ]);
});

test('deliveries in the thread end when the server stops', async () => {
  const sender = senderWith({ threadFrom: 0 });
  const arrived = once(process, 'worker');
  let closing: Promise<void> | null = null;
  endpoint.respond = () => {
    closing = sender.close();
  };
  const failure = failureOf(await sender.send(message(), unaborted()));
  assert.match(failure.message, /the service is stopping/);
  await Promise.all([arrived, closing]);
});
