import assert from 'node:assert/strict';
import { test } from 'node:test';
import { actorName } from './actor-name.js';

test('a token is shown by its name, without its id', () => {
  assert.equal(actorName('token hp0mV7mlCUZ (read-write token)'), 'read-write token');
  assert.equal(actorName('token tok_1 (deploy)'), 'deploy token');
  assert.equal(actorName('token tok_1 (CI (main) token)'), 'CI (main) token');
});

test('a user is shown by the email, and a token without a name by its id', () => {
  assert.equal(actorName('ann@example.com'), 'ann@example.com');
  assert.equal(actorName('token hp0mV7mlCUZ'), 'token hp0mV7mlCUZ');
});
