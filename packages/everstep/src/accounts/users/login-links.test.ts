import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { LIMITS } from '../../config/limits.js';
import { LoginLinks } from './login-links.js';

const RANDOM = { bytes: (count: number) => randomBytes(count) };
const CREDENTIAL = { email: 'ann@w.test', apiKey: 'ek_1' };

test('a login link is valid once', () => {
  const links = new LoginLinks(() => 0, RANDOM);
  const secret = links.create(CREDENTIAL);
  assert.match(secret, /^lnk_[A-Za-z0-9_-]{43}$/);
  assert.equal(links.use('lnk_another'), null);
  assert.deepEqual(links.use(secret), CREDENTIAL);
  assert.equal(links.use(secret), null);
});

test('a login link expires, and a new one replaces it', () => {
  let nowMs = 0;
  const links = new LoginLinks(() => nowMs, RANDOM);
  const replaced = links.create(CREDENTIAL);
  const secret = links.create(CREDENTIAL);
  assert.equal(links.use(replaced), null);
  nowMs = LIMITS.loginLinkMs;
  assert.equal(links.use(secret), null);
});
