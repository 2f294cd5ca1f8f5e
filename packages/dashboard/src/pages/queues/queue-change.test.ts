import assert from 'node:assert/strict';
import { test } from 'node:test';
import { changedSettings } from './queue-change.js';

test('saving a queue sends only the settings that the user has changed', () => {
  const opened = { parallelism: 2, paused: false };
  assert.deepEqual(changedSettings(opened, { parallelism: 7, paused: false }), { parallelism: 7 });
  assert.deepEqual(changedSettings(opened, { parallelism: 2, paused: true }), { paused: true });
  assert.deepEqual(changedSettings(opened, opened), {});
});

test('a new queue is created with all settings', () => {
  assert.deepEqual(changedSettings(null, { parallelism: 1, paused: false }), { parallelism: 1, paused: false });
});
