import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hasEnded, latestEvents } from './latest-events.js';
import type { MessageEvent, MessageState } from './shapes.js';

const event = (messageId: string, state: MessageState): MessageEvent => ({
  time: 1,
  state,
  messageId,
  createdAt: 1,
  url: 'http://a.test/',
  method: 'POST',
  maxRetries: 3,
});

test('shows the latest event of each message in list order', () => {
  const shown = latestEvents([event('b', 'RETRY'), event('b', 'ERROR'), event('a', 'DELIVERED'), event('a', 'CREATED')]);
  assert.deepEqual(
    shown.map(({ messageId, state }) => [messageId, state]),
    [
      ['b', 'RETRY'],
      ['a', 'DELIVERED'],
    ],
  );
});

test('messages are in the order of their publication, although their events are mixed', () => {
  const old = { createdAt: 5, time: 9 };
  const events = [
    { ...event('a', 'DELIVERED'), ...old },
    { ...event('b', 'CREATED'), createdAt: 7, time: 7 },
    { ...event('a', 'CREATED'), ...old, time: 5 },
  ];
  assert.deepEqual(
    latestEvents(events).map(({ messageId }) => messageId),
    ['b', 'a'],
  );
});

test('a message that waits for a retry shows the error of the last attempt', () => {
  const failed = { ...event('b', 'ERROR'), error: 'HTTP 503' };
  const earlier = { ...event('b', 'ERROR'), error: 'no response' };
  assert.deepEqual(latestEvents([event('b', 'RETRY'), failed, event('b', 'RETRY'), earlier]), [
    { ...event('b', 'RETRY'), error: 'HTTP 503' },
  ]);
});

test('delivered, failed and canceled messages have ended', () => {
  assert.deepEqual((['DELIVERED', 'FAILED', 'CANCELED', 'RETRY', 'ERROR', 'CREATED'] as const).filter(hasEnded), [
    'DELIVERED',
    'FAILED',
    'CANCELED',
  ]);
});
