import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Delivery } from '../gates/delivery.js';
import { DeferredMessages } from './deferred-messages.js';

const message = (runKey: string, instanceId = 'qi_1'): Delivery => ({
  ...{ runKey, slot: 0 },
  limits: { instanceId, flowControlKey: null, origin: 'http://app', queue: 'q' },
});
const keysBefore = (messages: DeferredMessages, time: number) => messages.takeBefore(() => time).map(({ runKey }) => runKey);

test('messages are taken in the order of their due times, and in the order of arrival if these are equal', () => {
  const messages = new DeferredMessages();
  for (const [runKey, dueAt] of [
    ['c', 3],
    ['a', 1],
    ['d', 3],
    ['b', 2],
    ['e', 3],
    ['f', 4],
  ] as const)
    messages.add(message(runKey), dueAt);
  assert.deepEqual(keysBefore(messages, 1), []);
  assert.deepEqual(keysBefore(messages, 3), ['a', 'b']);
  assert.deepEqual(keysBefore(messages, 4), ['c', 'd', 'e']);
  assert.deepEqual(keysBefore(messages, 4), []);
  assert.deepEqual(keysBefore(messages, Number.POSITIVE_INFINITY), ['f']);
});

test('a message that was removed is not taken', () => {
  const messages = new DeferredMessages();
  for (const [index, runKey] of ['a', 'b', 'c'].entries()) messages.add(message(runKey), index);
  messages.remove({ runKey: 'b', slot: 0 });
  messages.remove({ runKey: 'c', slot: 1 });
  assert.deepEqual(keysBefore(messages, 10), ['a', 'c']);
});

test('a message that was removed and added again is taken once, at its new time', () => {
  const messages = new DeferredMessages();
  messages.add(message('a'), 1);
  messages.remove(message('a'));
  messages.add(message('b'), 2);
  messages.add(message('a'), 3);
  messages.add(message('a'), 4);
  assert.deepEqual(keysBefore(messages, 3), ['b']);
  assert.deepEqual(keysBefore(messages, 10), ['a']);
  assert.deepEqual(keysBefore(messages, 10), []);
});

test('each instance has its own time', () => {
  const messages = new DeferredMessages();
  messages.add(message('a', 'qi_1'), 1);
  messages.add(message('b', 'qi_2'), 1);
  const taken = messages.takeBefore((instanceId) => (instanceId === 'qi_2' ? 2 : 1));
  assert.deepEqual(
    taken.map(({ runKey }) => runKey),
    ['b'],
  );
  assert.deepEqual(keysBefore(messages, 2), ['a']);
});
