import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hasEnded, latestOf } from './latest.js';
import type { MessageEvent, MessageState } from './shapes.js';

const event = (messageId: string, state: MessageState): MessageEvent => ({
  time: 1,
  state,
  messageId,
  url: 'http://a.test/',
  method: 'POST',
  maxRetries: 3,
});

test('of each message the last thing that happened to it is shown, in the order of the list', () => {
  const shown = latestOf([event('b', 'RETRY'), event('b', 'ERROR'), event('a', 'DELIVERED'), event('a', 'CREATED')]);
  assert.deepEqual(
    shown.map(({ messageId, state }) => [messageId, state]),
    [
      ['b', 'RETRY'],
      ['a', 'DELIVERED'],
    ],
  );
});

test('a message that is tried again says what went wrong the last time', () => {
  const failed = { ...event('b', 'ERROR'), error: 'status 503' };
  const earlier = { ...event('b', 'ERROR'), error: 'no answer' };
  assert.deepEqual(latestOf([event('b', 'RETRY'), failed, event('b', 'RETRY'), earlier]), [
    { ...event('b', 'RETRY'), error: 'status 503' },
  ]);
});

test('what is delivered, has failed or was canceled has ended', () => {
  assert.deepEqual((['DELIVERED', 'FAILED', 'CANCELED', 'RETRY', 'ERROR', 'CREATED'] as const).filter(hasEnded), [
    'DELIVERED',
    'FAILED',
    'CANCELED',
  ]);
});
