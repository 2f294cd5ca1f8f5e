import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  callerWith,
  callWith,
  endpoint,
  failureOf,
  message,
  respondWith,
  respondWithPlan,
  senderWith,
  stepCall,
  useSharedEndpoint,
} from '../endpoint.fixture.js';

useSharedEndpoint();

/** Returns a clock that advances by 40 ms with each call. */
function ticking(): () => number {
  let at = 1_000_000;
  return () => {
    at += 40;
    return at;
  };
}
const never = () => new AbortController().signal;

test('a failed step call reports the request, its time and duration, and the size of the response', async () => {
  endpoint.respond = respondWith(500, {}, 'grüße');
  const caller = callerWith({ now: ticking() });
  const { sent, responseBody } = failureOf(await caller.call(stepCall({ forwardHeaders: { 'x-order': '17' } }), never()));
  await caller.close();
  assert.ok(sent);
  assert.deepEqual([sent.method, sent.url, sent.durationMs], ['POST', `${endpoint.origin}/w?x=1`, 40]);
  assert.ok(sent.startedAt > 1_000_000);
  assert.equal(sent.headers[sent.headers.indexOf('x-order') + 1], '17');
  assert.equal(sent.bodyBytes, endpoint.received.at(-1)?.body.byteLength);
  assert.equal(sent.responseBytes, responseBody.byteLength);
});

test('a step call with a response also reports the request, because the reply may be a failure', async () => {
  const agreed = await callWith(respondWithPlan);
  assert.ok(agreed.kind === 'reply' && agreed.sent?.responseBytes === agreed.responseBody.byteLength);
});

test('a request without a response is reported, and an unsent request is not', async () => {
  const caller = callerWith();
  const unheard = failureOf(await caller.call(stepCall({ workflowUrl: 'http://127.0.0.1:1/w' }), never()));
  assert.deepEqual([unheard.cause, unheard.sent?.url, unheard.sent?.responseBytes], ['network', 'http://127.0.0.1:1/w', null]);
  const blocked = failureOf(await caller.call(stepCall({ workflowUrl: 'file:///etc/passwd' }), never()));
  assert.deepEqual([blocked.cause, blocked.sent], ['blocked-address', undefined]);
  await caller.close();
});

test('a message reports its request with every response', async () => {
  endpoint.respond = respondWith(503, {}, 'later');
  const sender = senderWith({ now: ticking() });
  const outcome = await sender.send(message({ method: 'put', body: Buffer.from('four') }), never());
  assert.equal(outcome.kind, 'response');
  const { sent } = outcome;
  assert.deepEqual([sent?.method, sent?.url, sent?.bodyBytes, sent?.responseBytes], ['PUT', `${endpoint.origin}/hook?x=1`, 4, 5]);
  const unheard = failureOf(await sender.send(message({ url: 'http://127.0.0.1:1/' }), never()));
  assert.deepEqual([unheard.sent?.url, unheard.sent?.responseBytes], ['http://127.0.0.1:1/', null]);
  await sender.close();
});
