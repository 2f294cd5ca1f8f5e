import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  agreeing,
  answering,
  callerWith,
  callWith,
  endpoint,
  failureOf,
  message,
  senderWith,
  stepCall,
} from './endpoint.fixture.js';

/** A clock that goes on by 40 ms each time it is asked. */
function ticking(): () => number {
  let at = 1_000_000;
  return () => {
    at += 40;
    return at;
  };
}
const never = () => new AbortController().signal;

test('a step call that failed tells what was sent, when, for how long, and how much came back', async () => {
  endpoint.respond = answering(500, {}, 'grüße');
  const caller = callerWith({ now: ticking() });
  const { sent, responseBody } = failureOf(await caller.call(stepCall({ forwardHeaders: { 'x-order': '17' } }), never()));
  await caller.close();
  assert.ok(sent);
  assert.deepEqual([sent.method, sent.url, sent.durationMs], ['POST', `${endpoint.origin}/w?x=1`, 40]);
  assert.ok(sent.startedAt > 1_000_000);
  assert.equal(sent.headers[sent.headers.indexOf('x-order') + 1], '17');
  assert.equal(sent.bodyBytes, endpoint.received.at(-1)?.body.byteLength);
  assert.equal(sent.answerBytes, responseBody.byteLength);
});

test('one that was answered carries it as well, for a reply that turns out to be a failure', async () => {
  const agreed = await callWith(agreeing);
  assert.ok(agreed.kind === 'reply' && agreed.sent?.answerBytes === agreed.responseBody.byteLength);
});

test('what got no answer tells what was sent, and what was never sent tells nothing', async () => {
  const caller = callerWith();
  const unheard = failureOf(await caller.call(stepCall({ workflowUrl: 'http://127.0.0.1:1/w' }), never()));
  assert.deepEqual([unheard.cause, unheard.sent?.url, unheard.sent?.answerBytes], ['network', 'http://127.0.0.1:1/w', null]);
  const blocked = failureOf(await caller.call(stepCall({ workflowUrl: 'file:///etc/passwd' }), never()));
  assert.deepEqual([blocked.cause, blocked.sent], ['blocked-address', undefined]);
  await caller.close();
});

test('a message tells it with whatever answer came', async () => {
  endpoint.respond = answering(503, {}, 'later');
  const sender = senderWith({ now: ticking() });
  const answer = await sender.send(message({ method: 'put', body: Buffer.from('four') }), never());
  assert.equal(answer.kind, 'answered');
  const { sent } = answer;
  assert.deepEqual([sent?.method, sent?.url, sent?.bodyBytes, sent?.answerBytes], ['PUT', `${endpoint.origin}/hook?x=1`, 4, 5]);
  const unheard = failureOf(await sender.send(message({ url: 'http://127.0.0.1:1/' }), never()));
  assert.deepEqual([unheard.sent?.url, unheard.sent?.answerBytes], ['http://127.0.0.1:1/', null]);
  await sender.close();
});
