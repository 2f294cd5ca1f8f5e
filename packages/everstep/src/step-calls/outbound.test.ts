import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  endpoint,
  failureOf,
  message,
  outboundOptions,
  respondWith,
  respondWithPlan,
  stepCall,
  useSharedEndpoint,
} from './endpoint.fixture.js';
import { createOutbound } from './outbound.js';

useSharedEndpoint();

test('steps and messages to one host share connections', async (t) => {
  const { stepCaller, messageSender, close } = createOutbound(outboundOptions());
  t.after(close);
  const { signal } = new AbortController();
  endpoint.respond = respondWithPlan;
  // The first call after connecting may find the connection busy and open another one.
  for (let i = 0; i < 3; i++) assert.equal((await stepCaller.call(stepCall(), signal)).kind, 'reply');
  const before = endpoint.connections;
  for (let i = 0; i < 3; i++) {
    endpoint.respond = respondWith(202, {}, 'ok');
    assert.equal((await messageSender.send(message(), signal)).kind, 'response');
    endpoint.respond = respondWithPlan;
    assert.equal((await stepCaller.call(stepCall(), signal)).kind, 'reply');
  }
  assert.equal(endpoint.connections, before);
});

test('after close neither steps nor messages are sent', async () => {
  const { signal } = new AbortController();
  for (const way of ['outbound', 'step caller'] as const) {
    const outbound = createOutbound(outboundOptions());
    await (way === 'outbound' ? outbound.close() : outbound.stepCaller.close());
    endpoint.received = [];
    assert.match(failureOf(await outbound.stepCaller.call(stepCall(), signal)).message, /server is stopping/);
    assert.match(failureOf(await outbound.messageSender.send(message(), signal)).message, /server is stopping/);
    assert.equal(endpoint.received.length, 0);
  }
});
